package evidence

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// some runs random signals over a part of a synthetic market's bars.
func some(t *testing.T, symbol string, seed uint64, cfg backtest.Config, keep func(i int, b market.Bar) bool) (*market.Bars,
	backtest.Account,
) {
	t.Helper()
	all := market.Synth(market.SynthConfig{Symbol: symbol, Bars: 2000, Seed: seed})
	bars := &market.Bars{Symbol: symbol, Timeframe: all.Timeframe}
	for i := range all.Len() {
		if keep == nil || keep(i, all.At(i)) {
			bars.Append(all.At(i))
		}
	}
	r := num.NewRand(seed)
	signals := make([]backtest.Signal, bars.Len())
	for i := range signals {
		if r.Float64() < 0.2 {
			signals[i] = backtest.Signal(r.Uint64n(3)) - 1
		}
	}
	result, err := backtest.Backtest(bars, signals, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return bars, backtest.Account{Symbol: symbol, Result: result}
}

func portfolioOf(t *testing.T, accounts ...backtest.Account) *backtest.Portfolio {
	t.Helper()
	p, err := backtest.Combine(market.H1, accounts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPartOfPortfolio_AgreesWithTheBacktestsOwnFigures(t *testing.T) {
	cfg := backtest.Config{Commission: 1e-5, Spread: 4e-5, AllowShort: true, Flip: true, PositionSize: 0.9, StartBar: 40}.Share(2)
	dear := cfg
	dear.Slippage, dear.StartBar = 1e-4, 90
	a, one := some(t, "AAA", 7, cfg, nil)
	b, two := some(t, "BBB", 8, dear, func(i int, _ market.Bar) bool { return i%24 > 4 && i < 1900 })
	run := portfolioOf(t, one, two)
	p, err := PartOfPortfolio([]*market.Bars{a, b}, run)
	if err != nil {
		t.Fatal(err)
	}
	m := run.Sum.Metrics
	c := Versus(p.Returns, p.Hold, p.BarsPerYear)
	near(t, "Sharpe", *c.Sharpe.Annualized, *m.Sharpe, 1e-9)
	near(t, "return", 100*c.Return, m.TotalReturnPct, 1e-9)
	near(t, "buy and hold", 100*c.HoldReturn, *m.BuyAndHoldReturnPct, 1e-9)
	near(t, "costs", CostsOf(p.Trades, 1).Costs, m.CostTotal, 1e-6)
	near(t, "drawdown", 100*p.MaxDrawdown, m.MaxDrawdownPct, 1e-12)
	if len(p.Returns) != m.Bars-1 || len(p.Hold) != len(p.Returns) || p.Accounts != 2 {
		t.Errorf("%d returns beside %d of buy and hold of %d accounts, want %d each of 2", len(p.Returns), len(p.Hold), p.Accounts, m.Bars-1)
	}
}

// AAA has bars at hours 0 to 5, BBB at 0, 1, 4 and 5. Half of the money buys AAA
// at 10 and half buys BBB at 20, at 1 % commission, both at hour 1.
func TestPartOfPortfolio_HoldsByHand(t *testing.T) {
	bars := func(symbol string, hours []int64, rows ...[2]float64) *market.Bars {
		b := &market.Bars{Symbol: symbol, Timeframe: market.H1}
		for i, r := range rows {
			b.Append(market.Bar{Time: hours[i] * 3600, Open: r[0], High: max(r[0], r[1]), Low: min(r[0], r[1]), Close: r[1]})
		}
		return b
	}
	a := bars("AAA", []int64{0, 1, 2, 3, 4, 5}, [2]float64{10, 10}, [2]float64{10, 12}, [2]float64{12, 11}, [2]float64{11, 13},
		[2]float64{13, 12}, [2]float64{12, 12})
	b := bars("BBB", []int64{0, 1, 4, 5}, [2]float64{20, 20}, [2]float64{20, 21}, [2]float64{18, 19}, [2]float64{19, 17})
	account := func(b *market.Bars) backtest.Account {
		r, err := backtest.Backtest(b, make([]backtest.Signal, b.Len()), backtest.Config{InitialCapital: 500, Commission: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		return backtest.Account{Symbol: b.Symbol, Result: r}
	}
	p, err := PartOfPortfolio([]*market.Bars{a, b}, portfolioOf(t, account(a), account(b)))
	if err != nil {
		t.Fatal(err)
	}
	value := []float64{ // of one unit of money each
		2,
		12/10.1 + 21/20.2,
		11/10.1 + 21/20.2, // BBB is closed
		13/10.1 + 21/20.2,
		12/10.1 + 19/20.2,
		12*0.99/10.1 + 17*0.99/20.2,
	}
	for i, got := range p.Hold {
		near(t, "buy and hold", got, value[i+1]/value[i]-1, 1e-12)
	}
	if len(p.Hold) != 5 {
		t.Errorf("%d returns, want 5", len(p.Hold))
	}
}

func TestPartOfPortfolio_OfOneAccountIsItsPart(t *testing.T) {
	bars, one := some(t, "AAA", 3, backtest.Config{Commission: 1e-4, AllowShort: true, StartBar: 30}, nil)
	want, err := PartOf(bars, one.Result)
	if err != nil {
		t.Fatal(err)
	}
	got, err := PartOfPortfolio([]*market.Bars{bars}, portfolioOf(t, one))
	if err != nil || len(got.Hold) != len(want.Hold) {
		t.Fatalf("%d returns of buy and hold, want %d (%v)", len(got.Hold), len(want.Hold), err)
	}
	for i := range want.Hold {
		if got.Hold[i] != want.Hold[i] || got.Returns[i] != want.Returns[i] {
			t.Fatalf("bar %d: returns %v and %v, want the same bits as %v and %v", i, got.Returns[i], got.Hold[i], want.Returns[i], want.Hold[i])
		}
	}
	// The sum over accounts comes to the same up to rounding.
	curve, err := holdPortfolio([]*market.Bars{bars}, []backtest.Account{one}, one.Time[30:])
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range Returns(curve) {
		near(t, "buy and hold", x, want.Hold[i], 1e-12)
	}
}

func TestPartOfPortfolio_RefusesOtherBars(t *testing.T) {
	a, one := some(t, "AAA", 7, backtest.Config{}, nil)
	b, two := some(t, "BBB", 8, backtest.Config{}, nil)
	run := portfolioOf(t, one, two)
	for says, bars := range map[string][]*market.Bars{
		"of 2 accounts":        {a},
		"BBB: the backtest":    {a, b.Slice(1, b.Len())},
		"was made on other ba": {a.Slice(0, 9), b},
	} {
		if _, err := PartOfPortfolio(bars, run); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("err = %v, want a sentence with %q", err, says)
		}
	}
}
