package fuzzy_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/fuzzy"
)

func TestParse_RefusesWhatHasNoMeaning(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		params []float64
		says   string
	}{
		"a shape that does not exist":   {"triangle", []float64{0, 1, 2}, "not one of triangular"},
		"a triangle with four corners":  {"triangular", []float64{0, 1, 2, 3}, "takes 3 parameters [a, b, c], got 4"},
		"corners that go back":          {"trapezoidal", []float64{0, 2, 1, 3}, "not in ascending order"},
		"a bell without width":          {"gaussian", []float64{50, 0}, "above 0"},
		"a flat sigmoid":                {"sigmoid", []float64{50, 0}, "½ everywhere"},
		"a corner that is not a number": {"triangular", []float64{0, math.NaN(), 2}, "parameter b is NaN"},
		"a corner at infinity":          {"trapezoidal", []float64{0, 1, 2, math.Inf(1)}, "parameter d is +Inf"},
		"no parameters":                 {"gaussian", nil, "got 0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fuzzy.Parse(c.kind, c.params)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("err = %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestAt_SigmoidIsHalfAtItsCentreAndFallsWithANegativeSlope(t *testing.T) {
	up, down := must(fuzzy.Sigmoid, 50, 0.2), must(fuzzy.Sigmoid, 50, -0.2)
	if up.At(50) != 0.5 || down.At(50) != 0.5 {
		t.Errorf("at the centre: %v and %v, want 0.5", up.At(50), down.At(50))
	}
	if got, want := up.At(60), 1/(1+math.Exp(-2)); math.Abs(got-want) > 1e-15 {
		t.Errorf("rising at 60 = %v, want %v", got, want)
	}
	if !(down.At(60) < 0.2 && down.At(40) > 0.8) {
		t.Errorf("falling: %v at 60, %v at 40", down.At(60), down.At(40))
	}
}

// anyMembership draws from every shape, degenerate corners included.
func anyMembership(rt *rapid.T) fuzzy.Membership {
	s := rapid.SampledFrom(fuzzy.Shapes).Draw(rt, "shape")
	at := rapid.OneOf(rapid.Float64Range(-100, 100), rapid.SampledFrom([]float64{0, 1, 1, -1e18, 1e18}))
	first, step := at.Draw(rt, "first"), rapid.SampledFrom([]float64{0, 0, 1e-300, 1e-9, 1, 50})
	var p []float64
	switch s {
	case fuzzy.Gaussian, fuzzy.Sigmoid:
		p = []float64{first, rapid.SampledFrom([]float64{1e-18, 0.5, 10, 1e18}).Draw(rt, "width")}
	default:
		p = append(p, first)
		for range len(s.Params()) - 1 {
			p = append(p, min(p[len(p)-1]+step.Draw(rt, "step"), 1e18))
		}
	}
	return must(s, p...)
}

func TestApply_GivesTheBitsOfAtAndStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := anyMembership(rt)
		x := rapid.SliceOfN(rapid.Float64(), 0, 20).Draw(rt, "x")
		x = append(x, m.Params()...)
		x = append(x, math.NaN(), math.Inf(1), math.Inf(-1))
		got := make([]float32, len(x))
		m.Apply(got, x)
		for i, v := range x {
			want := m.At(v)
			if math.Float32bits(got[i]) != math.Float32bits(float32(want)) {
				rt.Fatalf("Apply gives %v at %v, At gives %v", got[i], v, want)
			}
			if math.IsNaN(v) != math.IsNaN(want) || want < 0 || want > 1 {
				rt.Fatalf("membership of %v is %v", v, want)
			}
		}
	})
}

func TestAt_IsOneOnThePlateauWhateverTheSlopes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := anyMembership(rt)
		p := m.Params()
		switch m.Shape() {
		case fuzzy.Triangular, fuzzy.Gaussian:
			if top := p[len(p)-2]; m.At(top) != 1 {
				rt.Fatalf("%v %v at its top = %v", m.Shape(), p, m.At(top))
			}
		case fuzzy.Trapezoidal:
			if m.At(p[1]) != 1 || m.At(p[2]) != 1 {
				rt.Fatalf("trapezoidal %v: %v at b, %v at c", p, m.At(p[1]), m.At(p[2]))
			}
		case fuzzy.Sigmoid:
		}
	})
}

func BenchmarkApply(b *testing.B) {
	x, dst := make([]float64, 4096), make([]float32, 4096)
	for i := range x {
		x[i] = float64(i%100) + 0.5
	}
	for _, m := range []fuzzy.Membership{
		must(fuzzy.Triangular, 0, 50, 100), must(fuzzy.Trapezoidal, 0, 30, 60, 100),
		must(fuzzy.Gaussian, 50, 10), must(fuzzy.Sigmoid, 50, 0.1),
	} {
		b.Run(m.Shape().String(), func(b *testing.B) {
			for b.Loop() {
				m.Apply(dst, x)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/value")
		})
	}
}
