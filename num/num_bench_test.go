package num

import (
	"math"
	"testing"
)

// BenchmarkFunctions times each function beside the standard one.
func BenchmarkFunctions(b *testing.B) {
	for _, c := range []struct {
		name       string
		ours, std  func(float64) float64
		start, end float64
	}{
		{"exp", Exp, math.Exp, -10, 10},
		{"log", Log, math.Log, 0.1, 10},
		{"cos", Cos, math.Cos, -10, 10},
		{"pow", func(x float64) float64 { return Pow(x, 1.7) }, func(x float64) float64 { return math.Pow(x, 1.7) }, 0.1, 10},
	} {
		x := make([]float64, 1024)
		for i := range x {
			x[i] = c.start + (c.end-c.start)*float64(i)/float64(len(x))
		}
		run := func(f func(float64) float64) func(b *testing.B) {
			return func(b *testing.B) {
				sum := 0.0
				for i := 0; b.Loop(); i++ {
					sum += f(x[i%len(x)])
				}
				sink = sum
			}
		}
		b.Run(c.name+"/num", run(c.ours))
		b.Run(c.name+"/math", run(c.std))
	}
	r := NewRand(1)
	b.Run("norm", func(b *testing.B) {
		for b.Loop() {
			sink = r.Norm()
		}
	})
}

var sink float64
