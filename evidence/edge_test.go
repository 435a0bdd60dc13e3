package evidence

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

func TestQuantile_ByHand(t *testing.T) {
	for share, want := range map[float64]float64{0: 1, 0.25: 1.5, 0.5: 2, 0.75: 3, 1: 4} {
		if got := quantile([]float64{1, 2, 4}, share); got != want {
			t.Errorf("quantile %v is %v, want %v", share, got, want)
		}
	}
	if got := quantile([]float64{7}, 0.5); got != 7 {
		t.Errorf("the quantile of one value is %v, want 7", got)
	}
}

func TestTotals_SharpeByHand(t *testing.T) {
	two := func(yield func(from, to int) bool) { _ = yield(0, 2) && yield(2, 3) }
	// The mean of 1, 2 and 4 is 7/3 and their variance too.
	near(t, "ratio", newTotals([]float64{1, 2, 4}).sharpe(two), math.Sqrt(7./3), 1e-14)
	near(t, "ratio without variance", newTotals([]float64{0.25, 0.25, 0.25}).sharpe(two), 0, 0)
}

// A strong edge is reached by no resample, which leaves the one that is counted
// for the returns themselves.
func TestBootstrap_LevelsAndP(t *testing.T) {
	returns := normals(200, 3, num.NewRand(5))
	wide := Bootstrap{Draws: 99}.Sharpe(returns, num.NewRand(1))
	narrow := Bootstrap{Draws: 99, Level: 0.5}.Sharpe(returns, num.NewRand(1))
	near(t, "p", *wide.P, 0.01, 1e-15)
	if !(*wide.Low < *narrow.Low && *narrow.Low < *narrow.High && *narrow.High < *wide.High) {
		t.Errorf("intervals %v to %v and %v to %v, want the second within the first", *wide.Low, *wide.High, *narrow.Low, *narrow.High)
	}
	near(t, "mean block of 200 returns", wide.Block, math.Cbrt(200), 1e-12)
	if wide.Level != 0.95 || wide.Draws != 99 || (Bootstrap{}).Sharpe(returns, num.NewRand(1)).Draws != 1000 {
		t.Errorf("level %v and %d draws, want 0.95 and 99", wide.Level, wide.Draws)
	}
	twice := wide.times(2)
	near(t, "twice the estimate", *twice.Estimate, 2**wide.Estimate, 1e-15)
	near(t, "twice the low end", *twice.Low, 2**wide.Low, 1e-15)
}

func TestMonthly_ByHand(t *testing.T) {
	at := func(text string) int64 {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return day.Unix()
	}
	years, err := Monthly([]int64{at("2023-12-30"), at("2023-12-31"), at("2024-01-01"), at("2024-01-31"), at("2024-02-01")},
		[]float64{80, 100, 110, 125, 62.5})
	if err != nil || len(years) != 2 {
		t.Fatalf("%d years with %v, want 2", len(years), err)
	}
	near(t, "December", *years[0].Months[11], 0.25, 1e-15)
	near(t, "2023", years[0].Return, 0.25, 1e-15)
	near(t, "January", *years[1].Months[0], 0.25, 1e-15)
	near(t, "February", *years[1].Months[1], -0.5, 1e-15)
	near(t, "2024", years[1].Return, -0.375, 1e-15)
	if years[0].Year != 2023 || years[1].Year != 2024 || years[0].Months[0] != nil || years[1].Months[2] != nil {
		t.Errorf("years %+v, want 2023 and 2024 and no month without a bar", years)
	}
}

func TestDrawdowns_ByHand(t *testing.T) {
	times := []int64{10, 20, 30, 40, 50, 60, 70, 80}
	equity := []float64{100, 90, 90, 100, 100, 80, 75, 90}
	back := instant(40)
	// from the later of two equal peaks, not over yet
	deep := Drawdown{Depth: 0.25, Peak: instant(50), Trough: instant(70), Bars: 3}
	first := Drawdown{Depth: 0.1, Peak: instant(10), Trough: instant(20), Recovered: &back, Bars: 3} // the first of two equal lows
	for top, want := range map[int][]Drawdown{-1: {}, 0: {}, 1: {deep}, 2: {deep, first}, 3: {deep, first}} {
		got, err := Drawdowns(times, equity, top)
		same := slices.EqualFunc(got, want, func(a, b Drawdown) bool {
			recovered := a.Recovered == nil && b.Recovered == nil || a.Recovered != nil && b.Recovered != nil && a.Recovered.Equal(*b.Recovered)
			return recovered && math.Abs(a.Depth-b.Depth) < 1e-15 && a.Peak.Equal(b.Peak) && a.Trough.Equal(b.Trough) && a.Bars == b.Bars
		})
		if err != nil || !same {
			t.Errorf("the %d deepest are %+v with %v, want %+v", top, got, err, want)
		}
	}
}

