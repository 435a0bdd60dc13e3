package num

import "math"

// The float32 functions below use float32 operations only, in an order that is
// part of their definition, and no fused multiply-add: SIMD code that does the
// same operations lane by lane gives the same bits. None of them returns a
// denormal number (smaller than 2^-126): where the true value would be one, the
// result is 0, as it is on a CPU that flushes denormals to zero.

const (
	log2e32 = 0x1.715476p+0
	// ln 2 in two parts. The first has 16 bits, so that its product with a whole number below 256 is exact.
	ln2Hi32 = 0x1.62e4p-1
	ln2Lo32 = 0x1.7f7d1cp-20
	// Adding and subtracting 1.5*2^23 rounds to the nearest whole number.
	round32 = 0x1.8p+23

	// exp(r) = 1 + r + r²(e0 + e1 r + … + e4 r⁴) for |r| <= ln(2)/2.
	exp32c0 = 0x1.fffffcp-2
	exp32c1 = 0x1.555492p-3
	exp32c2 = 0x1.5558f2p-5
	exp32c3 = 0x1.1239e2p-7
	exp32c4 = 0x1.6a2434p-10

	// tanh(x) = x + x³(t0 + t1 x² + … + t4 x⁸) for |x| < tanh32split.
	tanh32c0    = -0x1.55554cp-2
	tanh32c1    = 0x1.110d3cp-3
	tanh32c2    = -0x1.b92bbap-5
	tanh32c3    = 0x1.595686p-6
	tanh32c4    = -0x1.9bba6ap-8
	tanh32split = 0.55

	exp32max     = 0x1.62e42ep+6  // the last x for which exp(x) is finite
	exp32min     = -0x1.5d589ep+6 // the last x for which exp(x) is not below 2^-126
	sigmoid32max = 88             // exp of it is finite, and 1/(1+exp(88)) is below 2^-126
	tanh32max    = 20             // tanh(10) is 1 in float32
)

// Exp32 is e to the power x, within 1.5 ulp; 0 below about -87.3.
func Exp32(x float32) float32 {
	switch {
	case x > exp32max:
		return float32(math.Inf(1))
	case x < exp32min:
		return 0
	case x != x:
		return x
	}
	p, n := exp32(x)
	half := n >> 1 // 2^n in two factors: 2^128 is no float32
	return float32(float32(p*pow2f(half)) * pow2f(n-half))
}

// exp32 returns p and n with exp(x) = p * 2^n.
func exp32(x float32) (p float32, n int32) {
	k := float32(x*log2e32) + round32
	k -= round32
	r := x - float32(k*ln2Hi32)
	r -= float32(k * ln2Lo32)
	q := float32(exp32c4*r) + exp32c3
	q = float32(q*r) + exp32c2
	q = float32(q*r) + exp32c1
	q = float32(q*r) + exp32c0
	q = float32(q*float32(r*r)) + r
	return q + 1, int32(k)
}

// pow2f is 2^n for -126 <= n <= 127.
func pow2f(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// Sigmoid32 is 1/(1+exp(-x)), within 2.5 ulp; 0 below about -87.3.
func Sigmoid32(x float32) float32 {
	x = -x
	if x > sigmoid32max {
		x = sigmoid32max
	}
	if x < -sigmoid32max+1 {
		x = -sigmoid32max + 1
	}
	if x != x {
		return x
	}
	p, n := exp32(x)
	y := 1 / (1 + float32(p*pow2f(n)))
	if y < 0x1p-126 {
		return 0
	}
	return y
}

// Tanh32 is the hyperbolic tangent, within 2.5 ulp.
func Tanh32(x float32) float32 {
	sign := math.Float32bits(x) & (1 << 31)
	a := math.Float32frombits(math.Float32bits(Normal32(x)) &^ (1 << 31))
	if a < tanh32split {
		u := float32(a * a)
		q := float32(tanh32c4*u) + tanh32c3
		q = float32(q*u) + tanh32c2
		q = float32(q*u) + tanh32c1
		q = float32(q*u) + tanh32c0
		y := float32(float32(q*u)*a) + a
		return math.Float32frombits(math.Float32bits(y) | sign)
	}
	if a != a {
		return x
	}
	a += a
	if a > tanh32max {
		a = tanh32max
	}
	p, n := exp32(a)
	y := 1 - 2/(1+float32(p*pow2f(n)))
	return math.Float32frombits(math.Float32bits(y) | sign)
}
