package neural

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// The losses: two of classes, two of numbers.
const (
	CrossEntropy = "cross_entropy"
	Focal        = "focal"
	Huber        = "huber"
	MSE          = "mse"
)

// LossSpec says what training makes small. With w the sample's weight, y its
// class and p the probability that the network gives to y:
//
//	cross_entropy  sum(w*cw[y]*-log p) / sum(w*cw[y])
//	focal          sum(w*cw[y]*(1-p)^gamma*-log p) / sum(w)
//	huber          sum(w*(e²/2 if |e| <= delta, else delta*(|e|-delta/2))) / sum(w)
//	mse            sum(w*e²) / sum(w)
//
// A batch whose weights are all 0 has loss 0 and no gradient.
type LossSpec struct {
	Name         string    `json:"name,omitempty"`          // "" means cross_entropy
	Gamma        float64   `json:"gamma,omitempty"`         // focal: 0 is cross-entropy without its own mean
	Delta        float64   `json:"delta,omitempty"`         // huber: 0 means 0.01
	ClassWeights []float32 `json:"class_weights,omitempty"` // cw, one per output; none means 1 each
}

func (l LossSpec) withDefaults() LossSpec {
	l.Name = cmp.Or(l.Name, CrossEntropy)
	l.Delta = cmp.Or(l.Delta, 0.01)
	return l
}

// Classes tells whether the loss is one of classes, not of numbers.
func (l LossSpec) Classes() bool {
	return l.Name == "" || l.Name == CrossEntropy || l.Name == Focal
}

// Check says what is wrong with the settings for a network of so many outputs,
// if anything.
func (l LossSpec) Check(outputs int) error {
	l = l.withDefaults()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch l.Name {
	case CrossEntropy, Focal:
		if outputs < 2 || outputs > math.MaxInt8+1 {
			bad("%s is a loss of classes and the network has %d outputs; it must have from 2 to 128", l.Name, outputs)
		}
		if n := len(l.ClassWeights); n > 0 && n != outputs {
			bad("there are %d class weights for %d classes", n, outputs)
		}
	case Huber, MSE:
		if outputs != 1 {
			bad("%s is a loss of one number and the network has %d outputs; it must have 1", l.Name, outputs)
		}
		if len(l.ClassWeights) > 0 {
			bad("class weights are of cross_entropy and focal, not of %s", l.Name)
		}
	default:
		bad("name is %q; it must be cross_entropy, focal, huber or mse", l.Name)
	}
	for i, w := range l.ClassWeights {
		if !(w >= 0 && w <= 1e6) {
			bad("the weight of class %d is %g; it must be from 0 to 1e6", i, w)
		}
	}
	if !(l.Gamma >= 0 && l.Gamma <= 100) {
		bad("gamma is %g; it must be from 0 to 100", l.Gamma)
	}
	if !(l.Delta > 0 && l.Delta <= 1e6) {
		bad("delta is %g; it must be above 0 and at most 1e6", l.Delta)
	}
	if len(errs) > 0 {
		return fmt.Errorf("loss: %w", errors.Join(errs...))
	}
	return nil
}

// lossFunc is a loss with its room to compute in.
type lossFunc struct {
	LossSpec
	classes bool
	exp     []float64
}

func newLossFunc(l LossSpec, outputs int) lossFunc {
	l = l.withDefaults()
	l.ClassWeights = slices.Clone(l.ClassWeights)
	return lossFunc{LossSpec: l, classes: l.Classes(), exp: make([]float64, outputs)}
}

// weight is what the sample in that row counts in the mean.
func (l *lossFunc) weight(d *Dataset, row int32) float64 {
	w := d.weight(row)
	if l.Name == CrossEntropy && len(l.ClassWeights) > 0 {
		w = float64(w * float64(l.ClassWeights[d.Class[row]]))
	}
	return w
}

// of returns the loss of one sample times its weight, and whether the network
// chose the right class, or the right sign. If grad is not nil it receives the
// gradient of that divided by total. Sums and differences are float64: a
// probability near 1 needs the digits.
func (l *lossFunc) of(d *Dataset, row int32, outputs, grad []float32, total float64) (loss float64, right bool) {
	w := d.weight(row)
	if !l.classes {
		loss, slope := l.error(float64(outputs[0]) - float64(d.Target[row]))
		if grad != nil {
			grad[0] = narrow(slope * share(w, total))
		}
		return float64(loss * w), (outputs[0] > 0) == (d.Target[row] > 0)
	}
	y := int(d.Class[row])
	if len(l.ClassWeights) > 0 {
		w *= float64(l.ClassWeights[y])
	}
	s := softmaxOf(outputs, y, l.exp)
	loss, factor := s.minusLog, 1.0
	if l.Name == Focal {
		loss, factor = s.focal(l.Gamma)
	}
	if grad != nil {
		part := factor * share(w, total)
		for j, e := range l.exp {
			grad[j] = narrow(e / s.sum * part)
		}
		grad[y] = narrow(-s.rest * part)
	}
	return float64(loss * w), s.right
}

// error is the loss of an error and its derivative.
func (l *lossFunc) error(e float64) (loss, slope float64) {
	if l.Name == MSE {
		return e * e, 2 * e
	}
	if a := math.Abs(e); a > l.Delta {
		return l.Delta * (a - l.Delta/2), math.Copysign(l.Delta, e)
	}
	return e * e / 2, e
}

// chosen is the softmax of one row as seen from its true class.
type chosen struct {
	sum      float64 // of exp(output - largest output)
	p, rest  float64 // probability of the class, and of all others together
	minusLog float64 // -log p
	right    bool    // no other class is more likely, nor as likely and before it
}

// softmaxOf leaves exp(output - largest output) in exps.
func softmaxOf(outputs []float32, y int, exps []float64) chosen {
	best := 0
	for j, x := range outputs {
		if x > outputs[best] || x != x {
			best = j
		}
	}
	top, rest := float64(outputs[best]), 0.0
	for j, x := range outputs {
		exps[j] = 1
		if j != best {
			exps[j] = float64(num.Exp32(x - outputs[best]))
		}
		if j != y {
			rest += exps[j]
		}
	}
	s := chosen{sum: exps[y] + rest, right: best == y}
	s.p, s.rest = exps[y]/s.sum, rest/s.sum
	s.minusLog = num.Log(s.sum) + (top - float64(outputs[y]))
	return s
}

// focal is the focal loss, and what the gradient of -log p is multiplied by.
func (s *chosen) focal(gamma float64) (loss, factor float64) {
	switch {
	case gamma == 0:
		return s.minusLog, 1
	case s.rest == 0:
		return 0, 0
	}
	f := num.Pow(s.rest, gamma)
	return f * s.minusLog, f + float64(float64(gamma*f/s.rest)*float64(s.p*s.minusLog))
}

// share is w/total, and 0 where there is nothing to share.
func share(w, total float64) float64 {
	if total == 0 {
		return 0
	}
	return w / total
}

// narrow is x as a float32 that is not denormal.
func narrow(x float64) float32 { return num.Normal32(float32(x)) }

// Softmax turns rows of outputs of a classifier into probabilities, in place.
func Softmax(x []float32, classes int) {
	for ; len(x) >= classes; x = x[classes:] {
		row := x[:classes]
		top, sum := slices.Max(row), float32(0)
		for j, v := range row {
			row[j] = num.Exp32(v - top)
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
	}
}
