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
func Fit(m *Matrix, rows []int32) Norm {
	var n Norm
	for k, how := range m.Norms {
		var offset, unit float64
		switch how {
		case strategy.MinMax:
			least, most := valueRange(m, rows, k)
			offset, unit = least, most-least
		case strategy.ZScore:
			offset, unit = moments(m, rows, k)
		case strategy.NoNorm:
			continue
		}
		if !(unit > 0) {
			unit = 1 // a constant becomes 0, and the pre-flight reports it
		}
		n.Scales = append(n.Scales, Scale{m.Names[k], k, offset, unit})
	}
	return n
}

func moments(m *Matrix, rows []int32, k int) (mean, deviation float64) {
	if len(rows) == 0 {
		return 0, 0
	}
	n, sum, squares := float64(len(rows)), 0.0, 0.0
	for _, r := range rows {
		sum += float64(m.X[int(r)*m.Stride+k])
	}
	mean = sum / n
	for _, r := range rows {
		d := float64(m.X[int(r)*m.Stride+k]) - mean
		squares += float64(d * d)
	}
	return mean, math.Sqrt(squares / n)
}

// Apply scales a matrix in place. It refuses one that is scaled already and one of other features.
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
