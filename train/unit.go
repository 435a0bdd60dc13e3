package train

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/strategy"
)

// Unit is what a regression counts its targets in. Returns of an hour are a
// thousandth, and their squares nothing beside a weight decay or a min_delta;
// returns of a wild market are so large that each step is clipped. So a network
// is trained on targets whose size is about 1:
//
//	return ── ÷ unit ──▶ target ── network ──▶ output ── × unit ──▶ forecast
//
// It is the power of two nearest to the root mean square of the training part,
// which knows no later bar. A power of two loses no bit on either way, and
// without a shift what is above 0 stays above 0.
type Unit float64

// unitOf is the unit for the values of rows; 1 where they are all 0.
func unitOf(values []float32, rows []int32) Unit {
	sum := 0.0
	for _, row := range rows {
		x := float64(values[row])
		sum += float64(x * x)
	}
	size := math.Sqrt(sum / float64(len(rows)))
	if !(size > 0) || math.IsInf(size, 0) {
		return 1
	}
	fraction, exponent := math.Frexp(size)
	if fraction < math.Sqrt2/2 {
		exponent--
	}
	return Unit(math.Ldexp(1, min(max(exponent, -maxExponent), maxExponent)))
}

// maxExponent keeps the unit a number that a float32 can have, and can be divided by.
const maxExponent = 100

// value is the return that a target or an output stands for.
func (u Unit) value(x float32) float64 { return float64(float64(x) * float64(u)) }

// scale makes returns targets.
func (u Unit) scale(x []float32) {
	for i := range x {
		x[i] = float32(float64(x[i]) / float64(u))
	}
}

// unscale makes outputs forecasts.
func (u Unit) unscale(x []float32) {
	for i := range x {
		x[i] = float32(u.value(x[i]))
	}
}

// check refuses a unit that no training of the strategy can have made.
func (u Unit) check(s *strategy.Strategy) error {
	fraction, exponent := math.Frexp(float64(u))
	made := fraction == 0.5 && max(exponent, -exponent) <= maxExponent+1
	if s.Decisions.Output != strategy.Regression {
		made = u == 0
	}
	if !made {
		return fmt.Errorf("its target unit %v is not one of a model whose output is %s", float64(u), s.Decisions.Output)
	}
	return nil
}
