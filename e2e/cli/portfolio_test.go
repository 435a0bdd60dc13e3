package cli

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// markets puts two symbols in two timeframes into the library. BBB has no daily
// bars.
func (l *lab) markets() {
	l.t.Helper()
	for i, symbol := range []string{"AAA", "BBB"} {
		l.must("data", "synth", "--symbol", symbol, "--timeframe", "1h", "--bars", "4000", "--edge", "0.5", "--seed", string(rune('7'+i)))
		l.must("data", "resample", symbol, "1h", "4h")
	}
	l.must("data", "resample", "AAA", "1h", "1d")
}

func TestCLI_ResearchesSeveralSymbolsAndTimeframesTogether(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.markets()
	l.serve("--workers", "2")

	l.refused(exitUsage, "no 1h bars of CCC", "research", "--symbol", "AAA", "--symbol", "CCC", "--timeframe", "1h")
	l.refused(exitUsage, "there are no 1d bars of BBB", "research", "--symbol", "AAA", "--symbol", "BBB", "--timeframe", "1h",
		"--timeframe", "1d")
	l.refused(exitUsage, "no 1d bars of BBB", "research", "AAA or BBB using 1h and 1d")
	l.refused(exitUsage, "the goal names CCC", "research", "AAA or CCC")
	l.refused(exitUsage, `timeframe "often" is not one of`, "research", "--timeframe", "often")

	told := l.run("research", "--symbol", "AAA", "--symbol", "BBB", "--timeframe", "1h", "--timeframe", "4h", "--count", "2", "--seed", "5",
		"--bypass-gates", "--follow")
	if told.code != exitOK {
		t.Fatalf("research ended with %d:\n%s\n%s", told.code, told.out, told.err)
	}
	for _, part := range []string{
		"Research AAA and BBB together on 1h bars: one account each with 1/2 of the capital, judged on the sum.", "designs may also read 4h bars",
	} {
		if !strings.Contains(told.err, part) {
			t.Errorf("it does not tell %q:\n%s", part, told.err)
		}
	}
	longer := 0
	for _, op := range l.ops("--type", "training") {
		spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](op.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(spec.Bars, func(b jobs.Bars) bool { return b.Timeframe == market.H4 }) {
			longer++
		}
	}
	if longer == 0 {
		t.Error("no design reads bars of 4h")
	}
	backtests := l.ops("--type", "backtesting")
	if len(backtests) != 2 {
		t.Fatalf("%d backtests, want 2", len(backtests))
	}
	for _, op := range backtests {
		l.addsUp(op)
	}
	l.listsSymbols(backtests[0])
	l.tradesByHand()
}

// addsUp holds a backtest of AAA and BBB to the sum of its accounts.
func (l *lab) addsUp(op ktrdr.Operation) {
	l.t.Helper()
	var r jobs.BacktestResult
	if err := json.Unmarshal(op.Result, &r); err != nil || !slices.Equal(r.Symbols, []string{"AAA", "BBB"}) || len(r.Accounts) != 2 {
		l.t.Fatalf("result %s (%v), want the accounts of both symbols", op.Result, err)
	}
	capital := r.Metrics.InitialCapital / 2
	a, b := r.Accounts[0].Metrics, r.Accounts[1].Metrics
	if a.InitialCapital != capital || b.InitialCapital != capital || math.Abs(a.FinalEquity+b.FinalEquity-r.Metrics.FinalEquity) > 1e-6 {
		l.t.Errorf("from %v and %v to %v and %v, and together from %v to %v", a.InitialCapital, b.InitialCapital, a.FinalEquity, b.FinalEquity,
			r.Metrics.InitialCapital, r.Metrics.FinalEquity)
	}
	traded := map[string]int{}
	bars := 0
	for cursor := ""; ; {
		page := decode[resultsPage](l.t,
			l.must("results", string(op.ID), "--include", "trades,equity,positions", "--limit", "1000", "--cursor", cursor, "--json"))
		for _, trade := range page.Trades {
			traded[trade.Symbol]++
		}
		if len(page.Accounts) != 2 || page.Accounts[0].Symbol != "AAA" || page.Positions != nil {
			l.t.Fatalf("accounts %+v, want AAA and BBB with their positions", page.Accounts)
		}
		for i, p := range page.Equity {
			if parts := page.Accounts[0].Equity[i].Value + page.Accounts[1].Equity[i].Value; math.Abs(parts-p.Value) > 1e-6 {
				l.t.Fatalf("at %s the accounts have %v together, and the sum is %v", p.Time, parts, p.Value)
			}
		}
		bars += len(page.Equity)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if bars != r.Curve || traded["AAA"] != r.Accounts[0].Trades || traded["BBB"] != r.Accounts[1].Trades || traded["AAA"]*traded["BBB"] == 0 {
		l.t.Errorf("%d bars and trades %v, want %d bars, %d and %d trades, and some of both", bars, traded, r.Curve, r.Accounts[0].Trades,
			r.Accounts[1].Trades)
	}
}

// listsSymbols checks what the outputs for people say about each symbol.
func (l *lab) listsSymbols(backtest ktrdr.Operation) {
	l.t.Helper()
	out := l.must("results", string(backtest.ID), "--include", "trades,equity,positions", "--limit", "3")
	for _, part := range []string{
		"Figures of each symbol", "SYMBOL  TRADES", "AAA ", "BBB ", "EQUITY AAA  EQUITY BBB", "POSITION AAA", "SYMBOL  ENTRY",
	} {
		if !strings.Contains(out, part) {
			l.t.Errorf("results do not tell %q:\n%s", part, out)
		}
	}
	parent := l.op(string(backtest.Parent))
	var r research.Result
	if err := json.Unmarshal(parent.Result, &r); err != nil || r.Figures == nil || len(r.Figures.Symbols) != 2 ||
		r.Figures.Symbols[1].Symbol != "BBB" {
		l.t.Fatalf("result of the research %s (%v), want the figures of both symbols", parent.Result, err)
	}
	if out := l.must("results", string(parent.ID)); !strings.Contains(out, "Figures of each symbol") ||
		!strings.Contains(out, "cost per side") {
		l.t.Errorf("results of the research do not list the symbols:\n%s", out)
	}
}

// tradesByHand trains on both symbols and backtests: all of them by default, one
// where it is named.
func (l *lab) tradesByHand() {
	l.t.Helper()
	model := l.finished("train", "rsi_mean_reversion", "--symbol", "AAA", "--symbol", "BBB", "--seed", "2")
	var both, one jobs.BacktestResult
	if err := json.Unmarshal(l.finished("backtest", string(model.ID)).Result, &both); err != nil || len(both.Accounts) != 2 {
		l.t.Errorf("a backtest of a model of two symbols trades %q (%v)", both.Traded(), err)
	}
	if err := json.Unmarshal(l.finished("backtest", string(model.ID), "--symbol", "BBB").Result, &one); err != nil || one.Symbol != "BBB" ||
		one.Accounts != nil {
		l.t.Errorf("a backtest of BBB trades %q (%v)", one.Traded(), err)
	}
	l.refused(exitUsage, "trained on AAA and on BBB: say which one to predict with --symbol AAA", "predict", string(model.ID))
	if made := l.run("backtest", string(model.ID), "--symbol", "AAA", "--symbol", "BBB", "--json"); made.code != exitOK ||
		decode[api.Started](l.t, made.out).Operation == "" {
		l.t.Errorf("--symbol twice: %+v", made)
	}
}
