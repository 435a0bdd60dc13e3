package research

import (
	"encoding/json"
	"slices"
	"strings"
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
			all := readBy(s)
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
			requireSeries(t, backtest.Bars, all, 10)
			if !slices.Equal(backtest.Traded(), s.Data.Symbols) {
				t.Errorf("backtest of %s, want %s", backtest.Traded(), s.Data.Symbols)
			}
			tr.complete(func(v any) {
				r := v.(*jobs.BacktestResult)
				r.Symbol, r.Symbols = backtest.Symbol, backtest.Symbols
			})
			tr.ask(ktrdr.WhyChild)
			files := newestSpec[AssessmentSpec](tr).Files
			if files == nil {
				t.Fatal("the assessment has nothing to look at")
			}
			requireSeries(t, files.Bars, all, 10)
			if got := tr.state().StrategyHash; got != s.Hash() {
				t.Errorf("strategy hash %s, want %x", got, s.Hash())
			}
		})
	}
	if several == 0 {
		t.Error("no example reads several series, so that nothing was shown")
	}
}

// The verdict is on the sum; what each symbol did is listed beside it.
func TestPlan_ListsTheFiguresOfEverySymbol(t *testing.T) {
	sharpe := -0.5
	account := jobs.AccountResult{Symbol: "GBPUSD"}
	account.Metrics.Sharpe, account.Metrics.TotalReturnPct, account.Metrics.MaxDrawdownPct, account.Metrics.TotalTrades = &sharpe, -3, 12, 7
	tr := reach(t, someSpec(t), ktrdr.Backtesting)
	tr.complete(func(v any) { v.(*jobs.BacktestResult).Accounts = []jobs.AccountResult{{Symbol: "EURUSD"}, account} })
	tr.ask(ktrdr.WhyChild)
	tr.complete(nil)
	tr.ask(ktrdr.WhyChild)
	f := tr.result().Figures
	if f == nil || len(f.Symbols) != 2 || f.NetReturn != 0.1 {
		t.Fatalf("figures %+v, want those of the sum and of two symbols", f)
	}
	if got := f.Symbols[1]; got.Symbol != "GBPUSD" || got.NetReturn != -0.03 || got.MaxDrawdown != 0.12 || got.Trades != 7 ||
		*got.Sharpe != -0.5 {
		t.Errorf("%+v, want the figures of GBPUSD", got)
	}
}

// A backtest that names a symbol that was not trained on cannot be judged.
func TestPlan_RefusesABacktestOfOtherSymbols(t *testing.T) {
	tr := reach(t, someSpec(t), ktrdr.Backtesting)
	tr.complete(func(v any) {
		r := v.(*jobs.BacktestResult)
		r.Symbol, r.Symbols = "", []string{r.Symbol, "ELSE"}
	})
	tr.ask(ktrdr.WhyChild)
	if tr.parent.Status != ktrdr.Failed ||
		!strings.Contains(tr.parent.ErrorMessage, "the backtest traded EURUSD, ELSE, and of these only EURUSD were trained on") {
		t.Errorf("%s: %s", tr.parent.Status, tr.parent.ErrorMessage)
	}
}

// barsFor are bars of the series in reverse order, each with its own hash.
func barsFor(all []strategy.Series, from byte) (bars []jobs.Bars) {
	for i, one := range all {
		bars = append(bars, jobs.Bars{
			Symbol: one.Symbol, Timeframe: one.Timeframe, Hash: mark(from + byte(i)),
			Artifact: ktrdr.Artifact{Name: one.Symbol, SHA256: mark(200 - byte(i)), Size: 9},
		})
	}
	slices.Reverse(bars)
	return bars
}

func requireSeries(t *testing.T, got []jobs.Bars, want []strategy.Series, from byte) {
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

// seriesOf names the bars.
func seriesOf(bars []jobs.Bars) (all []strategy.Series) {
	for _, b := range bars {
		all = append(all, strategy.Series{Symbol: b.Symbol, Timeframe: b.Timeframe})
	}
	return all
}
