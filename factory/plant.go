package factory

import (
	"math"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

const jobsMaxSeed = jobs.MaxSeed

// Plant puts an edge into a copy: the bar after a stretched close drifts back towards the
// mean by strength times the deviation of the last bars. A close is stretched when it
// lies more than market.SynthStretch deviations from the mean of market.SynthWindow
// closes. Symbols are planted one by one; longer timeframes are made of the shortest.
func Plant(series []*market.Bars, strength float64) []*market.Bars {
	shortest := map[string]*market.Bars{}
	for _, b := range series {
		if known := shortest[b.Symbol]; known == nil || b.Timeframe.End(0) < known.Timeframe.End(0) {
			shortest[b.Symbol] = b
		}
	}
	out := make([]*market.Bars, len(series))
	made := map[string]*market.Bars{}
	for i, b := range series {
		base := shortest[b.Symbol]
		if made[b.Symbol] == nil {
			made[b.Symbol] = drifting(base, strength)
		}
		if out[i] = made[b.Symbol]; b != base {
			out[i] = joined(b, made[b.Symbol])
		}
	}
	return out
}

// drifting moves the close of each bar after a stretched close, and what follows with it.
func drifting(b *market.Bars, strength float64) *market.Bars {
	c := &market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
	for i := range b.Len() {
		x := b.At(i)
		if i > 0 {
			scale := c.Close[i-1] / b.Close[i-1]
			x.Open, x.High, x.Low, x.Close = x.Open*scale, x.High*scale, x.Low*scale, x.Close*scale
			if side := stretched(c.Close); side != 0 {
				x.Close *= num.Exp(-side * float64(strength*deviation(c.Close)))
				x.High, x.Low = max(x.High, x.Close), min(x.Low, x.Close)
			}
		}
		c.Append(x)
	}
	return c
}

// stretched is 1 where the last close is stretched upwards, -1 downwards, else 0.
func stretched(closes []float64) float64 {
	n := len(closes)
	if n < market.SynthWindow {
		return 0
	}
	window := closes[n-market.SynthWindow:]
	var mean, variance float64
	for _, x := range window {
		mean += x
	}
	mean /= market.SynthWindow
	for _, x := range window {
		variance += float64((x - mean) * (x - mean))
	}
	far := window[len(window)-1] - mean
	if limit := market.SynthStretch * math.Sqrt(variance/market.SynthWindow); math.Abs(far) <= limit || limit == 0 {
		return 0
	}
	return math.Copysign(1, far)
}

// deviation is the root mean square of the last returns.
func deviation(closes []float64) float64 {
	window := closes[len(closes)-market.SynthWindow:]
	var sum float64
	for i := 1; i < len(window); i++ {
		r := window[i]/window[i-1] - 1
		sum += float64(r * r)
	}
	return math.Sqrt(sum / float64(len(window)-1))
}

// KnownSharpe is the annual Sharpe ratio, net of costs, of the rule that knows the edge of
// Plant: from the open after a stretched close to the close, against the stretch. It
// stays in the position while closes stay stretched to the same side.
func KnownSharpe(b *market.Bars, costs instrument.Costs) *float64 {
	n := b.Len()
	if n <= market.SynthWindow+1 {
		return nil
	}
	var sum, squares, before float64
	count := n - market.SynthWindow
	for i := market.SynthWindow; i < n; i++ {
		side := -stretched(b.Close[:i])
		from := b.Open[i]
		if side == before {
			from = b.Close[i-1]
		}
		r := float64(side*(b.Close[i]/from-1)) - float64(math.Abs(side-before)*costs.PerSide())
		sum, squares, before = sum+r, squares+float64(r*r), side
	}
	mean := sum / float64(count)
	variance := squares/float64(count) - float64(mean*mean)
	years := float64(b.Time[n-1]-b.Time[0]) / (365.25 * 24 * 3600)
	if variance <= 0 || years <= 0 {
		return nil
	}
	return num.Finite(mean / math.Sqrt(variance) * math.Sqrt(float64(n)/years))
}
