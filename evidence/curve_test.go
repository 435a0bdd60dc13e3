package evidence

import (
	"math"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// run backtests random signals over a synthetic market.
func run(t *testing.T, n int, seed uint64, cfg backtest.Config) (*market.Bars, *backtest.Result) {
	t.Helper()
	bars := market.Synth(market.SynthConfig{Bars: n, Seed: seed})
	r := num.NewRand(seed)
	signals := make([]backtest.Signal, n)
	for i := range signals {
		if r.Float64() < 0.2 {
			signals[i] = backtest.Signal(r.Uint64n(3)) - 1
		}
	}
	result, err := backtest.Backtest(bars, signals, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return bars, result
}

func TestPartOf_AgreesWithTheBacktestsOwnFigures(t *testing.T) {
	cfg := backtest.Config{Commission: 1e-5, Spread: 4e-5, AllowShort: true, Flip: true, PositionSize: 0.9, StartBar: 40}
	bars, result := run(t, 3000, 7, cfg)
	p, err := PartOf(bars, result)
	if err != nil {
		t.Fatal(err)
	}
	m := result.Metrics
	c := Versus(p.Returns, p.Hold, p.BarsPerYear)
	near(t, "Sharpe", *c.Sharpe.Annualized, *m.Sharpe, 1e-9)
	near(t, "skew", *c.Sharpe.Skew, *m.Skew, 1e-9)
	near(t, "kurtosis", *c.Sharpe.Kurtosis, *m.Kurtosis, 1e-8)
	near(t, "return", 100*c.Return, m.TotalReturnPct, 1e-9)
	near(t, "buy and hold", 100*c.HoldReturn, *m.BuyAndHoldReturnPct, 1e-9)
	costs := CostsOf(p.Trades, 1)
	near(t, "costs", costs.Costs, m.CostTotal, 1e-6)
	near(t, "net", costs.Curve[0].Net, m.TotalReturn, 1e-6)
	trades := TradesOf(p.Trades, len(p.Returns))
	near(t, "t statistic", *trades.TStat, *m.TradeTStat, 1e-9)
	near(t, "exposure", *trades.Exposure, *m.Exposure, 1e-12)
	falls, err := Drawdowns(result.Time, result.Equity, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "drawdown", falls[0].Depth, p.MaxDrawdown, 1e-12)

	if _, err := PartOf(bars.Slice(1, bars.Len()), result); err == nil {
		t.Error("a backtest of other bars is accepted")
	}
}

func TestCurveOf_AgreesWithTheBacktestsOwnFigures(t *testing.T) {
	_, result := run(t, 3000, 7, backtest.Config{Commission: 1e-5, Spread: 4e-5, AllowShort: true, Flip: true, StartBar: 40})
	c, err := CurveOf(result, 5)
	if err != nil {
		t.Fatal(err)
	}
	m, total := result.Metrics, 1.0
	for _, y := range c.Years {
		total *= 1 + y.Return
	}
	near(t, "return", 100*(total-1), m.TotalReturnPct, 1e-9)
	near(t, "deepest fall", 100*c.Drawdowns[0].Depth, m.MaxDrawdownPct, 1e-9)
	near(t, "Sharpe", *c.Sharpe.Estimate, *m.Sharpe, 1e-9)
	if !c.Sharpe.PerYear || len(c.Drawdowns) != deepest || !(*c.Sharpe.Low < *m.Sharpe && *m.Sharpe < *c.Sharpe.High) {
		t.Errorf("%d falls, ratio %v from %v to %v, per year: %v", len(c.Drawdowns), *m.Sharpe, *c.Sharpe.Low, *c.Sharpe.High, c.Sharpe.PerYear)
	}
	again, _ := CurveOf(result, 5)
	other, _ := CurveOf(result, 6)
	if *again.Sharpe.Low != *c.Sharpe.Low || *other.Sharpe.Low == *c.Sharpe.Low {
		t.Errorf("low %v, again %v, with another seed %v", *c.Sharpe.Low, *again.Sharpe.Low, *other.Sharpe.Low)
	}

	result.Metrics.BarsPerYear = nil
	if c, err := CurveOf(result, 5); err != nil || c.Sharpe.PerYear || math.Abs(*c.Sharpe.Estimate) > math.Abs(*m.Sharpe)/10 {
		t.Errorf("without a year: %+v, %v", c.Sharpe, err)
	}
}

func TestCurveOf_AnAccountThatDidNothing(t *testing.T) {
	bars := market.Synth(market.SynthConfig{Bars: 100})
	result, err := backtest.Backtest(bars, make([]backtest.Signal, 100), backtest.Config{StartBar: 99})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := CurveOf(result, 1); err != nil || len(c.Years) != 1 || c.Drawdowns == nil || c.Sharpe.Undefined == "" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestHoldReturns_PayWhenTheyBuyAndWhenTheySell(t *testing.T) {
	bars := &market.Bars{
		Symbol: "X", Timeframe: market.H1, Time: []int64{0, 3600, 7200, 10800},
		Open: []float64{9, 100, 110, 120}, High: []float64{9, 110, 120, 130}, Low: []float64{9, 100, 110, 120},
		Close:  []float64{9, 110, 121, 130},
		Volume: make([]float64, 4),
	}
	got, err := HoldReturns(bars, backtest.Config{Commission: 0.01, Slippage: 0.02, Spread: 0.06})
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	near(t, "bought at the open", got[0], 110/(100*1.05*1.01)-1, 1e-12)
	near(t, "held", got[1], 0.1, 1e-12)
	near(t, "sold at the close", got[2], 130*0.95*0.99/121-1, 1e-12)
	if _, err := HoldReturns(bars, backtest.Config{StartBar: 3}); err == nil {
		t.Error("a market that begins with its last bar can be held")
	}
}

func TestVersus_GivesNoAlphaToTheMarketItself(t *testing.T) {
	r := num.NewRand(21)
	hold, skill := normals(2000, 0.1, r), normals(2000, 0.1, r) // a market that rises, and something else that does
	long, short, mixed := make([]float64, 2000), make([]float64, 2000), make([]float64, 2000)
	for i, v := range hold {
		long[i], short[i], mixed[i] = 0.4*v, -0.3*v+0.01*skill[i], 0.5*v+skill[i]
	}
	if c := Versus(long, hold, 6240); c.AlphaZ != nil || c.Undefined == "" || math.Abs(*c.Beta-0.4) > 1e-12 {
		t.Errorf("always long: %+v", c)
	}
	c := Versus(mixed, hold, 6240)
	near(t, "beta", *c.Beta, 0.5, 0.07)
	near(t, "alpha", *c.Alpha, 0.1, 0.07)
	near(t, "its z", *c.AlphaZ, 0.1*math.Sqrt(2000), 2.5)
	if c := Versus(short, hold, 6240); *c.Sharpe.Z > -3 || math.Abs(*c.AlphaZ-0.1*math.Sqrt(2000)) > 2.5 {
		t.Errorf("short, with a skill too small to show: ratio z %v, alpha z %v", *c.Sharpe.Z, *c.AlphaZ)
	}
	if c := Versus(mixed[:9], hold, 6240); c.Undefined == "" {
		t.Error("returns over other bars are compared")
	}
}

func TestCostsOf_FindsWhereNothingIsLeft(t *testing.T) {
	trades := []backtest.Trade{
		{Quantity: 10, EntryPrice: 100, ExitPrice: 101, Gross: 12, Costs: 2, Net: 10},
		{Quantity: 10, EntryPrice: 101, ExitPrice: 100, Gross: -6, Costs: 1, Net: -7},
	}
	c := CostsOf(trades, 1, *CostsOf(trades).BreakEven, 3)
	near(t, "multiplier", *c.BreakEven, 2, 1e-12)
	near(t, "rate", *c.BreakEvenRate, 6.0/4020, 1e-12)
	near(t, "as charged", c.Curve[0].Net, 3, 1e-12)
	near(t, "at break-even", c.Curve[1].Net, 0, 1e-12)
	near(t, "beyond", c.Curve[2].Net, -3, 1e-12)
	if c := CostsOf(nil); c.BreakEven != nil || c.BreakEvenRate != nil {
		t.Errorf("no trades: %+v", c)
	}
}

func TestTradesOf_CountsRuns(t *testing.T) {
	var trades []backtest.Trade
	for i, net := range []float64{1, -1, -2, -1, 5, 3, -1, -1} {
		trades = append(trades, backtest.Trade{EntryBar: int32(3 * i), ExitBar: int32(3*i + 2), Quantity: 1, EntryPrice: 100, Net: net})
	}
	s := TradesOf(trades, 32)
	if s.LongestLoss != 3 || s.LongestWin != 2 || s.Wins != 3 || s.Losses != 5 || s.HeldBars != 16 {
		t.Errorf("%+v", s)
	}
	near(t, "expectancy", *s.Expectancy, 0.03/8, 1e-12)
	near(t, "without the best", s.NetWithoutBest, -2, 1e-12)
	near(t, "exposure", *s.Exposure, 0.5, 1e-12)
	if s := TradesOf(nil, 10); s.TStat != nil || s.Undefined == "" {
		t.Errorf("no trades: %+v", s)
	}
}

func TestMonthly_CompoundsToTheTotal(t *testing.T) {
	_, result := run(t, 9000, 5, backtest.Config{AllowShort: true})
	years, err := Monthly(result.Time, result.Equity)
	if err != nil {
		t.Fatal(err)
	}
	total, months := 1.0, 1.0
	for _, y := range years {
		total *= 1 + y.Return
		for _, m := range y.Months {
			if m != nil {
				months *= 1 + *m
			}
		}
	}
	want := result.Equity[len(result.Equity)-1] / result.Equity[0]
	near(t, "years", total, want, 1e-12)
	near(t, "months", months, want, 1e-12)
	if years[0].Year != 2015 || years[0].Months[0] == nil || len(years) != 2 || years[1].Months[11] != nil {
		t.Errorf("the table goes from %d over %d years", years[0].Year, len(years))
	}
}

func TestMonthly_BeginsAMonthWhereTheLastOneEnded(t *testing.T) {
	at := func(y, m, d int) int64 { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Unix() }
	times := []int64{at(2019, 12, 30), at(2019, 12, 31), at(2020, 1, 2), at(2020, 1, 31), at(2020, 3, 1), at(2021, 3, 5)}
	years, err := Monthly(times, []float64{100, 110, 121, 110, 132, 66})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "December", *years[0].Months[11], 0.1, 1e-12)
	near(t, "January", *years[1].Months[0], 0, 1e-12)
	near(t, "March", *years[1].Months[2], 0.2, 1e-12)
	near(t, "the same month a year later", *years[2].Months[2], -0.5, 1e-12)
	if years[1].Months[1] != nil {
		t.Error("February has a return and no bar")
	}
}

func TestDrawdowns_DoNotOverlapAndSayWhen(t *testing.T) {
	equity := []float64{100, 90, 95, 100, 120, 60, 80, 130, 117}
	times := make([]int64, len(equity))
	for i := range times {
		times[i] = int64(10 * i)
	}
	falls, err := Drawdowns(times, equity, 5)
	if err != nil || len(falls) != 3 {
		t.Fatalf("%v, %v", falls, err)
	}
	deepest, open := falls[0], falls[2]
	if deepest.Depth != 0.5 || deepest.Peak.Unix() != 40 || deepest.Trough.Unix() != 50 || deepest.Recovered.Unix() != 70 ||
		deepest.Bars != 3 {
		t.Errorf("deepest: %+v", deepest)
	}
	if open.Recovered != nil || open.Peak.Unix() != 70 || open.Bars != 1 {
		t.Errorf("the one that lasts: %+v", open)
	}
	if falls, _ := Drawdowns(times, equity, 1); len(falls) != 1 {
		t.Errorf("%d falls, want the one asked for", len(falls))
	}
}

func TestCurves_InvalidOnesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		times  []int64
		equity []float64
	}{
		"empty": {}, "lengths differ": {[]int64{1, 2}, []float64{1}}, "not ascending": {[]int64{2, 2}, []float64{1, 1}},
		"not a number": {[]int64{1, 2}, []float64{1, math.NaN()}}, "from nothing": {[]int64{1}, []float64{0}},
		"on after ruin": {[]int64{1, 2, 3}, []float64{1, 0, 1}},
	} {
		if _, err := Monthly(c.times, c.equity); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestDecayOf_IsWhatIsLeft(t *testing.T) {
	r := num.NewRand(22)
	in, out := EstimateSharpe(normals(4000, 0.2, r), 6240), EstimateSharpe(normals(4000, 0.1, r), 6240)
	d := DecayOf(in, out)
	near(t, "retention", *d.Retention, 0.5, 0.15)
	near(t, "z", *d.Z, 0.1/math.Sqrt(2.0/4000), 2.5)
	if d := DecayOf(EstimateSharpe(normals(500, -1, r), 0), out); d.Retention != nil || d.Undefined == "" {
		t.Errorf("nothing earned in sample: %+v", d)
	}
	if d := DecayOf(Sharpe{Undefined: "no"}, out); d.Z != nil || d.Undefined != "in sample: no" {
		t.Errorf("unknown in sample: %+v", d)
	}
}
