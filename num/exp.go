package num

import "math"

// Reciprocals of factorials: the Taylor coefficients of exp. On a reduced
// argument of at most ln2/2 the first one left out, 1/14!, weighs 2^-57.
const (
	f2  = 1.0 / 2
	f3  = 1.0 / 6
	f4  = 1.0 / 24
	f5  = 1.0 / 120
	f6  = 1.0 / 720
	f7  = 1.0 / 5040
	f8  = 1.0 / 40320
	f9  = 1.0 / 362880
	f10 = 1.0 / 3628800
	f11 = 1.0 / 39916800
	f12 = 1.0 / 479001600
	f13 = 1.0 / 6227020800
)

// ln2 in two parts. The high one has 32 significant bits, so that its product with an exponent is exact.
const (
	ln2Hi  = 0x1.62e42feep-1
	ln2Lo  = 0x1.a39ef35793c76p-33
	invLn2 = 0x1.71547652b82fep+0
)

const (
	expMax = 0x1.62e42fefa39efp+9  // the largest argument whose exp is finite
	expMin = -0x1.74910d52d3051p+9 // the smallest whose exp is not 0
)

// Exp returns e to the power x, within 1 ulp (2 where the result is subnormal).
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > expMax:
		return math.Inf(1)
	case x < expMin:
		return 0
	}
	return expSum(x, 0)
}

// expSum is e to the power x+lo, where lo is small beside x and the result is neither infinite nor 0.
func expSum(x, lo float64) float64 {
	h, l, k := expPair(x, lo)
	return scale(h+l, k)
}

// expPair is e to the power x+lo as h+l times two to the power k, with h between 0.7 and 1.5 and l below 0.1.
func expPair(x, lo float64) (h, l float64, k int) {
	n, r, tail := expReduce(x, lo)
	h = 1 + r
	l = r - (h - 1) // what h lost
	return h, l + (expTail(r) + tail), int(n)
}

// expReduce takes n times ln2 from x+lo and leaves r+tail, |r| <= ln2/2.
func expReduce(x, lo float64) (n, r, tail float64) {
	n = math.Floor(float64(x*invLn2) + 0.5)
	hi := x - float64(n*ln2Hi)
	lo -= float64(n * ln2Lo)
	r = hi + lo
	return n, r, (hi - r) + lo
}

// expTail is exp(r) - 1 - r for |r| <= ln2/2. The terms are paired so that the
// processor can work on several at once.
func expTail(r float64) float64 {
	r2 := r * r
	r4 := r2 * r2
	a := float64(r*f3) + f2
	b := float64(r*f5) + f4
	c := float64(r*f7) + f6
	d := float64(r*f9) + f8
	e := float64(r*f11) + f10
	f := float64(r*f13) + f12
	ab := float64(b*r2) + a
	cd := float64(d*r2) + c
	ef := float64(f*r2) + e
	return float64(r2 * (ab + float64(r4*(cd+float64(r4*ef)))))
}

// scale multiplies x, which lies between 1/2 and 2, by two to the power k, and rounds at most once.
func scale(x float64, k int) float64 {
	switch {
	case k > 1023:
		return float64(x * 0x1p1023 * twoTo(k-1023))
	case k < -1021:
		return float64(x * twoTo(k+1000) * 0x1p-1000)
	}
	return float64(x * twoTo(k))
}

// twoTo is two to the power k for a k whose result is a normal number.
func twoTo(k int) float64 { return math.Float64frombits(uint64(k+1023) << 52) }

// Sigmoid returns 1/(1+exp(-x)), within 1 ulp (2 where the result is subnormal).
func Sigmoid(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x < -708: // the result is near the subnormals, where 1+exp(x) is 1
		return Exp(x)
	case x > 40:
		return 1
	}
	h, l, k := expPair(-math.Abs(x), 0)
	h, l = twoSum(h, l)
	h, l = scale(h, k), float64(l*twoTo(k))
	d, dl := twoSum(1, h)
	if x < 0 {
		return quotient(h, l, d, dl+l)
	}
	return quotient(1, 0, d, dl+l)
}

// quotient is (n+nl)/(d+dl), nl and dl small beside n and d.
func quotient(n, nl, d, dl float64) float64 {
	q := n / d
	return q + (math.FMA(-q, d, n)+(nl-float64(q*dl)))/d
}
