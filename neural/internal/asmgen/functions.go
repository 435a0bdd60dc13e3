package main

import "math"

// The constants and the order of operations are those of num.Exp32, num.Tanh32
// and num.Sigmoid32: a test holds the bits together.

func (f *file) f32(x float32) string { return f.word(math.Float32bits(x)) }

const (
	signBit  = 1 << 31
	restBits = 1<<31 - 1
)

// horner computes a polynomial of x, coefficients from the highest power down.
func (f *file) horner(x reg, c ...float32) reg {
	q := f.take()
	f.op("VMULPS", f.f32(c[0]), x, q)
	for i, v := range c[1:] {
		if i > 0 {
			f.op("VMULPS", x, q, q)
		}
		f.op("VADDPS", f.f32(v), q, q)
	}
	return q
}

// exp replaces x by e to the power x, for x from -87.3 to 88.
func (f *file) exp(x reg) {
	k, t := f.take(), f.take()
	f.op("VMULPS", f.f32(0x1.715476p+0), x, k)
	f.op("VROUNDPS", "$0", k, k)
	f.op("VMULPS", f.f32(0x1.62e4p-1), k, t)
	f.op("VSUBPS", t, x, x)
	f.op("VMULPS", f.f32(0x1.7f7d1cp-20), k, t)
	f.op("VSUBPS", t, x, x)
	q := f.horner(x, 0x1.6a2434p-10, 0x1.1239e2p-7, 0x1.5558f2p-5, 0x1.555492p-3, 0x1.fffffcp-2)
	f.op("VMULPS", x, x, t)
	f.op("VMULPS", t, q, q)
	f.op("VADDPS", x, q, q)
	f.op("VADDPS", f.f32(1), q, q)
	f.op("VCVTPS2DQ", k, k)
	f.op("VPADDD", f.word(127), k, k)
	f.op("VPSLLD", "$23", k, k)
	f.op("VMULPS", k, q, x)
	f.free(k, t, q)
}

// expBelow replaces x by e to the power x, for x that are not above 0: zero where
// that is smaller than any number that is not denormal.
func (f *file) expBelow(x reg) {
	const least = -0x1.5d589ep+6
	zero := f.load(f.f32(least))
	f.op("VCMPPS", "$0x11", zero, x, zero) // x < least
	f.atLeast(x, least)
	f.exp(x)
	f.op("VANDNPS", x, zero, x)
	f.free(zero)
}

func (f *file) f64(x float64) string { return f.long(math.Float64bits(x)) }

// pair computes z*a + b.
func (f *file) pair(z reg, a, b float64) reg {
	r := f.take()
	f.op("VMULPD", f.f64(a), z, r)
	f.op("VADDPD", f.f64(b), r, r)
	return r
}

// join replaces x by x + y*z and frees y.
func (f *file) join(x, y, z reg) {
	f.op("VMULPD", z, y, y)
	f.op("VADDPD", y, x, x)
	f.free(y)
}

// log64 replaces x by its logarithm as num.Log computes it, for numbers that are not below 1; NaN stays NaN.
func (f *file) log64(x reg) {
	k, m, t := f.take(), f.take(), f.take()
	f.op("VPSRLQ", "$52", x, k) // the exponent, as the last bits of a float64
	f.op("VPOR", f.f64(0x1p52), k, k)
	f.op("VSUBPD", f.f64(0x1p52+1023), k, k)
	f.op("VPAND", f.long(1<<52-1), x, m)
	f.op("VPOR", f.f64(1), m, m)
	f.op("VSUBPD", x, x, x)                          // 0, or NaN
	f.op("VCMPPD", "$0x1e", f.f64(math.Sqrt2), m, t) // m > sqrt(2): halve it
	half := f.take()
	f.op("VMULPD", f.f64(0.5), m, half)
	f.op("VBLENDVPD", t, half, m, m)
	f.op("VANDPD", f.f64(1), t, t)
	f.op("VADDPD", t, k, k)
	s, z := m, t
	f.op("VSUBPD", f.f64(1), m, half) // f, the fraction
	f.op("VADDPD", f.f64(2), half, z)
	f.op("VDIVPD", z, half, s)
	fraction := half
	half = f.take()
	f.op("VMULPD", f.f64(0.5), fraction, half)
	f.op("VMULPD", fraction, half, half)
	f.op("VMULPD", s, s, z)
	r := f.logTail(z)
	f.op("VMULPD", f.f64(2.0/3), z, z)
	f.op("VADDPD", r, z, r)
	f.op("VADDPD", r, half, r)
	f.op("VMULPD", r, s, r)
	f.op("VMULPD", f.f64(0x1.a39ef35793c76p-33), k, z)
	f.op("VADDPD", z, r, r)
	f.op("VSUBPD", r, half, half)
	f.op("VSUBPD", fraction, half, half)
	f.op("VMULPD", f.f64(0x1.62e42feep-1), k, k)
	f.op("VSUBPD", half, k, k)
	f.op("VADDPD", k, x, x)
	f.free(k, m, t, half, fraction, r)
}

