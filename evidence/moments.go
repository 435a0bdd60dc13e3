package evidence

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// sample is a series whose moments all exist.
type sample struct {
	x                               []float64
	n                               float64
	mean, deviation, skew, kurtosis float64
}

// fewest is the least number of returns of which a spread can be told.
const fewest = 3

// noise is the spread, in proportion to the largest return, that rounding
// alone can give to returns that are all the same.
const noise = 1e-9

// measure fails, with a sentence, where the returns have no Sharpe ratio.
func measure(returns []float64) (sample, error) {
	s := sample{x: returns, n: float64(len(returns))}
	if len(returns) < fewest {
		return s, fmt.Errorf("%d returns are too few; there must be %d at least", len(returns), fewest)
	}
	largest := 0.0
	for i, v := range returns {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return s, fmt.Errorf("return %d is %v, which is not a number", i, v)
		}
		largest = max(largest, math.Abs(v))
	}
	m := num.Moments{Mean: num.Sum(returns) / s.n}
	for _, v := range returns {
		m.Add(v)
	}
	s.mean, s.deviation = m.Mean, m.Deviation()
	v := m.M2 / s.n
	if !(s.deviation > noise*largest) || v*v == 0 || math.IsInf(m.M4, 0) {
		return s, fmt.Errorf("the %d returns do not vary, so nothing can be said per unit of risk", len(returns))
	}
	s.skew, s.kurtosis = m.Skew(), m.Kurtosis()
	return s, nil
}

// Autocorrelations are those of x with itself 1 to lags bars earlier. A series
// that does not vary has none and gives nil.
func Autocorrelations(x []float64, lags int) []float64 {
	s, err := measure(x)
	if err != nil {
		return nil
	}
	total := s.deviation * s.deviation * (s.n - 1)
	rho := make([]float64, min(lags, len(x)-1))
	for k := range rho {
		sum := 0.0
		for i := k + 1; i < len(x); i++ {
			sum += float64((x[i] - s.mean) * (x[i-k-1] - s.mean))
		}
		rho[k] = sum / total
	}
	return rho
}

// LongRun is how many times larger the variance of the mean of x is than it
// would be if the bars were independent: above 1 where good bars follow good
// bars. It weighs the autocorrelations as Newey and West (1987) do, up to the
// lag 4(n/100)^(2/9). For a series that does not vary it is 1.
func LongRun(x []float64) float64 {
	if len(x) < fewest {
		return 1
	}
	lags := int(4 * num.Pow(float64(len(x))/100, 2.0/9))
	ratio := 1.0
	for k, rho := range Autocorrelations(x, lags) {
		ratio += float64(2 * (1 - float64(k+1)/float64(lags+1)) * rho)
	}
	return max(ratio, 0)
}
