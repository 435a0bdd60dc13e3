package fuzzy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/num"
)

// Shape is the form of a membership function.
//
//	triangular  [a, b, c]       0 ─/\─ 0    1 at b
//	trapezoidal [a, b, c, d]    0 ─/‾‾\─ 0  1 from b to c
//	gaussian    [mean, sigma]   e^(-z²/2)   1 at the mean, nowhere 0
//	sigmoid     [centre, slope] 0 ─/‾ 1     ½ at the centre; a negative slope falls
type Shape uint8

// The shapes.
const (
	Triangular Shape = iota + 1
	Trapezoidal
	Gaussian
	Sigmoid
)

// Shapes lists them all.
var Shapes = []Shape{Triangular, Trapezoidal, Gaussian, Sigmoid}

var shapes = map[Shape]struct {
	name   string
	params []string
}{
	Triangular:  {"triangular", []string{"a", "b", "c"}},
	Trapezoidal: {"trapezoidal", []string{"a", "b", "c", "d"}},
	Gaussian:    {"gaussian", []string{"mean", "sigma"}},
	Sigmoid:     {"sigmoid", []string{"centre", "slope"}},
}

// String is the shape's name in a strategy.
func (s Shape) String() string { return shapes[s].name }

// Params names the shape's parameters in order.
func (s Shape) Params() []string { return slices.Clone(shapes[s].params) }

// maxParam bounds parameters: past it differences of two of them would
// overflow, and no indicator reaches it.
const maxParam = 1e18

// Membership is one membership function. Its zero value is not valid; New and
// Parse make them.
//
// Shoulders are closed: with a = b a trapezoid is 1 at a, with c = d it is 1
// at d, and a triangle is 1 at b always. (The Python system leaves a box open
// at both ends: 0 there.) A value that is not a number has no degree of
// membership: it stays NaN.
type Membership struct {
	shape Shape
	p     [4]float64
}

// Parse makes a membership function from the name of its shape.
func Parse(kind string, params []float64) (Membership, error) {
	for _, s := range Shapes {
		if s.String() == kind {
			return New(s, params)
		}
	}
	names := make([]string, len(Shapes))
	for i, s := range Shapes {
		names[i] = s.String()
	}
	return Membership{}, fmt.Errorf("membership type %q is not one of %s", kind, strings.Join(names, ", "))
}

// New makes a membership function. It refuses a wrong number of parameters, a
// wrong order, and numbers that are not finite.
func New(s Shape, params []float64) (Membership, error) {
	names := shapes[s].params
	if len(params) != len(names) || len(names) == 0 {
		return Membership{}, fmt.Errorf("%s takes %d parameters [%s], got %d", s, len(names), strings.Join(names, ", "), len(params))
	}
	m := Membership{shape: s}
	for i, p := range params {
		if math.IsNaN(p) || math.Abs(p) > maxParam {
			return Membership{}, fmt.Errorf("%s parameter %s is %v, beyond what a membership may use (±%g)", s, names[i], p, maxParam)
		}
		m.p[i] = p + 0 // -0 becomes 0: two ways to write one membership would be two memberships
	}
	if err := m.check(); err != nil {
		return Membership{}, err
	}
	return m, nil
}

func (m Membership) check() error {
	switch m.shape {
	case Gaussian:
		if m.p[1] <= 0 {
			return fmt.Errorf("gaussian sigma is %v, and must be above 0", m.p[1])
		}
	case Sigmoid:
		if m.p[1] == 0 {
			return errors.New("sigmoid slope is 0: the membership would be ½ everywhere")
		}
	case Triangular, Trapezoidal:
		if p := m.Params(); !slices.IsSorted(p) {
			return fmt.Errorf("%s parameters %v are not in ascending order", m.shape, p)
		}
	}
	return nil
}

// Shape is the form of m.
func (m Membership) Shape() Shape { return m.shape }

// Params are the parameters of m, in the order New takes them.
func (m Membership) Params() []float64 { return slices.Clone(m.p[:len(shapes[m.shape].params)]) }

// At is the degree to which x is a member, between 0 and 1; NaN for NaN.
func (m Membership) At(x float64) float64 {
	switch m.shape {
	case Triangular:
		return slopes(x, m.p[0], m.p[1], m.p[1], m.p[2])
	case Trapezoidal:
		return slopes(x, m.p[0], m.p[1], m.p[2], m.p[3])
	case Gaussian:
		return bell(x, m.p[0], m.p[1])
	case Sigmoid:
		return num.Sigmoid(float64(m.p[1] * (x - m.p[0])))
	}
	panic("fuzzy: a Membership that New did not make")
}

// Apply writes the membership of every x into dst, which is at least as long,
// in the network's precision: float32(m.At(x)), bit for bit.
func (m Membership) Apply(dst []float32, x []float64) {
	dst = dst[:len(x)]
	p := m.p
	switch m.shape {
	case Triangular:
		for i, v := range x {
			dst[i] = float32(slopes(v, p[0], p[1], p[1], p[2]))
		}
	case Trapezoidal:
		for i, v := range x {
			dst[i] = float32(slopes(v, p[0], p[1], p[2], p[3]))
		}
	default:
		for i, v := range x {
			dst[i] = float32(m.At(v))
		}
	}
}

// slopes rises from a to b, is 1 to c, falls to d. The plateau is asked first,
// so that it holds where a slope has no width.
func slopes(x, a, b, c, d float64) float64 {
	switch {
	case x >= b && x <= c:
		return 1
	case x <= a || x >= d:
		return 0
	case x < b:
		return (x - a) / (b - a)
	}
	return (d - x) / (d - c) // NaN for NaN, the only other value that arrives here
}

func bell(x, mean, sigma float64) float64 {
	z := (x - mean) / sigma
	return num.Exp(float64(-0.5 * z * z))
}
