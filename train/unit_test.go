package train

import (
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

func TestUnitOf_IsTheNearestPowerOfTwo(t *testing.T) {
	for name, c := range map[string]struct {
		values []float32
		want   Unit
	}{
		"about a thousandth":   {[]float32{0.0011, -0.0009}, 1.0 / 1024},
		"above the middle":     {[]float32{1.5, -1.5}, 2},
		"below the middle":     {[]float32{1.4, -1.4}, 1},
		"nothing ever happens": {[]float32{0, 0}, 1},
		"smaller than any":     {[]float32{1e-40, 1e-40}, Unit(math.Ldexp(1, -100))},
		"a later row is wild":  {[]float32{1, -1, 1e30}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unitOf(c.values, []int32{0, 1}); got != c.want {
				t.Errorf("unit %v, want %v", got, c.want)
			}
		})
	}
}

// TestUnit_TheNetworkSeesTheSameWhateverTheSize is why there is a unit: a market
// whose returns are 4096 times smaller trains the same network.
func TestUnit_TheNetworkSeesTheSameWhateverTheSize(t *testing.T) {
	s := &strategy.Strategy{Training: strategy.Training{Loss: strategy.Huber, HuberDelta: 0.01}}
	rows := []int32{0, 1, 2, 3}
	var targets [][]float32
	var losses []neural.LossSpec
	for _, size := range []float32{1, 1.0 / 4096} {
		x := []float32{0.01 * size, -0.02 * size, 0.005 * size, -0.03 * size}
		was := slices.Clone(x)
		ds := &Dataset{Unit: unitOf(x, rows)}
		ds.Unit.scale(x)
		s.Training.HuberDelta = 0.01 * float64(size)
		targets, losses = append(targets, slices.Clone(x)), append(losses, loss(s, ds))
		if ds.Unit.unscale(x); !slices.Equal(x, was) {
			t.Errorf("there and back %v is %v", was, x)
		}
	}
	if !slices.Equal(targets[0], targets[1]) || losses[0].Delta != losses[1].Delta {
		t.Errorf("targets %v and %v, deltas %v and %v; want the same", targets[0], targets[1], losses[0].Delta, losses[1].Delta)
	}
}

func TestUnitCheck_RefusesWhatNoTrainingMade(t *testing.T) {
	regression := &strategy.Strategy{Decisions: strategy.Decisions{Output: strategy.Regression}}
	classes := &strategy.Strategy{Decisions: strategy.Decisions{Output: strategy.Classification}}
	for name, c := range map[string]struct {
		s    *strategy.Strategy
		unit Unit
		ok   bool
	}{
		"a power of two":         {regression, 1.0 / 256, true},
		"the smallest":           {regression, Unit(math.Ldexp(1, -maxExponent)), true},
		"none":                   {regression, 0, false},
		"below 0":                {regression, -1, false},
		"not a power of two":     {regression, 0.3, false},
		"not a number":           {regression, Unit(math.NaN()), false},
		"without end":            {regression, Unit(math.Inf(1)), false},
		"a class has none":       {classes, 0, true},
		"a class that counts so": {classes, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.unit.check(c.s); (err == nil) != c.ok {
				t.Errorf("err = %v, want ok %v", err, c.ok)
			}
		})
	}
}
