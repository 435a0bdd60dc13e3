package num

import "math"

// Pow returns x to the power y, within 1 ulp, with the special cases of math.Pow.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case math.IsNaN(x) || math.IsNaN(y):
		return math.NaN()
	case math.IsInf(y, 0):
		return powInfinite(math.Abs(x), y > 0)
	}
	integer, odd := parity(y)
	switch {
	case x == 0 || math.IsInf(x, 0):
		r := 0.0
		if (x == 0) == (y < 0) {
			r = math.Inf(1)
		}
		if odd {
			return math.Copysign(r, x)
		}
		return r
	case x < 0 && !integer:
		return math.NaN()
	}
	r := powPositive(math.Abs(x), y)
	if x < 0 && odd {
		return -r
	}
	return r
}

// powInfinite is a to the power plus or minus infinity, a >= 0.
func powInfinite(a float64, up bool) float64 {
	switch {
	case a == 1:
		return 1
	case (a > 1) == up:
		return math.Inf(1)
	}
	return 0
}

// parity tells whether the finite y is a whole number, and an odd one.
func parity(y float64) (integer, odd bool) {
	if math.Floor(y) != y {
		return false, false
	}
	h := y * 0.5
	return true, math.Floor(h) != h
}

// powPositive is exp(y log x) for finite x > 0. The logarithm carries about 65
// bits, since the exponential magnifies its error by up to 745.
func powPositive(x, y float64) float64 {
	switch {
	case x == 1:
		return 1
	case math.Abs(y) > 0x1p64: // y log x is far out of range, and its product might not even be finite
		return powInfinite(x, y > 0)
	}
	h, l := logPair(x)
	p := float64(y * h)
	q := math.FMA(y, h, -p) + float64(y*l)
	switch {
	case p > expMax+1:
		return math.Inf(1)
	case p < expMin-1:
		return 0
	}
	return expSum(p, q)
}

// logPair is the natural logarithm of x as a sum of two numbers, the second small beside the first.
func logPair(x float64) (hi, lo float64) {
	m, e := split(x)
	f := m - 1
	d := 2 + f
	dl := (2 - d) + f
	s := f / d
	sl := (math.FMA(-s, d, f) - float64(s*dl)) / d // f/(2+f) = s + sl

	// s² and s³ as pairs: their leading coefficient 2/3 decides the bits that
	// the rest of the series cannot reach.
	z := float64(s * s)
	zl := math.FMA(s, s, -z) + float64(2*s*sl)
	c := float64(z * s)
	cl := math.FMA(z, s, -c) + (float64(z*sl) + float64(zl*s))
	const third, thirdLo = 2.0 / 3, 0x1.5555555555555p-55 // 2/3 = third + thirdLo
	t := float64(c * third)
	tl := math.FMA(c, third, -t) + (float64(c*thirdLo) + float64(cl*third))
	tl += float64(s * logTail(z))

	k := float64(e)
	hi, lo = twoSum(float64(k*ln2Hi), float64(2*s))
	hi, t = twoSum(hi, t)
	lo += t + (float64(k*ln2Lo) + (float64(2*sl) + tl))
	return twoSum(hi, lo)
}

// twoSum is a+b rounded, and what the rounding lost.
func twoSum(a, b float64) (sum, lost float64) {
	sum = a + b
	v := sum - a
	return sum, (a - (sum - v)) + (b - v)
}
