package page

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/evidence"
)

func TestStrategy_ListsTheDeepestDrawdowns(t *testing.T) {
	f := judged(evidence.Neutral)
	returns := make([]float32, 60)
	returns[1], returns[2], returns[5] = 0.1, -0.1, 0.2 // from the second day, until the sixth
	returns[20] = -0.5                                  // until the end
	f.backtest.Daily = daily(returns...)
	rows := f.drawdowns()
	if len(rows) != 2 {
		t.Fatalf("%+v, want two", rows)
	}
	day := func(n int) time.Time { return testFrom.AddDate(0, 0, n) }
	if r := rows[0]; r.Part != "Test" || r.Depth != "−50.0 %" || r.Recovered != nil || !r.Trough.Equal(day(21)) {
		t.Errorf("the deepest is %+v", r)
	}
	r := rows[1]
	if r.Depth != "−10.0 %" || !r.Peak.Equal(day(2)) || !r.Trough.Equal(day(3)) || r.Recovered == nil || !r.Recovered.Equal(day(6)) ||
		r.Length != "4 days" {
		t.Errorf("the next is %+v", r)
	}
}

func TestStrategy_AHoldoutHasMonthsAndDrawdownsOnlyAfterALook(t *testing.T) {
	f := looked(true)
	f.look.Daily = daily(0.01, 0.02)
	f.look.Line.Time = append(f.look.Line.Time, holdoutTo.Unix()+86400)
	f.look.Line.Account, f.look.Line.Hold = append(f.look.Line.Account, 1.0), append(f.look.Line.Hold, 1.0)
	shows := func() (months, falls bool) {
		for _, r := range f.months().Rows {
			months = months || strings.HasSuffix(r.Year, " holdout")
		}
		for _, r := range f.drawdowns() {
			falls = falls || r.Part == "Holdout"
		}
		return months, falls
	}
	if months, falls := shows(); !months || !falls {
		t.Errorf("after a look: months %v, drawdowns %v, want both", months, falls)
	}
	f.look = nil
	if months, falls := shows(); months || falls {
		t.Errorf("without a look: months %v, drawdowns %v, want neither", months, falls)
	}
}

func TestUnderwater_ShowsThePartThatIsZoomedInto(t *testing.T) {
	parts := []stretch{
		{from: 0, to: 100, class: "tr", faint: true, account: []chart.XY{{X: 0, Y: 1}, {X: 100, Y: 0.5}}},
		{from: 100, to: 200, class: "te", account: []chart.XY{{X: 100, Y: 1}, {X: 140, Y: 0.8}, {X: 160, Y: 1}, {X: 200, Y: 0.4}}},
	}
	if html := string(drawUnderwater(parts, nil, chart.Scale{Min: 0, Max: 200})); !strings.Contains(html, "drawdown by days −60.0 %") {
		t.Errorf("all of it: %.200s", html)
	}
	html := string(drawUnderwater(parts, nil, chart.Scale{Min: 120, Max: 160}))
	if !strings.Contains(html, "drawdown by days −20.0 %") || strings.Contains(html, `class="uw w"`) {
		t.Errorf("a part of it: %.300s", html)
	}
	cut := between(depths(parts[1].account), chart.Scale{Min: 120, Max: 180})
	if len(cut) != 4 || cut[0].X != 120 || cut[0].Y > -0.099 || cut[3].X != 180 {
		t.Errorf("the line is cut to %v", cut)
	}
}
