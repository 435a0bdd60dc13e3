package neural

import (
	"cmp"
	"math"
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

// Check says what is wrong with the settings for a network with that number of outputs, if anything.
func (l LossSpec) Check(outputs int) error {
	l = l.withDefaults()
	var bad faults
	switch l.Name {
	case CrossEntropy, Focal:
		if outputs < 2 || outputs > math.MaxInt8+1 {
			bad.add("%s is a loss of classes and the network has %d outputs; it must have from 2 to 128", l.Name, outputs)
		}
		if n := len(l.ClassWeights); n > 0 && n != outputs {
			bad.add("there are %d class weights for %d classes", n, outputs)
		}
	case Huber, MSE:
		bad.when(outputs != 1, "%s is a loss of one number and the network has %d outputs; it must have 1", l.Name, outputs)
		bad.when(len(l.ClassWeights) > 0, "class weights are of cross_entropy and focal, not of %s", l.Name)
	default:
		bad.add("name is %q; it must be cross_entropy, focal, huber or mse", l.Name)
	}
	for i, w := range l.ClassWeights {
		bad.when(!(w >= 0 && w <= 1e6), "the weight of class %d is %g; it must be from 0 to 1e6", i, w)
	}
	bad.when(!(l.Gamma >= 0 && l.Gamma <= 100), "gamma is %g; it must be from 0 to 100", l.Gamma)
	bad.when(!(l.Delta > 0 && l.Delta <= 1e6), "delta is %g; it must be above 0 and at most 1e6", l.Delta)
	return bad.of("loss")
}
