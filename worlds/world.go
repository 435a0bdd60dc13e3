package worlds

import (
	"math"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// World makes markets without an edge. The same seed gives the same market.
type World struct {
	Name  string
	Make  func(symbol string, bars int, seed uint64) *market.Bars
	Costs string // at which it has none, as KTRDR_COSTS has them
}

// HoldoutShare is the share of the bars that is the holdout by default.
const HoldoutShare = 0.2

// DeadEdge is how strong the edge is that dies.
const DeadEdge = 0.3

// The costs that worlds are run at. Cheap lets every strategy trade almost for
// nothing: the harder case. Half and Fair are 0.5 and 1.5 basis points per side.
const (
	Cheap = "*=0.01/0/0"
	Half  = "*=0.5/0/0"
	Fair  = "*=0.5/0.5/1"
)

// Died is the world whose edge ends where the holdout begins.
const Died = "an edge that died"

// Worlds are those that can be made without files. [Flipped] makes one more from real bars.
var Worlds = []World{
	{"random walk", walk(func(r *num.Rand) func() float64 { return r.Norm }), Cheap},
	{"GARCH-t", walk(garch), Cheap},
	{"EGARCH with leverage", walk(egarch), Cheap},
	{"U-shaped volatility with weekend gaps", hourly(session), Cheap},
	{"drift", walk(drift), Cheap},
	{"bid-ask bounce below costs", walk(bounce), Fair},
	{"rounded prices", rounded, Fair},
	{"regimes of variance", walk(regimes), Cheap},
	{"jumps", walk(jumps), Cheap},
	{Died, died, Cheap},
	{Died + " at 0.5 bp", died, Half},
}

// volatility is that of a bar.
const volatility = 0.001

// walk makes hourly bars of returns, in units of volatility. Each bar opens at the last close.
func walk(returns func(*num.Rand) func() float64) func(string, int, uint64) *market.Bars {
	return hourly(func(r *num.Rand) func(int64, bool) (float64, float64) {
		next := returns(r)
		return func(int64, bool) (float64, float64) { return 0, next() }
	})
}

// hourly makes bars of moves in units of volatility: from the last close to the open
// of the bar at a time, and from there to its close. monday: a weekend was before it.
func hourly(moves func(*num.Rand) func(at int64, monday bool) (gap, move float64)) func(string, int, uint64) *market.Bars {
	return func(symbol string, bars int, seed uint64) *market.Bars {
		r := num.NewRand(num.Mix(seed, 0x776f726c64))
		next := moves(r)
		b := &market.Bars{Symbol: symbol, Timeframe: market.H1}
		price, c := 1.0, newCalendar()
		for range bars {
			gap, move := next(c.at, c.monday)
			open := price * moved(gap)
			price = open * moved(move)
			reach := float64(volatility * math.Abs(r.Norm()) / 2)
			b.Append(market.Bar{
				Time: c.at, Open: open, Close: price, High: max(open, price) * (1 + reach), Low: min(open, price) * (1 - reach), Volume: 100,
			})
			c.next()
		}
		return b
	}
}

// moved is the factor by which a move of x volatilities changes a price.
func moved(x float64) float64 { return num.Exp(float64(volatility * max(-40, min(40, x)))) }

// calendar gives the openings of hourly bars from Monday 00:00 to Friday 23:00 UTC.
type calendar struct {
	at     int64
	monday bool // the bar is the first after a weekend
}

const hour, day = 3600, 24 * 3600

func newCalendar() calendar {
	return calendar{at: time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC).Unix()}
}

func (c *calendar) next() { c.at, c.monday = opening(c.at) }

// opening is when the bar after the one at t opens, and whether a weekend is between them.
func opening(t int64) (at int64, monday bool) {
	const saturday = 2 // day 0, 1 January 1970, was a Thursday
	if t += hour; t%day == 0 && t/day%7 == saturday {
		return t + 2*day, true
	}
	return t, false
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
