package num

import "math"

// Moments are sums of powers of deviations from a mean. The mean is set before
// values are added: moments about a known mean lose nothing to cancellation,
// which sums of plain powers would.
type Moments struct {
	N          int
	Mean       float64
	M2, M3, M4 float64
}

// Add adds a value. Each sum has its own chain of additions.
func (m *Moments) Add(x float64) {
	d := x - m.Mean
	d2 := float64(d * d)
	m.N++
	m.M2 += d2
	m.M3 += float64(d2 * d)
	m.M4 += float64(d2 * d2)
}

// Deviation is the standard deviation of a sample.
func (m *Moments) Deviation() float64 { return math.Sqrt(m.M2 / float64(m.N-1)) }

// Skew is the third standardised moment, 0 for a symmetric distribution.
func (m *Moments) Skew() float64 {
	n, v := float64(m.N), m.M2/float64(m.N)
	return m.M3 / n / (v * math.Sqrt(v))
}

// Kurtosis is the fourth standardised moment, 3 for a normal distribution.
func (m *Moments) Kurtosis() float64 {
	n, v := float64(m.N), m.M2/float64(m.N)
	return m.M4 / n / (v * v)
}

// Finite is x, or nil where it is NaN or infinite, which JSON cannot hold.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Sum adds up x with an error that does not grow with its length: it keeps
// what each addition loses and adds that at the end.
func Sum(x []float64) float64 {
	var sum, lost float64
	for _, v := range x {
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += (sum - t) + v
		} else {
			lost += (v - t) + sum
		}
		sum = t
	}
	if math.IsNaN(lost) {
		return sum // an infinity came by: the plain sum says which
	}
	return sum + lost
}
