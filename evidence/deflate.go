package evidence

import (
	"math"
)

// ProbabilisticSharpe is the confidence that the true Sharpe ratio is above
// benchmark when n returns of this skew and kurtosis gave sr (Bailey and López
// de Prado 2012). All ratios are per bar.
func ProbabilisticSharpe(sr float64, n int, skew, kurtosis, benchmark float64) float64 {
	d := sr - benchmark
	if d == 0 {
		return 0.5
	}
	return NormCDF(d / SharpeError(sr, n, skew, kurtosis))
}

// ExpectedMaxSharpe is the Sharpe ratio that the best of so many independent
// trials is expected to have when none has an edge and their ratios vary with
// this variance (Bailey and López de Prado 2014). One trial has no best: 0.
func ExpectedMaxSharpe(trials int, variance float64) float64 {
	return math.Sqrt(variance) * expectedMax(trials)
}

// expectedMax is about the mean of the largest of n standard normal numbers.
func expectedMax(n int) float64 {
	const eulerMascheroni = 0.57721566490153286060651209008240
	if n < 2 {
		return 0
	}
	one := 1 / float64(n)
	return float64((1-eulerMascheroni)*-NormQuantile(one)) + float64(eulerMascheroni*-NormQuantile(one/math.E))
}

// DeflatedSharpe is the confidence that the true Sharpe ratio is above 0 when
// sr is the best of so many trials: ProbabilisticSharpe against the ratio that
// the best of them would have by luck.
func DeflatedSharpe(sr float64, n int, skew, kurtosis float64, trials int, variance float64) float64 {
	return ProbabilisticSharpe(sr, n, skew, kurtosis, ExpectedMaxSharpe(trials, variance))
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
	return figure(1 + float64(max(v, 0)*z*z))
}

// EffectiveTrials is how many independent trials the given number of trials
// amounts to when their returns have this mean correlation: all of them at 0,
// one at 1 (Bailey and López de Prado 2014, appendix 3). Verdicts do not use
// it: they count every trial, which can only err on the side of doubt.
func EffectiveTrials(trials int, meanCorrelation float64) float64 {
	if trials < 2 {
		return float64(max(trials, 0))
	}
	rho := min(max(meanCorrelation, 0), 1)
	return rho + float64((1-rho)*float64(trials))
}

// MeanCorrelation is the mean of the correlations between every two of the
// series, which must be of one length. Series that do not vary are left out;
// it is nil where fewer than two are left.
func MeanCorrelation(series [][]float64) *float64 {
	// The mean of all pairs follows from one pass: the squared norm of the sum
	// of the standardized series is their count plus twice the pairs' sum.
	var sum []float64
	count := 0.0
	for _, x := range series {
		s, err := measure(x)
		if err != nil {
			continue
		}
		if sum == nil {
			sum = make([]float64, len(x))
		}
		if len(x) != len(sum) {
			return nil
		}
		unit := s.deviation * math.Sqrt(s.n-1)
		for i, v := range x {
			sum[i] += (v - s.mean) / unit
		}
		count++
	}
	if count < 2 {
		return nil
	}
	norm := 0.0
	for _, v := range sum {
		norm += float64(v * v)
	}
	return figure((norm - count) / (count * (count - 1)))
}
