package evidence

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// Sharpe is a Sharpe ratio with what is known about its error.
type Sharpe struct {
	Bars            int      `json:"bars"`
	PerBar          *float64 `json:"per_bar"`
	Annualized      *float64 `json:"annualized"`       // nil where the number of bars in a year is unknown
	Error           *float64 `json:"standard_error"`   // of PerBar
	AnnualizedError *float64 `json:"annualized_error"` // of Annualized
	LongRun         *float64 `json:"long_run"`         // see LongRun; above 1 it has widened the error
	Skew            *float64 `json:"skew"`
	Kurtosis        *float64 `json:"kurtosis"`
	Z               *float64 `json:"z"`                   // PerBar over the largest of its errors: see EstimateSharpe
	Undefined       string   `json:"undefined,omitempty"` // why there is no ratio
}

// Ratio is the annualized ratio, or the one per bar where a year is unknown.
func (s *Sharpe) Ratio() *float64 {
	if s.Annualized != nil {
		return s.Annualized
	}
	return s.PerBar
}

// Needed is about the ratio that would have had this one-sided p-value, with the
// error that Z uses; nil without one.
func (s *Sharpe) Needed(p float64) *float64 {
	ratio := s.Ratio()
	if ratio == nil || s.Z == nil || *s.Z == 0 {
		return nil
	}
	return num.Finite(-NormQuantile(p) * *ratio / *s.Z)
}

// EstimateSharpe measures the Sharpe ratio of returns per bar. barsPerYear is 0
// where it is unknown.
//
// The error is SharpeError's, widened where the bars hang together. Z is what
// verdicts use, and takes the side of doubt: its error is never smaller than
// that of normal independent returns without an edge, although a lucky jump
// upwards, by its skew, would make it so.
func EstimateSharpe(returns []float64, barsPerYear float64) Sharpe {
	r := Sharpe{Bars: len(returns)}
	s, err := measure(returns)
	if err != nil {
		r.Undefined = err.Error()
		return r
	}
	sr, together := s.mean/s.deviation, LongRun(returns)
	widen := math.Sqrt(max(together, 1))
	e := SharpeError(sr, len(returns), s.skew, s.kurtosis)
	r.PerBar, r.Error, r.LongRun = num.Finite(sr), num.Finite(e*widen), num.Finite(together)
	r.Skew, r.Kurtosis = num.Finite(s.skew), num.Finite(s.kurtosis)
	r.Z = num.Finite(sr / r.cautiousError())
	if barsPerYear > 0 {
		year := math.Sqrt(barsPerYear)
		r.Annualized, r.AnnualizedError = num.Finite(sr*year), num.Finite(e*widen*year)
	}
	return r
}

// cautiousError is the error of PerBar that Z uses: not below that of normal
// independent returns without an edge.
func (s *Sharpe) cautiousError() float64 {
	return max(*s.Error, math.Sqrt(max(*s.LongRun, 1)/float64(s.Bars-1)))
}

// SharpeError is the standard error of a Sharpe ratio sr that n independent
// returns of this skew and kurtosis gave (Mertens 2002; for normal returns,
// skew 0 and kurtosis 3, it is that of Lo 2002 but for n-1 in place of n).
func SharpeError(sr float64, n int, skew, kurtosis float64) float64 {
	if n < 2 {
		return math.NaN()
	}
	v := 1 - float64(skew*sr) + float64((kurtosis-1)/4*sr*sr)
	return math.Sqrt(max(v, 0) / float64(n-1))
}

// Decay is the loss of Sharpe ratio outside the data that the strategy was made with.
type Decay struct {
	InSample    *float64 `json:"in_sample"`     // annualized where possible, else per bar
	OutOfSample *float64 `json:"out_of_sample"` // the same
	Retention   *float64 `json:"retention"`     // how much of the first the second is
	Z           *float64 `json:"z"`             // of the fall, over the error of the difference
	Undefined   string   `json:"undefined,omitempty"`
}

// DecayOf compares the ratio on the data a strategy was made with to that on data it had not seen.
func DecayOf(in, out Sharpe) Decay {
	d := Decay{InSample: in.PerBar, OutOfSample: out.PerBar}
	if in.Annualized != nil && out.Annualized != nil {
		d.InSample, d.OutOfSample = in.Annualized, out.Annualized
	}
	switch {
	case in.PerBar == nil:
		d.Undefined = "in sample: " + in.Undefined
		return d
	case out.PerBar == nil:
		d.Undefined = "out of sample: " + out.Undefined
		return d
	case *in.PerBar <= 0:
		d.Undefined = "there was nothing to lose: the strategy did not earn anything in sample"
	default:
		d.Retention = num.Finite(*d.OutOfSample / *d.InSample)
	}
	fall := *in.PerBar - *out.PerBar
	d.Z = num.Finite(fall / math.Sqrt(float64(*in.Error**in.Error)+float64(*out.Error**out.Error)))
	return d
}
