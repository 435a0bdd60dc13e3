package num

import (
	"math"
	"math/bits"
)

// Log returns the natural logarithm of x, within 1 ulp.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	// log(1+f) = 2 atanh(s) with s = f/(2+f), written as f - f²/2 + s(f²/2+R)
	// so that the leading term is exact.
	m, e := split(x)
	f := m - 1
	s := f / (2 + f)
	half := float64(0.5 * f * f)
	z := float64(s * s)
	r := float64(z*(2.0/3)) + logTail(z)
	k := float64(e)
	return float64(k*ln2Hi) - ((half - (float64(s*(half+r)) + float64(k*ln2Lo))) - f)
}

// logTail is the series of 2 atanh(s)/s in z = s² from its third term, 2z²/5,
// on. With s at most 0.172 the first term left out weighs 2^-60.
func logTail(z float64) float64 {
	z2 := z * z
	z4 := z2 * z2
	a := float64(z*(2.0/7)) + 2.0/5
	b := float64(z*(2.0/11)) + 2.0/9
	c := float64(z*(2.0/15)) + 2.0/13
	d := float64(z*(2.0/19)) + 2.0/17
	ab := float64(b*z2) + a
	cd := float64(d*z2) + c
	return float64(z2 * (ab + float64(z4*(cd+float64(z4*(2.0/21))))))
}

// split writes a positive finite x as m times two to the power e, with m between sqrt(1/2) and sqrt(2).
func split(x float64) (m float64, e int) {
	const mantissa = 1<<52 - 1
	b := math.Float64bits(x)
	e = int(b >> 52)
	if e == 0 { // subnormal: bring the leading bit to where a normal number has it
		n := bits.LeadingZeros64(b) - 11
		b <<= n
		e = 1 - n
	}
	m = math.Float64frombits(b&mantissa | 1023<<52)
	e -= 1023
	if m > math.Sqrt2 {
		m *= 0.5
		e++
	}
	return m, e
}
