package compute

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/worker"
)

// rests is a market that is closed for some hours of the day, and whose data end
// earlier.
func rests(symbol string, bars int, seed uint64) *market.Bars {
	all := market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: bars, Seed: seed, Edge: 0.3})
	b := &market.Bars{Symbol: symbol, Timeframe: market.H1}
	for i := range all.Len() - 20 {
		if all.Time[i]/3600%24 > 5 {
			b.Append(all.At(i))
		}
	}
	return b
}

// pair is an office with two markets that are open at different hours, and a model
// that was trained on both.
func pair(t *testing.T) (*office, ktrdr.OperationID) {
	o := newOffice(t, 3000, "EURUSD")
	o.add(rests("RESTS", 3600, 9))
	op := o.run(o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 3"), Symbols: []string{"EURUSD", "RESTS"}}),
		once(TrainingRunner(best)))
	resultOf[jobs.TrainingResult](t, op)
	return o, op.ID
}

func TestBacktest_OfSeveralSymbolsInterruptedAnywhereEqualsUninterrupted(t *testing.T) {
	o, model := pair(t)
	order := o.backtest(jobs.BacktestRequest{Model: string(model), Scope: "all"})
	undisturbed := o.run(order, once(BacktestRunner(best)))
	want := resultOf[jobs.BacktestResult](t, undisturbed)
	rng := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // a seeded test, not a secret
	inSecond := 0
	for range 8 {
		steps := draw(rng, 500)
		op := o.run(order, cut(t, steps, 7, func(watch func(int64)) worker.Runner { return backtestRunner{best, 7, watch} }))
		if got := resultOf[jobs.BacktestResult](t, op); got.ResultHash != want.ResultHash || !bytes.Equal(op.Result, undisturbed.Result) {
			t.Errorf("stopped after %v chunks: result hash %s, undisturbed %s", steps, got.ResultHash, want.ResultHash)
		}
		for _, c := range o.b.History(op.ID) {
			if c.Type != ktrdr.CheckpointFinal && len(c.Artifacts) == 2 {
				inSecond++
			}
		}
	}
	if inSecond == 0 {
		t.Error("no interruption found the second account begun")
	}
}

