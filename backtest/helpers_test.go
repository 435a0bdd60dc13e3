package backtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/market"
)

const monday = 1_704_067_200 // 2024-01-01 00:00 UTC

// series makes hourly bars of rows of open, high, low and close.
func series(rows ...[4]float64) *market.Bars {
	b := &market.Bars{Symbol: "TEST", Timeframe: market.H1}
	for i, r := range rows {
		b.Append(market.Bar{Time: monday + int64(i)*3600, Open: r[0], High: r[1], Low: r[2], Close: r[3], Volume: 1})
	}
	return b
}

// walk makes hourly bars of a random walk with gaps between bars and, of
// course, bars that reach far both ways.
func walk(seed uint64, n int, step float64) *market.Bars {
	r := rand.New(rand.NewPCG(seed, 1))
	b := &market.Bars{Symbol: "WALK", Timeframe: market.H1}
	price := 100.0
	for i := range n {
		open := price
		if r.IntN(8) == 0 {
			open *= 1 + step*r.NormFloat64() // a gap
		}
		open = max(open, 0.01)
		last := max(open*(1+step*r.NormFloat64()), 0.01)
		high := max(open, last) * (1 + step*r.Float64())
		low := min(open, last) * (1 - min(step*r.Float64(), 0.9))
		b.Append(market.Bar{Time: monday + int64(i)*3600, Open: open, High: high, Low: low, Close: last, Volume: 1})
		price = last
	}
	return b
}

// chatter makes random signals; quiet is the share of Holds.
func chatter(seed uint64, n int, quiet float64) []Signal {
	r := rand.New(rand.NewPCG(seed, 2))
	s := make([]Signal, n)
	for i := range s {
		if r.Float64() >= quiet {
			s[i] = Signal(1 - 2*r.IntN(2))
		}
	}
	return s
}

// configs draws any valid configuration for a series of n bars.
func configs(n int) *rapid.Generator[Config] {
	return rapid.Custom(func(t *rapid.T) Config {
		rate := rapid.SampledFrom([]float64{0, 0, 0.0005, 0.002, 0.01})
		c := Config{
			InitialCapital: rapid.SampledFrom([]float64{0, 1000, 12345.67}).Draw(t, "capital"),
			Commission:     rate.Draw(t, "commission"),
			Slippage:       rate.Draw(t, "slippage"),
			Spread:         rate.Draw(t, "spread"),
			CarryLong:      rapid.SampledFrom([]float64{0, 0, 0.05, -0.02, 1}).Draw(t, "carry long"),
			CarryShort:     rapid.SampledFrom([]float64{0, 0, 0.05, -0.02, 1}).Draw(t, "carry short"),
			SizeMode:       rapid.SampledFrom([]SizeMode{"", Fraction, Units, Risk}).Draw(t, "mode"),
			Leverage:       rapid.SampledFrom([]float64{0, 1, 3, 17}).Draw(t, "leverage"),
			LotSize:        rapid.SampledFrom([]float64{0, 0, 1, 0.01}).Draw(t, "lot"),
			StopLoss:       rapid.SampledFrom([]float64{0, 0.01, 0.05, 0.3}).Draw(t, "stop"),
			TakeProfit:     rapid.SampledFrom([]float64{0, 0.01, 0.05, 0.3}).Draw(t, "target"),
			ExitAfter:      rapid.SampledFrom([]int{0, 0, 1, 3, 20}).Draw(t, "exit"),
			AllowShort:     rapid.Bool().Draw(t, "short"),
			Flip:           rapid.Bool().Draw(t, "flip"),
			MinSeparation:  rapid.SampledFrom([]time.Duration{0, 0, time.Hour, 4 * time.Hour}).Draw(t, "separation"),
			StartBar:       rapid.IntRange(0, min(n-1, 20)).Draw(t, "start"),
		}
		switch c.SizeMode {
		case Units:
			c.PositionSize = rapid.Float64Range(0.5, 200).Draw(t, "units")
		case Risk:
			c.StopLoss = max(c.StopLoss, 0.01)
			c.PositionSize = rapid.Float64Range(0.001, 0.5).Draw(t, "risk")
		default:
			c.PositionSize = rapid.SampledFrom([]float64{0, 0.1, 1, max(c.Leverage, 1)}).Draw(t, "fraction")
		}
		return c
	})
}

// market, signals and configuration, drawn together.
type drawn struct {
	bars    *market.Bars
	signals []Signal
	cfg     Config
}

func draw(t *rapid.T) drawn {
	n := rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(150, 300)).Draw(t, "bars")
	seed := rapid.Uint64().Draw(t, "seed")
	step := rapid.SampledFrom([]float64{0.001, 0.01, 0.05, 0.2}).Draw(t, "step")
	quiet := rapid.SampledFrom([]float64{0, 0.5, 0.9, 1}).Draw(t, "quiet")
	return drawn{walk(seed, n, step), chatter(seed, n, quiet), configs(n).Draw(t, "config")}
}

func (d drawn) run(t rapid.TB) *Result {
	r, err := Backtest(d.bars, d.signals, d.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// near says whether two numbers agree to a share of a scale.
func near(a, b, share, scale float64) bool { return math.Abs(a-b) <= share*math.Abs(scale) }

func show(x *float64) string {
	if x == nil {
		return "null"
	}
	return fmt.Sprint(*x)
}
