package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Scale maps values to the range from 0 to 1.
type Scale struct {
	Min, Max float64
	Log      bool // both ends are above 0
}

// Fit is the smallest scale that holds every finite value of the series.
// Without one, and for a single value, it is as wide as 1.
func Fit(series ...[]float64) Scale {
	s := Scale{Min: math.Inf(1), Max: math.Inf(-1)}
	for _, values := range series {
		for _, v := range values {
			if finite(v) {
				s.Min, s.Max = min(s.Min, v), max(s.Max, v)
			}
		}
	}
	switch {
	case s.Min > s.Max:
		return Scale{Min: 0, Max: 1}
	case s.Min == s.Max:
		return Scale{Min: s.Min - 0.5, Max: s.Max + 0.5}
	}
	return s
}

// Pad widens the scale by a share of its length at both ends.
func (s Scale) Pad(share float64) Scale {
	if s.Log {
		f := math.Exp(math.Log(s.Max/s.Min) * share)
		return Scale{Min: s.Min / f, Max: s.Max * f, Log: true}
	}
	d := (s.Max - s.Min) * share
	return Scale{Min: s.Min - d, Max: s.Max + d}
}

// Include widens the scale so that it holds v.
func (s Scale) Include(v float64) Scale {
	s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	return s
}

// Logarithmic is the scale with a logarithmic axis, if its values allow one.
func (s Scale) Logarithmic() Scale {
	s.Log = s.Min > 0
	return s
}

// At is where v lies between the ends. Values outside are clamped to them.
func (s Scale) At(v float64) float64 {
	if s.Log {
		return clamp(math.Log(v/s.Min) / math.Log(s.Max/s.Min))
	}
	return clamp((v - s.Min) / (s.Max - s.Min))
}

// Holds reports whether v lies between the ends.
func (s Scale) Holds(v float64) bool { return v >= s.Min && v <= s.Max }

// Ticks are about n round values between the ends, in order.
func (s Scale) Ticks(n int) []float64 {
	span := s.Max - s.Min
	if !finite(span) || span <= 0 || n < 1 {
		return nil
	}
	step := roundStep(span / float64(n))
	var ticks []float64
	for i := math.Ceil(s.Min / step); i*step <= s.Max+step*1e-9; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// roundStep is 1, 2, 2.5 or 5 times a power of ten, the one nearest to d by
// ratio.
func roundStep(d float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(d)))
	off := func(factor float64) float64 { return math.Abs(math.Log(factor * power / d)) }
	return power * slices.MinFunc([]float64{1, 2, 2.5, 5, 10}, func(a, b float64) int { return cmp.Compare(off(a), off(b)) })
}

// Decimals is how many digits after the point tell two neighbouring ticks
// apart.
func Decimals(ticks []float64) int {
	if len(ticks) < 2 {
		return 2
	}
	step := math.Abs(ticks[1] - ticks[0])
	for d := range 8 {
		if scaled := step * math.Pow(10, float64(d)); math.Abs(scaled-math.Round(scaled)) < 1e-6*scaled {
			return d
		}
	}
	return 8
}

// Number writes v with a fixed number of decimals and a true minus sign.
func Number(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	if v < 0 && notZero(s) {
		return "−" + s
	}
	return s
}

// notZero reports whether a number has a digit other than 0.
func notZero(s string) bool {
	return slices.ContainsFunc([]byte(s), func(b byte) bool { return b >= '1' && b <= '9' })
}

func clamp(share float64) float64 { return min(max(share, 0), 1) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
