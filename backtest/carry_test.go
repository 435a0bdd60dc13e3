package backtest

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

// Holding a position costs its rate of a year, in the trade and in the curve.
func TestCarry_IsChargedForTheTimeThatAPositionIsHeld(t *testing.T) {
	const bars = 400
	b := &market.Bars{Symbol: "EURUSD", Timeframe: market.D1}
	for i := range bars {
		b.Append(market.Bar{Time: int64(i) * 86400, Open: 100, High: 100, Low: 100, Close: 100})
	}
	years := float64(365) / 365.25
	for _, c := range []struct {
		signal Signal
		cfg    Config
		rate   float64
	}{
		{Buy, Config{CarryLong: 0.05, CarryShort: 0.9}, 0.05},
		{Sell, Config{CarryLong: 0.9, CarryShort: -0.02}, -0.02},
		{Buy, Config{}, 0},
	} {
		c.cfg.PositionSize, c.cfg.AllowShort = 0.5, true
		signals := make([]Signal, bars)
		signals[0], signals[366] = c.signal, -c.signal // held from bar 1 to bar 366, and once more from there
		c.cfg.ExitAfter = 365
		r, err := Backtest(b, signals, c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		x := r.Trades[0]
		want := 50_000 * c.rate * years
		if x.ExitBar-x.EntryBar != 365 || math.Abs(x.Costs-want) > 1e-6 || math.Abs(x.Net+want) > 1e-6 {
			t.Errorf("rate %v: %d bars cost %v, net %v; want %v", c.rate, x.ExitBar-x.EntryBar, x.Costs, x.Net, want)
		}
		if half := r.Equity[1+182]; math.Abs(half-(100_000-50_000*c.rate*182/365.25)) > 1e-6 {
			t.Errorf("rate %v: the equity after half of it is %v", c.rate, half)
		}
		if hold := r.Metrics.BuyAndHoldReturn; hold == nil || math.Abs(*hold+100_000*c.cfg.CarryLong*float64(bars-2)/365.25) > 1e-6 {
			t.Errorf("rate %v: buy and hold returns %v", c.rate, hold)
		}
	}
}
