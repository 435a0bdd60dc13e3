package view

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

func marshalled(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEquityOf_CompoundsTheDailyReturns(t *testing.T) {
	start := time.Date(2020, 1, 6, 0, 0, 0, 0, time.UTC)
	run := &backtest.Result{}
	for i := range 72 {
		run.Time, run.Equity = append(run.Time, start.Add(time.Duration(i)*time.Hour).Unix()), append(run.Equity, 1000+10*float64(i))
	}
	run.Config.InitialCapital = 1000
	f := EquityOf(marshalled(t, jobs.BacktestResult{Start: start, End: start.Add(71 * time.Hour), Daily: jobs.DailyOf(run)}))
	if f == nil || f.Left != "2020-01-06" || f.Right != "2020-01-08" {
		t.Fatalf("figure %+v, want one from the first to the last day", f)
	}
	if last := f.Lines[0].Points[len(f.Lines[0].Points)-1].Y; last < 1.70 || last > 1.72 {
		t.Errorf("it ends with %v, want 1.71", last)
	}
	for _, text := range []string{"", "{}", "null", `{"daily_returns":{"days":"x"}}`} {
		if EquityOf(json.RawMessage(text)) != nil {
			t.Errorf("a figure of %q", text)
		}
	}
}

// The holdout of a research is in the looks; the figure is made of the test part only.
func TestEquityInTest_EndsBeforeTheHoldout(t *testing.T) {
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	a := &research.Assessment{Lines: &research.AssessedLines{
		InSample: &evidence.Sketch{Time: []int64{0, 1}, Account: []float64{1, 9}, Hold: []float64{1, 9}},
		Test: &evidence.Sketch{
			Time: []int64{at.Unix(), at.AddDate(1, 0, 0).Unix()}, Account: []float64{1, 1.2}, Hold: []float64{1, 0.9},
		},
	}}
	f := EquityInTest(a)
	if f == nil || f.Left != "2020-01-01" || f.Right != "2021-01-01" || len(f.Lines) != 2 || len(f.Lines[0].Points) != 2 {
		t.Errorf("figure %+v, want the test part and nothing else", f)
	}
	if EquityInTest(nil) != nil || EquityInTest(&research.Assessment{}) != nil {
		t.Error("a figure without an assessment")
	}
}

func TestBestSoFar_StaysUntilThereIsABetterOne(t *testing.T) {
	e := 0.5
	s := report.Search{Funnel: report.Funnel{Tried: 10}, StandardError: &e}
	for _, x := range []report.Tried{{N: 1, Sharpe: -0.5}, {N: 3, Sharpe: 1}, {N: 4, Sharpe: 0.2}, {N: 7, Sharpe: 2}} {
		s.Trials = append(s.Trials, x)
		s.Best = &x
	}
	f := BestSoFar(s)
	want := [][2]float64{{1, -0.5}, {3, -0.5}, {3, 1}, {7, 1}, {7, 2}, {10, 2}}
	for i, p := range f.Lines[0].Points {
		if i >= len(want) || p.X != want[i][0] || p.Y != want[i][1] {
			t.Fatalf("points %v, want %v", f.Lines[0].Points, want)
		}
	}
	luck := f.Lines[1].Points
	if last := luck[len(luck)-1]; last.X != 10 || last.Y != s.LuckAt(10) || luck[0].Y >= last.Y {
		t.Errorf("luck %v, want a line that rises to %v", luck, s.LuckAt(10))
	}
	if BestSoFar(report.Search{}) != nil {
		t.Error("a figure without a trial")
	}
}
