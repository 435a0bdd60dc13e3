package backtest

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
)

func measure(t *testing.T, equity []float64, trades []Trade, perYear float64) Metrics {
	t.Helper()
	m, err := Measure(equity, trades, perYear)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Returns of +10 %, -10 %, +20 % and 0: mean 0.05, deviations 0.05, -0.15,
// 0.15, -0.05, whose squares sum to 0.05; 10,000 bars in a year, so that the
// root is 100.
func TestMeasure_ReturnsByHand(t *testing.T) {
	m := measure(t, []float64{100, 110, 99, 118.8, 118.8}, nil, 10_000)
	sd := math.Sqrt(0.05 / 3)
	for _, f := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"volatility", m.Volatility, sd * 100},
		{"sharpe_ratio", m.Sharpe, 0.05 / sd * 100},
		{"sortino_ratio", m.Sortino, 0.05 / math.Sqrt(0.01/3) * 100},
		{"skew", m.Skew, 0},
		// fourth powers: 2 (0.05⁴ + 0.15⁴) / 4 over (0.05/4)²
		{"kurtosis", m.Kurtosis, (2 * (0.00000625 + 0.00050625) / 4) / (0.0125 * 0.0125)},
		{"annualized_return", m.AnnualizedReturn, math.Pow(1.188, 2500) - 1},
		{"exposure", m.Exposure, 0},
		{"turnover", m.Turnover, 0},
	} {
		if f.got == nil || !near(*f.got, f.want, 1e-12, max(1, f.want)) {
			t.Errorf("%s is %s, want %v", f.name, show(f.got), f.want)
		}
	}
	if !near(m.MaxDrawdown, 11, 1e-14, 11) || !near(m.MaxDrawdownPct, 10, 1e-14, 10) || m.MaxDrawdownDuration != 1 {
		t.Errorf("drawdown is %v, %v %% for %d bars, want 11, 10 %% for 1", m.MaxDrawdown, m.MaxDrawdownPct, m.MaxDrawdownDuration)
	}
}

func TestMeasure_DrawdownIsFromTheRunningPeak(t *testing.T) {
	// 50 % of a small account first, then more money but less of a larger one.
	m := measure(t, []float64{100, 50, 60, 400, 300, 350, 320}, nil, 0)
	if m.MaxDrawdown != 100 || m.MaxDrawdownPct != 50 || m.MaxDrawdownDuration != 3 {
		t.Errorf("drawdown is %v, %v %%, %d bars; want 100, 50 %%, 3 bars", m.MaxDrawdown, m.MaxDrawdownPct, m.MaxDrawdownDuration)
	}
}

func TestMeasure_AnEqualHeightEndsADrawdown(t *testing.T) {
	if m := measure(t, []float64{100, 90, 100, 95}, nil, 0); m.MaxDrawdownDuration != 1 {
		t.Errorf("%d bars under water, want 1", m.MaxDrawdownDuration)
	}
}

func TestMeasure_WhatIsUndefinedIsNull(t *testing.T) {
	win := []Trade{{Quantity: 1, EntryPrice: 100, Net: 5}, {Quantity: 1, EntryPrice: 100, Net: 5}}
	growing := []float64{1000}
	for range 50 {
		growing = append(growing, growing[len(growing)-1]*1.001)
	}
	for _, c := range []struct {
		name    string
		equity  []float64
		trades  []Trade
		perYear float64
		null    func(Metrics) []*float64
	}{
		{"a flat curve has no Sharpe", []float64{100, 100, 100}, nil, 250, func(m Metrics) []*float64 {
			return []*float64{m.Sharpe, m.Sortino, m.Calmar, m.RecoveryFactor, m.Skew, m.Kurtosis}
		}},
		{"equal gains have none either, rounding apart", growing, nil, 250, func(m Metrics) []*float64 {
			return []*float64{m.Sharpe, m.Sortino, m.Skew, m.Kurtosis}
		}},
		{"no losing bar, no Sortino", []float64{100, 101, 103}, nil, 250, func(m Metrics) []*float64 { return []*float64{m.Sortino, m.Calmar} }},
		{"no trades, no rates of them", []float64{100, 101}, nil, 250, func(m Metrics) []*float64 {
			return []*float64{
				m.WinRate, m.ProfitFactor, m.AvgTrade, m.AvgWin, m.AvgLoss, m.LargestWin, m.LargestLoss, m.TradeTStat,
				m.AvgHoldingPeriod,
			}
		}},
		{"no losses, no profit factor", []float64{100, 101}, win, 250, func(m Metrics) []*float64 {
			return []*float64{m.ProfitFactor, m.AvgLoss, m.LargestLoss, m.AvgLossHoldingPeriod, m.TradeTStat}
		}},
		{"an unknown year, nothing per year", []float64{100, 110, 105, 120}, nil, 0, func(m Metrics) []*float64 {
			return []*float64{m.BarsPerYear, m.AnnualizedReturn, m.Volatility, m.Sharpe, m.Sortino, m.Calmar}
		}},
		{"one bar, no returns", []float64{100}, nil, 250, func(m Metrics) []*float64 {
			return []*float64{m.AnnualizedReturn, m.Volatility, m.Sharpe, m.Exposure}
		}},
		{
			"a gain too steep to be told per year",
			[]float64{100, 200},
			nil, 1e6,
			func(m Metrics) []*float64 { return []*float64{m.AnnualizedReturn} },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := measure(t, c.equity, c.trades, c.perYear)
			for k, x := range c.null(m) {
				if x != nil {
					t.Errorf("figure %d is %v, want null", k, *x)
				}
			}
			b, err := json.Marshal(m)
			if err != nil || strings.Contains(string(b), "NaN") {
				t.Errorf("as JSON: %v: %s", err, b)
			}
		})
	}
}

