package evidence

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// Deflate is the probability that a z-value is above the best of that many
// trials without an edge (Bailey and López de Prado 2014). At 0.5 the z-value is
// the mean of the best by luck.
func Deflate(z float64, trials int) float64 { return NormCDF(z - expectedMax(trials)) }

// expectedMax approximates the mean of the largest of n standard normal numbers
// (Bailey and López de Prado 2014).
func expectedMax(n int) float64 {
	const eulerMascheroni = 0.57721566490153286060651209008240
	if n < 2 {
		return 0
	}
	one := 1 / float64(n)
	return float64((1-eulerMascheroni)*-NormQuantile(one)) + float64(eulerMascheroni*-NormQuantile(one/math.E))
}

// MinTrackRecordLength is how many returns it takes before a Sharpe ratio sr is
// known, with this confidence, to be above benchmark (Bailey and López de Prado
// 2012). It is nil where no number is enough, because sr is not above it.
func MinTrackRecordLength(sr, skew, kurtosis, benchmark, confidence float64) *float64 {
	if !(sr > benchmark) || !(confidence > 0 && confidence < 1) {
		return nil
	}
	v := 1 - float64(skew*sr) + float64((kurtosis-1)/4*sr*sr)
	z := NormQuantile(confidence) / (sr - benchmark)
	return num.Finite(1 + float64(max(v, 0)*z*z))
}
