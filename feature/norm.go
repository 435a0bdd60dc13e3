package feature

import (
	"errors"
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/strategy"
)

// Norm is how raw features are scaled. It is fitted on training rows alone and
// kept with the model, so that validation, test and tomorrow's bars are scaled
// by what was known in training.
type Norm struct {
	Scales []Scale `json:"scales,omitempty"`
}

// Scale is the scaling of one feature: (x - Offset) / Unit.
type Scale struct {
	Feature string  `json:"feature"`
	Column  int     `json:"column"`
	Offset  float64 `json:"offset"` // the smallest value, or the mean
	Unit    float64 `json:"unit"`   // the range, or the standard deviation; 1 for a constant
}

// Fit finds how the raw features are scaled, from the given rows of m.
func Fit(m *Matrix, rows []int32) Norm { return FitAll([]*Matrix{m}, [][]int32{rows}) }

// FitAll is Fit over the rows of several symbols, whose matrices have the same
// features: one network sees them all, on one scale.
func FitAll(ms []*Matrix, rows [][]int32) Norm {
	var n Norm
	for k, how := range ms[0].Norms {
		var offset, unit float64
		switch how {
		case strategy.MinMax:
			offset, unit = extent(ms, rows, k)
		case strategy.ZScore:
			offset, unit = moments(ms, rows, k)
		case strategy.NoNorm:
			continue
		}
		if !(unit > 0) {
			unit = 1 // a constant becomes 0, and the pre-flight tells of it
		}
		n.Scales = append(n.Scales, Scale{ms[0].Names[k], k, offset, unit})
	}
	return n
}

func each(ms []*Matrix, rows [][]int32, k int, f func(x float64)) {
	for i, m := range ms {
		for _, r := range rows[i] {
			f(float64(m.X[int(r)*m.Stride+k]))
		}
	}
}

func extent(ms []*Matrix, rows [][]int32, k int) (least, span float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	each(ms, rows, k, func(x float64) { lo, hi = min(lo, x), max(hi, x) })
	if hi < lo {
		return 0, 0 // no rows
	}
	return lo, hi - lo
}

func moments(ms []*Matrix, rows [][]int32, k int) (mean, deviation float64) {
	n, sum, squares := 0.0, 0.0, 0.0
	each(ms, rows, k, func(x float64) { n++; sum += x })
	if n == 0 {
		return 0, 0
	}
	mean = sum / n
	each(ms, rows, k, func(x float64) { squares += float64((x - mean) * (x - mean)) })
	return mean, math.Sqrt(squares / n)
}

// Apply scales a matrix in place. It refuses one that is scaled already and
// one of other features.
func (n Norm) Apply(m *Matrix) error {
	if m.Scaled {
		return errors.New("the features are scaled already")
	}
	for _, s := range n.Scales {
		if s.Column < 0 || s.Column >= m.Cols || m.Names[s.Column] != s.Feature {
			return fmt.Errorf("feature %s is not column %d of these features: the model was made for others", s.Feature, s.Column)
		}
	}
	if len(n.Scales) > 0 {
		for i := range m.Rows {
			n.Row(m.Row(i))
		}
	}
	m.Scaled = true
	return nil
}

// Row scales one row in place.
func (n Norm) Row(x []float32) {
	for _, s := range n.Scales {
		x[s.Column] = float32((float64(x[s.Column]) - s.Offset) / s.Unit)
	}
}
