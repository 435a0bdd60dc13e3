package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/report"
)

func TestThresholds_AreDrawnWithTheNextLook(t *testing.T) {
	look := func(number int, needed, reached float64, claim bool) report.ComparedLook {
		return report.ComparedLook{Number: number, Needed: &needed, Sharpe: &reached, Claim: claim}
	}
	s := &report.Search{Thresholds: []report.MarketThreshold{
		{
			Name: "EURUSD 1h", Looks: 3, NeededP: 0.001, Needed: new(3.25),
			Newest: []report.ComparedLook{look(1, 2.5, 4.07, true), {Number: 2}, look(3, 3, 1, false)},
		},
		{Name: "GBPUSD 1h", NeededP: 0.01},
	}}
	rows := thresholdsOf(s)
	if len(rows) != 2 || rows[0].NeededP != "0.0010" || rows[0].Needed != "3.25" || rows[1].Needed != missing || rows[1].Figure != "" {
		t.Fatalf("%+v", rows)
	}
	drawn := string(rows[0].Figure)
	for _, want := range []string{
		">next<", ">4.1<", `class="pt k"`, `class="pt ring"`, "3 looks at the holdout of EURUSD 1h.", "Look 1 needed 2.50 and reached 4.07.",
		"The next needs about 3.25.",
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("the figure lacks %s:\n%s", want, drawn)
		}
	}
	if n := strings.Count(drawn, `class="lu"`); n != 3 {
		t.Errorf("%d thresholds are drawn, want those of two looks and of the next: a look by hand has none", n)
	}
}

func TestThresholds_TheLegendNeedsALook(t *testing.T) {
	p := pagesWith(t, npm())
	shown := func(m report.MarketThreshold) string {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/night", nil)
		r.Header.Set("Ktrdr-Fragment", "1")
		p.render(w, r, http.StatusOK, "", "overview-looks", overview{Next: thresholdsOf(&report.Search{Thresholds: []report.MarketThreshold{m}})})
		return w.Body.String()
	}
	const legend = `<i class="lu"></i>needed`
	html := shown(report.MarketThreshold{Name: "EURUSD 1h", NeededP: 0.01})
	if strings.Contains(html, legend) || !strings.Contains(html, "EURUSD") {
		t.Errorf("without a look the figure says what was needed:\n%s", html)
	}
	if html := shown(report.MarketThreshold{Name: "EURUSD 1h", Looks: 1, NeededP: 0.01, Needed: new(3.0)}); !strings.Contains(html, legend) {
		t.Errorf("after a look the legend is missing:\n%s", html)
	}
}
