package evidence

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

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