func TestFits_Bounds(t *testing.T) {
	for name, c := range map[string]struct {
		times  []int64
		equity []float64
		says   string
	}{
		"one value":             {[]int64{1}, []float64{1}, ""},
		"ruin at the end":       {[]int64{1, 2}, []float64{1, 0}, ""},
		"a debt at the end":     {[]int64{1, 2}, []float64{1, -1}, ""},
		"ruin before the end":   {[]int64{1, 2, 3}, []float64{1, 0, 1}, "value 1 is 0"},
		"nothing to begin with": {[]int64{1}, []float64{0}, "begins with 0"},
		"a time twice":          {[]int64{1, 1}, []float64{1, 1}, "time 1 does not come after"},
		"no values":             {nil, nil, "one at least"},
		"a value more":          {[]int64{1}, []float64{1, 2}, "2 values do not fit 1 times"},
		"no number":             {[]int64{1, 2}, []float64{1, math.NaN()}, "value 1 is NaN"},
	} {
		err := fits(c.times, c.equity)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v, want %q", name, err, c.says)
		}
	}
}

func TestRules_Bounds(t *testing.T) {
	for name, c := range map[string]struct {
		rules Rules
		ok    bool
	}{
		"one trade":             {Rules{MinTrades: 1, HoldoutTrades: 1}, true},
		"less than no trade":    {Rules{MinTrades: -1}, false},
		"less than none held":   {Rules{HoldoutTrades: -1}, false},
		"any drawdown":          {Rules{MaxDrawdown: 1}, true},
		"more than all":         {Rules{MaxDrawdown: 1.01}, false},
		"costs once":            {Rules{CostMultiplier: 1}, true},
		"costs less than once":  {Rules{CostMultiplier: 0.99}, false},
		"costs 100 times":       {Rules{CostMultiplier: 100}, true},
		"costs 101 times":       {Rules{CostMultiplier: 101}, false},
		"all is kept":           {Rules{MinRetention: 1}, true},
		"more than all is kept": {Rules{MinRetention: 1.01}, false},
		"certainty":             {Rules{MinDeflated: 1}, false},
		"almost certainty":      {Rules{MinDeflated: 0.999}, true},
		"any luck":              {Rules{MaxAdjustedP: 1}, false},
		"almost any luck":       {Rules{MaxAdjustedP: 0.999}, true},
		"luck below 0":          {Rules{MaxAdjustedP: -0.1}, false},
	} {
		if err := c.rules.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: error is %v, want it accepted: %v", name, err, c.ok)
		}
	}
	want := Rules{
		MinTrades: 30, HoldoutTrades: 10, MaxDrawdown: 0.3, CostMultiplier: 1.5, MinRetention: 0.2, MinDeflated: 0.5,
		MaxAdjustedP: 0.02,
	}
	if got := (Rules{}).WithDefaults(); got != want {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
}

func TestCounts_ByHand(t *testing.T) {
	for before, want := range map[int]int{-1: 2, 0: 2, 1: 6, 2: 12, 9: 110, math.MaxInt: 2147483646 * 2147483647} {
		if got := LookFactor(before); got != want {
			t.Errorf("look %d costs %d, want %d", before, got, want)
		}
	}
	for generation, want := range []int{25, 65, 125} { // 5 + 10·1·2, 5 + 10·2·3, 5 + 10·3·4
		if got := OpenEndedTrials(5, 10, generation); got != want {
			t.Errorf("generation %d counts as %d trials, want %d", generation, got, want)
		}
	}
}

func TestCostsOf_ByHand(t *testing.T) {
	trade := func(gross, costs float64) backtest.Trade {
		return backtest.Trade{Gross: gross, Costs: costs, Quantity: 2, EntryPrice: 10, ExitPrice: 15}
	}
	c := CostsOf([]backtest.Trade{trade(6, 1), trade(4, 3)}, 0, 2)
	near(t, "net", c.Net, 6, 0)
	near(t, "turnover", c.Turnover, 100, 0)
	near(t, "break-even", *c.BreakEven, 2.5, 0)
	near(t, "break-even rate", *c.BreakEvenRate, 0.1, 1e-15)
	near(t, "net without costs", c.Curve[0].Net, 10, 0)
	near(t, "net at twice the costs", c.Curve[1].Net, 2, 0)
	near(t, "break-even of a loss", *CostsOf([]backtest.Trade{trade(-6, 1)}).BreakEven, 0, 0)
	if c := CostsOf([]backtest.Trade{trade(6, 0)}); c.BreakEven != nil {
		t.Errorf("break-even %v where no costs were charged, want none", *c.BreakEven)
	}
	if c := CostsOf(nil); c.BreakEvenRate != nil || c.BreakEven != nil {
		t.Error("no trades have a break-even, want none")
	}
}

