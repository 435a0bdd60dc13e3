package fuzzy

import "math"

// Faint is the degree below which a membership says nothing: a network cannot
// tell it from 0.
const Faint = 1e-6

// Coverage tells how well a fuzzy set covers the values it is given. Values
// that no membership covers are a dead zone: the network sees zeros there and
// cannot know whether the value is far above or far below.
type Coverage struct {
	Values    int     // how many were looked at
	Undefined int     // of those, NaN
	Dead      int     // of those, defined but in no membership
	Members   []Range // per membership, over the defined values
}

// Range is what a membership took on.
type Range struct {
	Min, Max float64 // NaN when no value was defined
}

// Constant says that the membership had one value throughout: it carries no
// information and is an input for nothing.
func (r Range) Constant() bool { return !(r.Max-r.Min > Faint) }

// Share is the part of the values about which the set says nothing, 0 to 1.
func (c Coverage) Share() float64 {
	if c.Values == 0 {
		return 0
	}
	return float64(c.Undefined+c.Dead) / float64(c.Values)
}

// Cover reports how the memberships of one set cover the values of x.
func Cover(set []Membership, x []float64) Coverage {
	c := Coverage{Values: len(x), Members: make([]Range, len(set))}
	for i := range c.Members {
		c.Members[i] = Range{Min: math.Inf(1), Max: math.Inf(-1)}
	}
	for _, v := range x {
		if math.IsNaN(v) {
			c.Undefined++
			continue
		}
		dead := true
		for i, m := range set {
			d := m.At(v)
			dead = dead && d < Faint
			r := &c.Members[i]
			r.Min, r.Max = min(r.Min, d), max(r.Max, d)
		}
		if dead {
			c.Dead++
		}
	}
	if c.Undefined == c.Values {
		for i := range c.Members {
			c.Members[i] = Range{Min: math.NaN(), Max: math.NaN()}
		}
	}
	return c
}