// logTail is num's function of that name.
func (f *file) logTail(z reg) reg {
	z2, z4 := f.take(), f.take()
	f.op("VMULPD", z, z, z2)
	f.op("VMULPD", z2, z2, z4)
	ab := f.pair(z, 2.0/7, 2.0/5)
	f.join(ab, f.pair(z, 2.0/11, 2.0/9), z2)
	cd := f.pair(z, 2.0/15, 2.0/13)
	f.join(cd, f.pair(z, 2.0/19, 2.0/17), z2)
	last := f.take()
	f.op("VMULPD", f.f64(2.0/21), z4, last)
	f.op("VADDPD", last, cd, cd)
	f.free(last)
	f.join(ab, cd, z4)
	f.op("VMULPD", z2, ab, ab)
	f.free(z2, z4)
	return ab
}

// atMost and atLeast bound x; NaN stays NaN.
func (f *file) atMost(x reg, bound float32) {
	t := f.load(f.f32(bound))
	f.op("VMINPS", x, t, x)
	f.free(t)
}

func (f *file) atLeast(x reg, bound float32) {
	t := f.load(f.f32(bound))
	f.op("VMAXPS", x, t, x)
	f.free(t)
}

func (f *file) sigmoid(x reg) {
	f.op("VXORPS", f.word(signBit), x, x)
	f.atMost(x, 88)
	f.atLeast(x, -87)
	f.exp(x)
	f.op("VADDPS", f.f32(1), x, x)
	t := f.load(f.f32(1))
	f.op("VDIVPS", x, t, x)
	f.free(t)
}

// tanh replaces x by its hyperbolic tangent: an odd polynomial near zero, else 1 - 2/(exp(2|x|)+1).
func (f *file) tanh(x reg) {
	sign, u, t := f.take(), f.take(), f.take()
	f.op("VANDPS", f.word(signBit), x, sign)
	f.op("VANDPS", f.word(restBits), x, x)
	f.op("VMULPS", x, x, u)
	small := f.horner(u, -0x1.9bba6ap-8, 0x1.595686p-6, -0x1.b92bbap-5, 0x1.110d3cp-3, -0x1.55554cp-2)
	f.op("VMULPS", u, small, small)
	f.op("VMULPS", x, small, small)
	f.op("VADDPS", x, small, small)
	f.op("VMOVUPS", f.f32(0.55), u)
	f.op("VCMPPS", "$0x11", u, x, u) // x < 0.55
	f.op("VADDPS", x, x, x)
	f.atMost(x, 20)
	f.exp(x)
	f.op("VADDPS", f.f32(1), x, x)
	f.op("VMOVUPS", f.f32(2), t)
	f.op("VDIVPS", x, t, x)
	f.op("VMOVUPS", f.f32(1), t)
	f.op("VSUBPS", x, t, x)
	f.op("VBLENDVPS", u, small, x, x)
	f.op("VORPS", sign, x, x)
	f.free(sign, u, t, small)
}

// tanhGrad replaces y = tanh(x) by 1 - y².
func (f *file) tanhGrad(y reg) {
	t := f.load(f.f32(1))
	f.op("VMULPS", y, y, y)
	f.op("VSUBPS", y, t, y)
	f.free(t)
}

// sigmoidGrad replaces y = sigmoid(x) by y(1-y).
func (f *file) sigmoidGrad(y reg) {
	t := f.load(f.f32(1))
	f.op("VSUBPS", y, t, t)
	f.op("VMULPS", t, y, y)
	f.free(t)
}