func TestDecayOf_ByHand(t *testing.T) {
	sharpe := func(ratio, err float64) Sharpe { return Sharpe{PerBar: &ratio, Error: &err} }
	d := DecayOf(sharpe(0.2, 0.03), sharpe(0.1, 0.04))
	near(t, "retention", *d.Retention, 0.5, 1e-15)
	near(t, "z", *d.Z, 2, 1e-13) // a fall of 0.1 over the root of 0.03² + 0.04²
	if d := DecayOf(sharpe(0, 0.03), sharpe(0.1, 0.04)); d.Retention != nil || d.Undefined == "" || d.Z == nil {
		t.Errorf("%+v, want no retention of nothing", d)
	}
	in, out := sharpe(0.2, 0.03), sharpe(0.1, 0.04)
	year := 16.0
	in.Annualized = &year
	if d := DecayOf(in, out); *d.InSample != 0.2 || *d.OutOfSample != 0.1 {
		t.Errorf("%v and %v, want both per bar where one year is unknown", *d.InSample, *d.OutOfSample)
	}
}

// The quantile by the inverse of the error function.
func quantileByErf(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

func TestExpectedMax_ByTheFormula(t *testing.T) {
	const euler = 0.5772156649015329
	for _, n := range []int{2, 10, 1000} {
		one := 1 / float64(n)
		near(t, "expected maximum", BestByLuck(n), (1-euler)*quantileByErf(1-one)+euler*quantileByErf(1-one/math.E), 1e-9)
	}
	near(t, "expected maximum of one", BestByLuck(1), 0, 0)
	near(t, "deflated", Deflate(1.25, 1), 0.5*math.Erfc(-1.25/math.Sqrt2), 1e-12)
}

func TestMinTrackRecordLength_Bounds(t *testing.T) {
	// 1 + (1 + 0.5·0.01)·(1.6449/0.1)²
	near(t, "length", *MinTrackRecordLength(0.1, 0, 3, 0, 0.95), 1+1.005*math.Pow(quantileByErf(0.95)/0.1, 2), 1e-6)
	near(t, "length with skew", *MinTrackRecordLength(0.3, -1, 3, 0.2, 0.95), 1+(1+0.3+0.5*0.09)*math.Pow(quantileByErf(0.95)/0.1, 2), 1e-6)
	for name, got := range map[string]*float64{
		"the benchmark itself": MinTrackRecordLength(0.1, 0, 3, 0.1, 0.95),
		"no confidence":        MinTrackRecordLength(0.1, 0, 3, 0, 0),
		"certainty":            MinTrackRecordLength(0.1, 0, 3, 0, 1),
	} {
		if got != nil {
			t.Errorf("%s: %v returns are enough, want none", name, *got)
		}
	}
}

func TestReturns_ByHand(t *testing.T) {
	if got, want := Returns([]float64{100, 125, 0, 50}), []float64{0.25, -1, 0}; !slices.Equal(got, want) {
		t.Errorf("returns %v, want %v", got, want)
	}
	for n, want := range map[int]int{0: 0, 1: 0, 2: 1} {
		if got := len(Returns(make([]float64, n))); got != want {
			t.Errorf("%d values have %d returns, want %d", n, got, want)
		}
	}
}

func TestHoldReturns_Bounds(t *testing.T) {
	bars := &market.Bars{Symbol: "X", Timeframe: market.H1}
	for i, c := range []float64{10, 20, 30} {
		bars.Append(market.Bar{Time: int64(i), Open: c, High: c, Low: c, Close: c})
	}
	got, err := HoldReturns(bars, backtest.Config{StartBar: 1})
	if err != nil || !slices.Equal(got, []float64{0}) {
		t.Errorf("returns %v with %v, want one of nothing: bought and sold at 30", got, err)
	}
	for _, start := range []int{-1, 2} {
		if _, err := HoldReturns(bars, backtest.Config{StartBar: start}); err == nil {
			t.Errorf("start bar %d is accepted", start)
		}
	}
}

// The returns are 0.002 + half of the market's and a rest of ±0.001 that is
// independent of it. Of the rest: four squares of 1e-6, divided by 4-2, and an
// autocorrelation of 1/4 at the one lag, which counts once: 1.25.
func TestVersus_ByHand(t *testing.T) {
	rest := []float64{0.001, 0.001, -0.001, -0.001}
	for mean, root := range map[float64]float64{0: 0.25, 0.01: 0.5} { // 1/4, and 1/4 + 0.01²/(4·0.01²)
		hold, returns := make([]float64, 4), make([]float64, 4)
		for i := range hold {
			hold[i] = mean + 0.01*float64(2*(i%2)-1)
			returns[i] = 0.002 + 0.5*hold[i] + rest[i]
		}
		c := Versus(returns, hold, 0)
		near(t, "beta", *c.Beta, 0.5, 1e-12)
		near(t, "alpha", *c.Alpha, 0.002, 1e-15)
		near(t, "z of alpha", *c.AlphaZ, 0.002/(math.Sqrt(2e-6)*math.Sqrt(root)*math.Sqrt(1.25)), 1e-9)
	}
	near(t, "autocorrelation", Autocorrelations(rest, 1)[0], 0.25, 1e-15)
	near(t, "long run", LongRun(rest), 1.25, 1e-15)
	if got := len(Autocorrelations(rest, 9)); got != 3 {
		t.Errorf("%d autocorrelations of four values, want 3", got)
	}
	near(t, "long run of two", LongRun(rest[:2]), 1, 0)
	near(t, "compound", compound([]float64{0.25, -0.5}), -0.375, 1e-15)
	near(t, "compound of a total loss", compound([]float64{0.25, -1}), -1, 0)
}

// Returns of 1, 2 and 6 %: deviations -2, -1 and 3, squares 4 + 1 + 9 = 14,
// cubes -8 - 1 + 27 = 18, fourth powers 16 + 1 + 81 = 98.
func TestEstimateSharpe_ByHand(t *testing.T) {
	returns := []float64{0.01, 0.02, 0.06}
	s := EstimateSharpe(returns, 4)
	sr := 3 / math.Sqrt(7)
	skew := 18. / 3 / math.Pow(14./3, 1.5)
	kurtosis := 98. / 3 / (14. / 3 * 14. / 3)
	near(t, "ratio", *s.PerBar, sr, 1e-14)
	near(t, "annualized", *s.Annualized, 2*sr, 1e-14)
	near(t, "skew", *s.Skew, skew, 1e-13)
	near(t, "kurtosis", *s.Kurtosis, kurtosis, 1e-13)
	// One lag: (-2·-1 + -1·3)/14 = -1/14, which does not widen the error.
	near(t, "long run", *s.LongRun, 1-1./14, 1e-14)
	e := math.Sqrt((1 - skew*sr + (kurtosis-1)/4*sr*sr) / 2)
	near(t, "error", *s.Error, e, 1e-13)
	near(t, "annualized error", *s.AnnualizedError, 2*e, 1e-13)
	near(t, "z", *s.Z, sr/math.Sqrt(0.5), 1e-13) // the error of a ratio of 0 is larger
	if EstimateSharpe(returns, 0).Annualized != nil {
		t.Error("a year of no bars has a ratio")
	}
	if EstimateSharpe(returns[:2], 4).PerBar != nil {
		t.Error("two returns have a ratio, want three at least")
	}
	if e := SharpeError(0, 2, 0, 3); e != 1 {
		t.Errorf("the error of two returns is %v, want 1", e)
	}
	if !math.IsNaN(SharpeError(0, 1, 0, 3)) {
		t.Error("one return has an error")
	}
}

func TestTradesOf_ByHand(t *testing.T) {
	var trades []backtest.Trade
	for i, net := range []float64{1, 2, 0, -1, -2, -3, 6} {
		trades = append(trades, backtest.Trade{
			Net: net, Quantity: 2, EntryPrice: 50, EntryBar: int32(10 * i), ExitBar: int32(10*i + 2), Reason: backtest.OnStop,
		})
	}
	trades[0].Reason = backtest.OnSignal
	s := TradesOf(trades, 40)
	if s.Wins != 3 || s.Losses != 3 || s.LongestWin != 2 || s.LongestLoss != 3 || s.HeldBars != 20 {
		t.Errorf("%+v, want 3 wins, 3 losses, runs of 2 and 3, 20 bars held", s)
	}
	near(t, "net", s.Net, 3, 0)
	near(t, "net without the best", s.NetWithoutBest, -3, 0)
	near(t, "best", *s.Best, 0.06, 1e-16)
	near(t, "worst", *s.Worst, -0.03, 1e-16)
	near(t, "expectancy", *s.Expectancy, 3./700, 1e-16)
	near(t, "exposure", *s.Exposure, 0.5, 0)
	// In units of 1 %: mean 3/7, squares 55 - 7·(3/7)², divided by 6.
	deviation := math.Sqrt((55-9./7)/6) / 100
	near(t, "deviation", *s.Deviation, deviation, 1e-15)
	near(t, "t statistic", *s.TStat, 3./700/deviation*math.Sqrt(7), 1e-12)
	if s := TradesOf(nil, 0); s.Exposure != nil || s.Undefined != "there are no trades" {
		t.Errorf("%+v, want nothing of no trades", s)
	}
	trades[0].Quantity = 0
	if s := TradesOf(trades[:1], 40); s.Expectancy != nil {
		t.Errorf("a trade of nothing has a return of %v", *s.Expectancy)
	}
	if s := TradesOf(trades[:2], 40); s.Expectancy == nil || *s.Expectancy != 0.02 {
		t.Errorf("beside a trade of nothing the other's return is %v, want 0.02", s.Expectancy)
	}
}

func TestPlural_AndShow(t *testing.T) {
	for n, want := range map[int]string{0: "0 looks", 1: "1 look", 2: "2 looks"} {
		if got := text.Counted(n, "look"); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
	if show(nil) != "unknown" || show(num.Finite(0.12345)) != "0.123" {
		t.Errorf("shown as %q and %q", show(nil), show(num.Finite(0.12345)))
	}
}

// A backtest needs two bars from its start on to have a return.
func TestJudgeable_Bounds(t *testing.T) {
	bars := &market.Bars{Symbol: "X", Time: []int64{1, 2, 3, 4}}
	result := func(times []int64, start int) *backtest.Result {
		return &backtest.Result{Time: times, Equity: make([]float64, len(times)), Config: backtest.Config{StartBar: start}}
	}
	for name, c := range map[string]struct {
		r  *backtest.Result
		ok bool
	}{
		"all bars":             {result([]int64{1, 2, 3, 4}, 0), true},
		"the last return":      {result([]int64{1, 2, 3, 4}, 2), true},
		"no return":            {result([]int64{1, 2, 3, 4}, 3), false},
		"ruined early":         {result([]int64{1, 2, 3}, 0), true},
		"more bars than these": {result([]int64{1, 2, 3, 4, 5}, 0), false},
		"another first":        {result([]int64{0, 2, 3, 4}, 0), false},
		"another last":         {result([]int64{1, 2, 3, 5}, 0), false},
		"no bars":              {result(nil, 0), false},
	} {
		if err := judgeable(bars, c.r); (err == nil) != c.ok {
			t.Errorf("%s: error is %v, want it judged: %v", name, err, c.ok)
		}
	}
}

// A look that failed has the interval of its error: 1.96 errors either way.
func TestConfirm_PlainIntervalByHand(t *testing.T) {
	returns := []float64{0.01, 0.02, 0.06}
	c := Confirm(Part{Returns: returns, Hold: []float64{0.01, 0, 0.01}, BarsPerYear: 4}, 0, Rules{})
	ratio, half := 6/math.Sqrt(7), 2*math.Sqrt(0.5)*1.959963984540054
	if c.Claim || c.Factor != 2 {
		t.Fatalf("claim %v at a cost of %d, want none at 2", c.Claim, c.Factor)
	}
	near(t, "low", *c.Low, ratio-half, 1e-12)
	near(t, "high", *c.High, ratio+half, 1e-12)
}

func TestPartOf_KnowsRuin(t *testing.T) {
	for ended, ruined := range map[backtest.Reason]bool{backtest.OnRuin: true, backtest.OnEnd: false} {
		r := &backtest.Result{Equity: []float64{100, 75}, Ended: ended}
		r.Metrics.MaxDrawdownPct = 25
		if p := partOf(r, nil); p.Ruined != ruined || p.MaxDrawdown != 0.25 || p.BarsPerYear != 0 || p.Accounts != 1 {
			t.Errorf("ended by %v: %+v, want ruined %v and a drawdown of 0.25", ended, p, ruined)
		}
	}
}
