package page

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

func (p *Pages) routeClaims() {
	p.mux.HandleFunc("GET /strategies/claims", p.view("Claims", "claims", func(ctx context.Context, _ *http.Request) (any, error) {
		return p.readClaims(ctx)
	}))
}

// claims is what the bars after each claim have shown, and how often the lab claims falsely.
type claims struct {
	Lead         string
	Rows         []claimRow
	Calibrations []string // the newest of each market
}

type claimRow struct {
	ID, Handle, Strategy, Market, Sharpe, Rung, Bars, E, Retire, Since, Discovery, Hold, Why string
	MadeUp                                                                                   bool
}

func (p *Pages) readClaims(ctx context.Context) (v claims, err error) {
	if t, _ := api.Caller(ctx); t.Scope == ktrdr.ScopeAssistant { // it is told nothing of what came after a claim
		return v, nil
	}
	var (
		list  research.ClaimsList
		tests []research.CalibrationRow
	)
	err = together(
		ask(&list, func() (research.ClaimsList, error) { return p.lab.Claims(ctx) }),
		ask(&tests, func() ([]research.CalibrationRow, error) {
			return client.Call(ctx, p.lab, api.Calibrations, api.CalibrationsRequest{})
		}),
	)
	if err != nil {
		return v, err
	}
	for i := range list.Claims {
		v.Rows = append(v.Rows, claimOf(&list.Claims[i]))
	}
	if len(v.Rows) > 0 {
		v.Lead = fmt.Sprintf("%s, %s at a false-discovery rate of %g %%. An e-value of %g shows an edge, or the end of one.",
			plural(len(v.Rows), "claim"), text.Counted(list.Discovers, "discovery", "discoveries"), 100*list.FDR, list.Crosses)
	}
	seen := map[string]bool{}
	for i := range tests { // newest first
		if c := &tests[i]; !seen[c.Market] {
			seen[c.Market] = true
			v.Calibrations = append(v.Calibrations, plain(fmt.Sprintf("%s %s: %s", c.Symbol, c.Timeframe, c.Quote)))
		}
	}
	return v, nil
}

func claimOf(c *research.ClaimRow) claimRow {
	since := c.Detected
	if c.Rung == ktrdr.ClaimRetired {
		since = c.Retired
	}
	row := claimRow{
		ID: string(c.Research), Handle: c.Research.Tail(),
		Strategy: strategyName(c.Strategy), Market: plain(c.Symbols + " " + c.Timeframe), Sharpe: number(c.Sharpe, 2),
		Rung: string(c.Rung), Bars: count(c.Bars), E: significantE(c.E), Retire: significantE(c.RetireE), Since: minuteOf(since), Discovery: "no",
	}
	row.MadeUp = c.MadeUp != nil && *c.MadeUp
	if c.Discovered {
		row.Discovery = "yes"
	}
	if c.Hold != ktrdr.ClaimFollowed {
		row.Hold, row.Why = string(c.Hold), plain("Not followed: "+c.Reason+".")
	}
	return row
}

func significantE(e float64) string { return fmt.Sprintf("%.3g", e) }

func minuteOf(t time.Time) string {
	if t.IsZero() {
		return missing
	}
	return text.Minute(t.Unix())
}
