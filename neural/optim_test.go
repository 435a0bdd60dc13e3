package neural

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// Adam and AdamW from their papers, in float64.
func TestOptimisersFollowTheirDefinition(t *testing.T) {
	eachKernel(t, func(t *testing.T, k Kernel) {
		for _, name := range []string{Adam, AdamW} {
			o := OptimSpec{Name: name, LearningRate: 0.01, WeightDecay: 0.05}.withDefaults()
			r := num.NewRand(1)
			var w, m, v, g [lanes]float32
			for i := range w {
				w[i] = float32(r.Norm())
			}
			want, mean, square := float64(w[3]), 0.0, 0.0
			for step := 1; step <= 50; step++ {
				for i := range g {
					g[i] = float32(r.Norm())
				}
				f := o.factors(uint64(step), o.LearningRate, 0.5)
				k.ops.adam(w[:], m[:], v[:], g[:], &f)
				d := 0.5 * float64(g[3])
				if name == Adam {
					d += o.WeightDecay * want
				} else {
					want *= 1 - o.LearningRate*o.WeightDecay
				}
				mean = o.Beta1*mean + (1-o.Beta1)*d
				square = o.Beta2*square + (1-o.Beta2)*d*d
				m1, v1 := mean/(1-math.Pow(o.Beta1, float64(step))), square/(1-math.Pow(o.Beta2, float64(step)))
				want -= o.LearningRate * m1 / (math.Sqrt(v1) + o.Eps)
			}
			if got := float64(w[3]); math.Abs(got-want) > 1e-5 {
				t.Errorf("%s: the weight is %g after 50 steps, want %g", name, got, want)
			}
		}
	})
}
