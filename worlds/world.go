package worlds

import (
	"math"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// World makes markets. The same seed gives the same market.
type World struct {
	Name string
	Make func(symbol string, bars int, seed uint64) *market.Bars
}

// HoldoutShare is the share of the bars that is the holdout by default.
const HoldoutShare = 0.2

// DeadEdge is how strong the edge is that dies.
const DeadEdge = 0.3

// Worlds are those that can be made without files.
var Worlds = []World{
	{"random walk", walk(func(r *num.Rand) func() float64 { return r.Norm })},
	{"GARCH-t", walk(garch)},
	{"drift", walk(drift)},
	{"jumps", walk(jumps)},
	{"an edge that died", died},
}

// volatility is that of a bar.
const volatility = 0.001

// walk makes hourly bars of returns, in units of volatility.
func walk(returns func(*num.Rand) func() float64) func(string, int, uint64) *market.Bars {
	return func(symbol string, bars int, seed uint64) *market.Bars {
		r := num.NewRand(num.Mix(seed, 0x776f726c64))
		next := returns(r)
		b := &market.Bars{Symbol: symbol, Timeframe: market.H1}
		price, t := 1.0, time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC)
		for range bars {
			open := price
			price = open * num.Exp(float64(volatility*max(-40, min(40, next()))))
			reach := float64(volatility * math.Abs(r.Norm()) / 2)
			b.Append(market.Bar{
				Time: t.Unix(), Open: open, Close: price, High: max(open, price) * (1 + reach), Low: min(open, price) * (1 - reach), Volume: 100,
			})
			t = t.Add(time.Hour)
			if t.Weekday() == time.Saturday {
				t = t.AddDate(0, 0, 2)
			}
		}
		return b
	}
}

// garch has clusters of volatility and Student's t with 4 degrees of freedom.
func garch(r *num.Rand) func() float64 {
	const fresh, stay = 0.08, 0.90
	variance := 1.0
	return func() float64 {
		chi := 0.0
		for range 4 {
			z := r.Norm()
			chi += float64(z * z)
		}
		shock := r.Norm() / math.Sqrt(chi/4) / math.Sqrt2 // the variance of t with 4 degrees is 2
		x := float64(math.Sqrt(variance) * shock)
		variance = (1 - fresh - stay) + float64(fresh*min(x*x, 100)) + float64(stay*variance)
		return x
	}
}

// drift rises: holding it earns a Sharpe ratio of about 1.6 a year.
func drift(r *num.Rand) func() float64 {
	return func() float64 { return 0.02 + r.Norm() }
}

// jumps are rare and large.
func jumps(r *num.Rand) func() float64 {
	return func() float64 {
		x := r.Norm()
		if r.Float64() < 1.0/400 {
			x += float64(12 * r.Norm())
		}
		return x
	}
}

// died is the demo's market until the holdout begins. From there on it has no
// edge.
func died(symbol string, bars int, seed uint64) *market.Bars {
	alive := bars - int(float64(HoldoutShare*float64(bars)))
	b := market.Synth(market.SynthConfig{Symbol: symbol, Bars: alive, Seed: seed, Edge: DeadEdge})
	last := b.Time[b.Len()-1]
	after := market.Synth(market.SynthConfig{
		Symbol: symbol, Bars: bars - alive, Seed: num.Mix(seed, 1), Start: time.Unix(b.Timeframe.End(last), 0).UTC(),
	})
	factor := b.Close[b.Len()-1] / after.Open[0]
	for i := range after.Time {
		b.Append(market.Bar{
			Time: after.Time[i], Open: after.Open[i] * factor, High: after.High[i] * factor, Low: after.Low[i] * factor,
			Close: after.Close[i] * factor, Volume: after.Volume[i],
		})
	}
	return b
}

// Flipped makes a market of real bars: a window of them in which the direction
// of each bar is drawn again. Volatility, its clusters and its hours stay.
func Flipped(from *market.Bars) func(string, int, uint64) *market.Bars {
	return func(symbol string, bars int, seed uint64) *market.Bars {
		r := num.NewRand(num.Mix(seed, 0x666c6970))
		first := 1 + int(r.Uint64n(uint64(max(from.Len()-bars-1, 1))))
		b := &market.Bars{Symbol: symbol, Timeframe: from.Timeframe}
		price := from.Close[first-1]
		for i := first; i < min(first+bars, from.Len()); i++ {
			move := func(to float64) float64 { return to / from.Close[i-1] }
			open, high, low, end := move(from.Open[i]), move(from.High[i]), move(from.Low[i]), move(from.Close[i])
			if r.Float64() < 0.5 {
				open, high, low, end = 1/open, 1/low, 1/high, 1/end
			}
			b.Append(market.Bar{
				Time: from.Time[i], Open: price * open, High: price * high, Low: price * low, Close: price * end,
				Volume: from.Volume[i],
			})
			price *= end
		}
		return b
	}
}