func TestBacktest_OfSeveralSymbolsIsTheSumOfBacktestsOfEach(t *testing.T) {
	o, model := pair(t)
	capital := 50_000.0
	op := o.run(o.backtest(jobs.BacktestRequest{Model: string(model)}), once(BacktestRunner(best)))
	r := resultOf[jobs.BacktestResult](t, op)
	if r.Symbol != "" || !slices.Equal(r.Symbols, []string{"EURUSD", "RESTS"}) || len(r.Accounts) != 2 || len(r.Artifacts) != 1 {
		t.Fatalf("symbol %q, symbols %q, %d accounts and %d files; want both symbols that it was trained on", r.Symbol, r.Symbols,
			len(r.Accounts), len(r.Artifacts))
	}
	p, err := portfolioOf(o.b.Blobs()[r.Artifacts[0].SHA256], r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := backtest.Combine(p.Timeframe, p.Accounts)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := mustEncode(t, p), mustEncode(t, again); !bytes.Equal(a, b) {
		t.Error("the figures cannot be computed again from the file")
	}
	final, trades := 0.0, 0
	for i, a := range r.Accounts {
		one := resultOf[jobs.BacktestResult](
			t,
			o.run(o.backtest(jobs.BacktestRequest{Model: string(model), Symbol: a.Symbol, InitialCapital: &capital}),
				once(BacktestRunner(best))),
		)
		if got, want := ktrdr.Hash(mustHash(t, p.Accounts[i])), ktrdr.Hash(mustHash(t, soleAccount(t, o, one))); got != want {
			t.Errorf("the account of %s has the hash %s, and alone with the same capital %s", a.Symbol, got, want)
		}
		if a.Metrics.TotalTrades != one.Trades || a.Trades != one.Trades || !a.Start.Equal(one.Start) || !a.End.Equal(one.End) ||
			a.Holds != one.Holds {
			t.Errorf("%s: %+v, want the figures of %+v", a.Symbol, a, one)
		}
		final += a.Metrics.FinalEquity
		trades += a.Trades
	}
	if trades == 0 || r.Trades != trades || r.Metrics.FinalEquity != final || r.Metrics.InitialCapital != 100_000 {
		t.Errorf("%d trades from %v to %v, want %d from 100000 to %v", r.Trades, r.Metrics.InitialCapital, r.Metrics.FinalEquity, trades, final)
	}
	if r.Config.InitialCapital != 100_000 || !r.Sample.OutOfSample || r.Sample.Unseen != r.Accounts[0].Metrics.Bars+
		r.Accounts[1].Metrics.Bars {
		t.Errorf("capital %v, sample %+v", r.Config.InitialCapital, r.Sample)
	}
	if want := "small on EURUSD, RESTS 1h (one account each with 1/2 of the capital)"; !strings.HasPrefix(r.Summary, want) {
		t.Errorf("summary %q, want %q", r.Summary, want)
	}
}

func mustEncode(t *testing.T, p *backtest.Portfolio) []byte {
	t.Helper()
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustHash(t *testing.T, a backtest.Account) [32]byte {
	t.Helper()
	h, err := (&backtest.Portfolio{Accounts: []backtest.Account{a}}).Hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// soleAccount is the account that a backtest of one symbol stored.
func soleAccount(t *testing.T, o *office, r jobs.BacktestResult) backtest.Account {
	t.Helper()
	p, err := portfolioOf(o.b.Blobs()[r.Artifacts[0].SHA256], r)
	if err != nil || len(p.Accounts) != 1 || p.Accounts[0].Symbol != r.Symbol {
		t.Fatalf("%+v, %v; want one account of %s", p, err, r.Symbol)
	}
	return p.Accounts[0]
}

func TestColumns_OfSeveralSymbolsAddUp(t *testing.T) {
	o, model := pair(t)
	op := o.run(o.backtest(jobs.BacktestRequest{Model: string(model)}), once(BacktestRunner(best)))
	r := resultOf[jobs.BacktestResult](t, op)
	bars, closed := 0, 0
	symbols := map[string]int{}
	for p := (jobs.Page{Trades: true, Equity: true, Positions: true, Curve: true, Limit: 100}); ; p.From += p.Limit {
		c, err := o.desk.Columns(t.Context(), op, p)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Accounts) != 2 || c.Positions != nil || c.Curve == nil {
			t.Fatalf("%d accounts, %d positions; want those of two symbols in their accounts, and the curve of the sum",
				len(c.Accounts), len(c.Positions))
		}
		for i, at := range c.Equity {
			if sum := c.Accounts[0].Equity[i].Value + c.Accounts[1].Equity[i].Value; sum != at.Value {
				t.Fatalf("at %s the accounts have %v together, and the sum is %v", at.Time, sum, at.Value)
			}
			if at.Time.Hour() <= 5 {
				closed++
			}
		}
		for _, trade := range c.Trades {
			symbols[trade.Symbol]++
		}
		bars += len(c.Equity)
		if !c.More {
			break
		}
	}
	if bars != r.Curve || closed == 0 || symbols["EURUSD"] != r.Accounts[0].Trades || symbols["RESTS"] != r.Accounts[1].Trades {
		t.Errorf("%d bars, %d of them without RESTS, trades %v; want %d bars and %d and %d trades", bars, closed, symbols, r.Curve,
			r.Accounts[0].Trades, r.Accounts[1].Trades)
	}
}

func TestAccountColumns_KeepWhatTheyHadWhileTheyAreClosed(t *testing.T) {
	a := backtest.Account{Symbol: "RESTS", Result: &backtest.Result{
		Config: backtest.Config{InitialCapital: 500}, Time: []int64{20, 40}, Equity: []float64{510, 520}, Position: []float32{3, 0},
	}}
	got := accountColumns([]backtest.Account{a}, []int64{10, 20, 30, 40, 50}, jobs.Page{Equity: true, Positions: true})[0]
	times := []int64{10, 20, 30, 40, 50}
	if want := points(times, []float64{500, 510, 510, 520, 520}); !slices.Equal(got.Equity, want) {
		t.Errorf("equity %v, want %v", got.Equity, want)
	}
	if want := points(times, []float32{0, 3, 3, 0, 0}); !slices.Equal(got.Positions, want) {
		t.Errorf("positions %v, want %v", got.Positions, want)
	}
}

func TestDesk_BacktestNamesItsSymbols(t *testing.T) {
	o, model := pair(t)
	for name, c := range map[string]struct {
		one  string
		many []string
		want []string // nil: refused
		says string
	}{
		"none means all that it was trained on": {want: []string{"EURUSD", "RESTS"}},
		"one":                                   {one: "RESTS", want: []string{"RESTS"}},
		"several, one of them twice":            {many: []string{"RESTS", "EURUSD", "RESTS"}, want: []string{"RESTS", "EURUSD"}},
		"several that are one":                  {many: []string{"RESTS"}, want: []string{"RESTS"}},
		"both ways":                             {one: "RESTS", many: []string{"EURUSD"}, says: "symbol and symbols are given both"},
		"one without bars":                      {many: []string{"EURUSD", "GBPUSD"}, says: "no 1h bars of GBPUSD"},
		"one without a name":                    {many: []string{"EURUSD", " "}, says: "a symbol has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			order, err := o.desk.Backtest(t.Context(), jobs.BacktestRequest{Model: string(model), Symbol: c.one, Symbols: c.many})
			if c.want == nil {
				if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), c.says) {
					t.Errorf("err = %v, want a sentence with %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			spec, err := ktrdr.ParseSpec[jobs.BacktestSpec](order.Operation.Spec)
			if err != nil || !slices.Equal(spec.Traded(), c.want) || (spec.Symbol == "") != (len(c.want) > 1) {
				t.Errorf("spec of %q (%v), want %q", spec.Traded(), err, c.want)
			}
		})
	}
}

func TestBacktestSpec_NamesOneSymbolOrSeveral(t *testing.T) {
	o, model := pair(t)
	spec, err := ktrdr.ParseSpec[jobs.BacktestSpec](o.backtest(jobs.BacktestRequest{Model: string(model)}).Operation.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := backtestFingerprint(spec)["settings"], "EURUSD,RESTS {}"; got != want {
		t.Errorf("the fingerprint's settings are %q, want %q", got, want)
	}
	for name, change := range map[string]func(*jobs.BacktestSpec){
		"none":        func(s *jobs.BacktestSpec) { s.Symbols = nil },
		"both":        func(s *jobs.BacktestSpec) { s.Symbol = "EURUSD" },
		"a list of 1": func(s *jobs.BacktestSpec) { s.Symbols = s.Symbols[:1] },
	} {
		bad := spec
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "it must name one symbol") {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	spec.Symbols = []string{"RESTS", "EURUSD"}
	order, err := operation(ktrdr.Backtesting, spec, about{})
	if err != nil {
		t.Fatal(err)
	}
	if op := o.run(jobs.Accepted{Operation: order}, once(BacktestRunner(best))); op.Status != ktrdr.Failed ||
		!strings.Contains(op.ErrorMessage, "a backtest of RESTS, EURUSD was given the bars of EURUSD, RESTS") {
		t.Errorf("symbols in another order than their bars: %s, %s", op.Status, op.ErrorMessage)
	}
}
