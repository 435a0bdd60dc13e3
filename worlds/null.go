package worlds

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// egarch has a volatility that falls in price raise more than rises do (Nelson 1991).
func egarch(r *num.Rand) func() float64 {
	const stay, size, leverage = 0.97, 0.12, -0.12
	mean := math.Sqrt(2 / math.Pi) // of the size of a normal number
	logVariance := 0.0
	return func() float64 {
		z := r.Norm()
		x := float64(num.Exp(logVariance/2) * z)
		logVariance = float64(stay*logVariance) + float64(size*(math.Abs(z)-mean)) + float64(leverage*z)
		logVariance = max(-3, min(3, logVariance))
		return x
	}
}

// weekendGap is the deviation of the gap over a weekend, in volatilities.
const weekendGap = 5

// session moves most when the day begins and ends, and opens with a gap after a weekend.
func session(r *num.Rand) func(int64, bool) (float64, float64) {
	return func(at int64, monday bool) (gap, move float64) {
		if monday {
			gap = float64(weekendGap * r.Norm())
		}
		return gap, float64(hourVolatility(at%day/hour) * r.Norm())
	}
}

// hourVolatility is the volatility of an hour of the day. The mean of its squares is about 1.
func hourVolatility(h int64) float64 {
	u := (float64(h) - 11.5) / 11.5
	return 0.5 + float64(1.1*u*u)
}

// bounceSize is half the spread between bid and ask, in volatilities: 1.4 basis
// points. Who always buys at the bid earns it on each side, and pays costs of 1.5.
const bounceSize = 0.14

// bounce has closes that are at the bid or at the ask of a random walk.
func bounce(r *num.Rand) func() float64 {
	last := 0.0
	return func() float64 {
		now := bounceSize
		if r.Float64() < 0.5 {
			now = -bounceSize
		}
		x := r.Norm() + now - last
		last = now
		return x
	}
}

// regimes are spells of calm and of turmoil, 250 bars each in the mean.
func regimes(r *num.Rand) func() float64 {
	const calm, turmoil, length = 0.5, 1.8, 250
	now, other := calm, turmoil
	return func() float64 {
		if r.Float64() < 1.0/length {
			now, other = other, now
		}
		return float64(now * r.Norm())
	}
}

// The grid of rounded prices. A price is off by 1 basis point at most when it
// starts, and by 1.5, the costs of a side, should it ever fall by a third.
const roundedStart, tick = 1.25, 0.00025

// rounded is a random walk of which only multiples of a tick are seen.
func rounded(symbol string, bars int, seed uint64) *market.Bars {
	exact := walk(func(r *num.Rand) func() float64 { return r.Norm })(symbol, bars, seed)
	grid := func(p float64) float64 { return max(math.Round(float64(p*roundedStart)/tick), 1) * tick }
	b := &market.Bars{Symbol: symbol, Timeframe: exact.Timeframe}
	for i := range exact.Time {
		x := exact.At(i)
		x.Open, x.Close = grid(x.Open), grid(x.Close)
		x.High, x.Low = max(x.Open, x.Close, grid(x.High)), min(x.Open, x.Close, grid(x.Low))
		b.Append(x)
	}
	return b
}
