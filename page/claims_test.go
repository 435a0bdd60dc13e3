package page

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// someClaims are one that lives and one that is retired and not followed any more.
func someClaims() research.ClaimsList {
	at := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	living := ktrdr.LivingClaim{}
	living.Research, living.Strategy = "op_agent_research_20261116_010203_aaaaaaaa", "trend_1"
	living.Symbols, living.Timeframe = "EURUSD", "1h"
	living.Sharpe, living.Rung, living.Bars, living.E, living.RetireE, living.Detected = new(2.5), ktrdr.ClaimLiving, 4100, 31.4, 0.02, at
	living.Hold, living.MaxE, living.MadeUp = ktrdr.ClaimFollowed, 4000, new(true)
	retired := living
	retired.Strategy, retired.Rung, retired.Retired, retired.MaxE = "<b>old", ktrdr.ClaimRetired, at.AddDate(0, 0, 1), 1
	retired.MadeUp = nil
	missing := living
	missing.Strategy, missing.Rung, missing.MaxE = "gone", ktrdr.ClaimConfirmed, 1
	missing.Hold, missing.Reason = ktrdr.ClaimMissing, "the library has no 1h bars of <EURUSD>"
	return research.ClaimsOf([]ktrdr.LivingClaim{living, retired, missing})
}

func TestClaims_ShowWhatCameAfterThemAndTheCalibrations(t *testing.T) {
	calibration := func(market, quote string) research.CalibrationRow {
		c := research.CalibrationRow{Quote: quote}
		c.Market, c.Symbol, c.Timeframe = market, "EURUSD", "1h"
		return c
	}
	lab := &labAPI{answers: map[string]any{
		"GET /claims": someClaims(),
		"GET /calibrations": []research.CalibrationRow{
			calibration("mkt_a", "1 of 99 copies."), calibration("mkt_a", "the older one"), calibration("mkt_b", "This calibration is stale"),
		},
	}}
	html := visit(t, startPages(t, lab), ktrdr.ScopeRead, http.MethodGet, "/strategies/claims", nil).Body.String()
	for _, want := range []string{
		"at a false-discovery rate of 5 %", ">trend 1</a> <span class=\"mono dim p1\">aaaaaaaa</span> <span class=\"tag\">made up</span>",
		"3 claims, 1 discovery",
		">yes</td>", "EURUSD 1h", ">2.50<", ">living", ">4,100<", ">31.4<", ">0.02<",
		"2024-03-01 12:00", "2024-03-02 12:00", ">retired<", `>confirmed <span class="tag">missing</span>`,
		"Not followed: the library has no 1h bars of &lt;EURUSD&gt;.",
		"&lt;b&gt;old", "EURUSD 1h: 1 of 99 copies.",
		"This calibration is stale",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the claims lack %q", want)
		}
	}
	if strings.Contains(html, "the older one") {
		t.Error("an older calibration of the same market is shown")
	}
	denied := visit(t, startPages(t, lab), ktrdr.ScopeAssistant, http.MethodGet, "/strategies/claims", nil).Body.String()
	if strings.Contains(denied, "trend 1") || strings.Contains(denied, "31.4") {
		t.Error("an assistant is told what came after a claim")
	}
	empty := visit(t, startPages(t, &labAPI{}), ktrdr.ScopeRead, http.MethodGet, "/strategies/claims", nil).Body.String()
	if strings.Contains(empty, "Claims and the bars after them") {
		t.Error("a lab without claims and calibrations shows an empty table")
	}
}
