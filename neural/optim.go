package neural

import (
	"cmp"
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// The optimisers.
const (
	Adam  = "adam"
	AdamW = "adamw"
)

// OptimSpec says how weights follow their gradient.
type OptimSpec struct {
	Name         string       `json:"name,omitempty"`         // "" means Adam
	LearningRate float64      `json:"learning_rate"`          // 0 means 0.001
	WeightDecay  float64      `json:"weight_decay,omitempty"` // Adam adds it to the gradient, AdamW shrinks the weight
	Beta1        float64      `json:"beta1,omitempty"`        // 0 means 0.9
	Beta2        float64      `json:"beta2,omitempty"`        // 0 means 0.999
	Eps          float64      `json:"eps,omitempty"`          // 0 means 1e-8
	Clip         float64      `json:"clip,omitempty"`         // longest gradient; 0 means any
	Schedule     ScheduleSpec `json:"schedule,omitzero"`
}

func (o OptimSpec) withDefaults() OptimSpec {
	o.Name = cmp.Or(o.Name, Adam)
	o.LearningRate = cmp.Or(o.LearningRate, 0.001)
	o.Beta1 = cmp.Or(o.Beta1, 0.9)
	o.Beta2 = cmp.Or(o.Beta2, 0.999)
	o.Eps = cmp.Or(o.Eps, 1e-8)
	o.Schedule = o.Schedule.withDefaults()
	return o
}

// Check says what is wrong with the settings, if anything.
func (o OptimSpec) Check() error {
	o = o.withDefaults()
	var bad faults
	bad.when(o.Name != Adam && o.Name != AdamW, "name is %q; it must be adam or adamw", o.Name)
	bad.when(!(o.LearningRate > 0 && o.LearningRate <= 10), "learning_rate is %g; it must be above 0 and at most 10", o.LearningRate)
	bad.when(!(o.WeightDecay >= 0 && o.WeightDecay <= 10), "weight_decay is %g; it must be from 0 to 10", o.WeightDecay)
	for name, b := range map[string]float64{"beta1": o.Beta1, "beta2": o.Beta2} {
		bad.when(!(b > 0 && b <= 1-1e-7), "%s is %g; it must be above 0 and at most 0.9999999", name, b)
	}
	bad.when(!(o.Eps >= 1e-20 && o.Eps <= 1), "eps is %g; it must be from 1e-20 to 1", o.Eps)
	bad.when(!(o.Clip >= 0 && o.Clip <= 1e18), "clip is %g; it must be 0 for none, or a length up to 1e18", o.Clip)
	if err := o.Schedule.check(); err != nil {
		bad = append(bad, err)
	}
	return bad.of("optimizer")
}

// adamFactors are the constants of one step. The assembly reads this struct.
type adamFactors struct {
	clip         float32 // the gradient is multiplied by it
	decay        float32 // this much of the weight is added to the gradient
	shrink       float32 // the weight is multiplied by it
	beta1, keep1 float32 // keep1 = 1 - beta1
	beta2, keep2 float32
	rate         float32 // learning rate with both bias corrections
	eps          float32 // with the second moment's correction
}

// factors are those of step t, which counts from 1, at a learning rate. Adam is
//
//	w -= lr * m/(1-b1^t) / (sqrt(v/(1-b2^t)) + eps)
//
// and both sides of the fraction are multiplied by sqrt(1-b2^t) here, once, in
// place of a division per weight.
func (o OptimSpec) factors(t uint64, lr, clip float64) adamFactors {
	root := math.Sqrt(1 - power(o.Beta2, t))
	f := adamFactors{
		clip: float32(clip), decay: float32(o.WeightDecay), shrink: 1, beta1: float32(o.Beta1),
		keep1: float32(1 - o.Beta1), beta2: float32(o.Beta2), keep2: float32(1 - o.Beta2),
		rate: num.Normal32(float32(lr * root / (1 - power(o.Beta1, t)))), eps: float32(o.Eps * root),
	}
	if o.Name == AdamW {
		f.decay, f.shrink = 0, float32(1-float64(lr*o.WeightDecay))
	}
	return f
}

// power is b^n by squaring. It depends on n alone, so that no running product has to be saved.
func power(b float64, n uint64) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p = float64(p * b)
		}
		b = float64(b * b)
	}
	return p
}

// adamGo moves the weights one step.
func adamGo(w, m, v, g []float32, c *adamFactors) {
	m, v, g = m[:len(w)], v[:len(w)], g[:len(w)]
	for i, x := range w {
		d := add(mul(g[i], c.clip), mul(x, c.decay))
		m[i] = add(mul(m[i], c.beta1), mul(d, c.keep1))
		v[i] = add(mul(v[i], c.beta2), mul(mul(d, d), c.keep2))
		step := div(mul(m[i], c.rate), float32(math.Sqrt(float64(v[i])))+c.eps)
		w[i] = add(mul(x, c.shrink), -step)
	}
}
