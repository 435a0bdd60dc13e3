package research

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

// Whatever a strategy reads, each phase is given of it what it needs, in the
// strategy's order, from bars that came in another.
func TestPlan_EveryPhaseGetsItsBars(t *testing.T) {
	several := 0
	for _, example := range strategy.Examples() {
		t.Run(example.Name, func(t *testing.T) {
			s, _, err := strategy.Parse(example.Source, example.Name)
			if err != nil {
				t.Fatal(err)
			}
			all, first := readBy(s), len(s.Data.Timeframes)
			if len(all) > 1 {
				several++
			}
			spec := someSpec(t)
			spec.Strategy, spec.Bars, spec.Holdout = string(example.Source), barsFor(all, 10), barsFor(all, 100)

			tr := plant(t, spec)
			tr.ask(ktrdr.WhyCreated)
			requireSeries(t, newestSpec[jobs.TrainingSpec](tr).Bars, all, 10)
			tr.complete(nil)
			tr.ask(ktrdr.WhyChild)
			backtest := newestSpec[jobs.BacktestSpec](tr)
			requireSeries(t, backtest.Bars, all[:first], 10)
			if backtest.Symbol != s.Data.Symbols[0] {
				t.Errorf("backtest of %s, want %s", backtest.Symbol, s.Data.Symbols[0])
			}
			tr.complete(func(v any) { v.(*jobs.BacktestResult).Symbol = backtest.Symbol })
			tr.ask(ktrdr.WhyChild)
			files := newestSpec[AssessmentSpec](tr).Files
			if files == nil {
				t.Fatal("the assessment has nothing to look at")
			}
			requireSeries(t, files.Bars, all[:first], 10)
			requireSeries(t, files.Holdout, all[:first], 100)
			if got := tr.state().StrategyHash; got != s.Hash() {
				t.Errorf("strategy hash %s, want %x", got, s.Hash())
			}
		})
	}
	if several == 0 {
		t.Error("no example reads several series, so that nothing was shown")
	}
}

// barsFor are bars of the series in reverse order, each with its own hash.
func barsFor(all []series, from byte) (bars []jobs.Bars) {
	for i, one := range all {
		bars = append(bars, jobs.Bars{
			Symbol: one.symbol, Timeframe: one.timeframe, Hash: mark(from + byte(i)),
			Artifact: ktrdr.Artifact{Name: one.symbol, SHA256: mark(200 - byte(i)), Size: 9},
		})
	}
	slices.Reverse(bars)
	return bars
}

func requireSeries(t *testing.T, got []jobs.Bars, want []series, from byte) {
	t.Helper()
	if !slices.Equal(seriesOf(got), want) {
		t.Fatalf("bars of %v, want %v", seriesOf(got), want)
	}
	for i, b := range got {
		if b.Hash != mark(from+byte(i)) {
			t.Errorf("bars %d of %s %s have the hash %s", i, b.Symbol, b.Timeframe, b.Hash)
		}
	}
}

// newestSpec is the spec of the newest child.
func newestSpec[T any](tr *tree) (spec T) {
	tr.t.Helper()
	if err := json.Unmarshal(tr.newest().Spec, &spec); err != nil {
		tr.t.Fatal(err)
	}
	return spec
}
