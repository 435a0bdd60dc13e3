package label

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// ewmMean is the exponentially weighted mean of what was added, alpha = 2/(span+1),
// each value weighted by its age and the weights summing to 1 from the first value on.
type ewmMean struct {
	decay       float64
	sum, weight float64
}

func newEwmMean(span int) ewmMean { return ewmMean{decay: 1 - 2/(float64(span)+1)} }

func (m *ewmMean) add(x float64) float64 {
	m.sum = float64(m.decay*m.sum) + x
	m.weight = float64(m.decay*m.weight) + 1
	return m.sum / m.weight
}

// ewmDeviation is the exponentially weighted standard deviation of what was
// added, corrected for bias; NaN until there are two values. It carries the
// sum of squared differences from the mean, so that nothing cancels.
type ewmDeviation struct {
	decay            float64
	mean, squares    float64
	weight, weights2 float64 // sum of the weights, and of their squares
	count            int
}

func newEwmDeviation(span int) ewmDeviation { return ewmDeviation{decay: 1 - 2/(float64(span)+1)} }

func (d *ewmDeviation) add(x float64) float64 {
	d.count++
	old := float64(d.decay * d.weight)
	d.weight = old + 1
	d.weights2 = float64(d.decay*d.decay*d.weights2) + 1
	diff := x - d.mean
	d.squares = float64(d.decay*d.squares) + float64(old/d.weight*diff*diff)
	d.mean += diff / d.weight
	if d.count < 2 {
		return math.NaN()
	}
	unbias := d.weight - d.weights2/d.weight
	return math.Sqrt(d.squares / unbias)
}

// rangeVolatility is the exponentially weighted mean of (high-low)/close. It sees no gap between bars.
func rangeVolatility(high, low, c []float64, span int) []float64 {
	out, m := make([]float64, len(c)), newEwmMean(span)
	for i := range out {
		out[i] = m.add((high[i] - low[i]) / c[i])
	}
	return out
}

// returnVolatility is the exponentially weighted deviation of log returns; NaN on the first two bars.
func returnVolatility(returns []float64, span int) []float64 {
	out, d := make([]float64, len(returns)), newEwmDeviation(span)
	for i := range out {
		if i == 0 {
			out[i] = math.NaN()
			continue
		}
		out[i] = d.add(returns[i])
	}
	return out
}

// logReturns is the logarithm of each close over the one before; 0 at bar 0, which has none before it.
func logReturns(c []float64) []float64 {
	out := make([]float64, len(c))
	for i := 1; i < len(c); i++ {
		out[i] = num.Log(c[i] / c[i-1])
	}
	return out
}