func TestMeasure_TradeTStat(t *testing.T) {
	// Net returns of 1 %, 2 % and 3 %: mean 2 %, deviation 1 %.
	trades := []Trade{
		{Quantity: 1, EntryPrice: 100, Net: 1}, {Quantity: 2, EntryPrice: 100, Net: 4}, {Quantity: 10, EntryPrice: 10, Net: 3},
	}
	m := measure(t, []float64{100, 108}, trades, 0)
	if want := 2 * math.Sqrt(3); m.TradeTStat == nil || !near(*m.TradeTStat, want, 1e-12, want) {
		t.Errorf("t is %s, want %v", show(m.TradeTStat), want)
	}
}

func TestMeasure_RefusesACurveWithoutMeaning(t *testing.T) {
	for name, equity := range map[string][]float64{
		"empty":                 nil,
		"begins at nothing":     {0, 1},
		"begins with no number": {math.NaN(), 1},
		"ends with no number":   {1, math.Inf(1)},
		"a hole in the middle":  {1, math.NaN(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if m, err := Measure(equity, nil, 250); err == nil {
				t.Errorf("measured %+v, want an error", m)
			}
		})
	}
}

func TestBarsPerYear_CountsTheBarsThatAreThere(t *testing.T) {
	spaced := func(tf market.Timeframe, n int, step func(time.Time) time.Time) *market.Bars {
		b := &market.Bars{Timeframe: tf}
		for at := time.Unix(monday, 0).UTC(); b.Len() < n; at = step(at) {
			b.Append(market.Bar{Time: at.Unix(), Open: 1, High: 1, Low: 1, Close: 1})
		}
		return b
	}
	hour := func(at time.Time) time.Time { return at.Add(time.Hour) }
	week := func(at time.Time) time.Time { // five days of 24 hours
		if at = at.Add(time.Hour); at.Weekday() == time.Saturday {
			at = at.AddDate(0, 0, 2)
		}
		return at
	}
	for _, c := range []struct {
		name     string
		bars     *market.Bars
		from, to float64
	}{
		{"hours around the clock", spaced(market.H1, 9000, hour), 8766, 8766.001},
		{"hours without weekends", spaced(market.H1, 7000, week), 8766 * 5 / 7 * 0.999, 8766 * 5 / 7 * 1.002},
		{"too short to tell: by the timeframe", spaced(market.H1, 100, hour), 8766, 8766},
		{"one day", spaced(market.D1, 1, hour), 365.25, 365.25},
		{"one month", spaced(market.Mo1, 1, hour), 12, 12},
		{"no timeframe", spaced("", 3, hour), 0, 0},
		{"no bars", &market.Bars{Timeframe: market.H4}, 2191.5, 2191.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := BarsPerYear(c.bars); got < c.from || got > c.to {
				t.Errorf("%v, want %v to %v", got, c.from, c.to)
			}
		})
	}
}

func TestFinish_BuyAndHoldBuysAtTheFirstOpenAfterADecision(t *testing.T) {
	d := drawn{
		series(row{10, 10, 10, 10}, row{20, 20, 20, 20}, row{40, 40, 40, 40}, row{50, 60, 50, 60}), make([]Signal, 4),
		Config{StartBar: 1},
	}
	if got := d.run(t).Metrics.BuyAndHoldReturnPct; got == nil || *got != 50 {
		t.Errorf("buy and hold made %s %%, want 50, from 40 to 60", show(got))
	}
	d.cfg.StartBar = 3
	if got := d.run(t).Metrics.BuyAndHoldReturnPct; got != nil {
		t.Errorf("buy and hold made %v %% without a bar to buy in, want null", *got)
	}
}

func TestFinish_BeginsTheFiguresAtTheStartBar(t *testing.T) {
	bars := walk(3, 400, 0.01)
	signals := chatter(3, 400, 0.5)
	for i := range 100 {
		signals[i] = Hold
	}
	late := drawn{bars, signals, Config{StartBar: 100}}.run(t).Metrics
	part := drawn{bars.Slice(100, 400), signals[100:], Config{}}.run(t).Metrics
	if got, want := show(late.Sharpe), show(part.Sharpe); got != want || late.Bars != 300 || late.TotalReturn != part.TotalReturn {
		t.Errorf("Sharpe %s over %d bars, want %s over 300", got, late.Bars, want)
	}
	if got, want := show(late.BuyAndHoldReturn), show(part.BuyAndHoldReturn); got != want {
		t.Errorf("buy and hold makes %s, want %s", got, want)
	}
}
