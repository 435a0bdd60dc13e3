package num

import (
	"math"
	"math/bits"
)

// Cos returns the cosine of x, within 1 ulp for every finite x.
func Cos(x float64) float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return math.NaN()
	}
	q, r, lo := reduce(math.Abs(x))
	return quadrant(q+1, r, lo)
}

// quadrant is the sine of q quarter turns plus r+lo.
func quadrant(q uint64, r, lo float64) float64 {
	var v float64
	if q&1 == 0 {
		v = sinKernel(r, lo)
	} else {
		v = cosKernel(r, lo)
	}
	if q&2 != 0 {
		return -v
	}
	return v
}

// sinKernel is sin(r+lo) for |r| <= π/4, by Taylor's series up to r^17.
func sinKernel(r, lo float64) float64 {
	z := float64(r * r)
	p := 1.0 / 355687428096000
	p = -1.0/1307674368000 + float64(p*z)
	p = f13 + float64(p*z)
	p = -f11 + float64(p*z)
	p = f9 + float64(p*z)
	p = -f7 + float64(p*z)
	p = f5 + float64(p*z)
	p = -f3 + float64(p*z)
	return r + (float64(float64(r*z)*p) + float64(lo*(1-float64(0.5*z))))
}

// cosKernel is cos(r+lo) for |r| <= π/4, by Taylor's series up to r^16.
func cosKernel(r, lo float64) float64 {
	z := float64(r * r)
	p := 1.0 / 20922789888000
	p = -1.0/87178291200 + float64(p*z)
	p = f12 + float64(p*z)
	p = -f10 + float64(p*z)
	p = f8 + float64(p*z)
	p = -f6 + float64(p*z)
	p = f4 + float64(p*z)
	half := float64(0.5 * z)
	w := 1 - half
	return w + (((1 - w) - half) + (float64(float64(z*z)*p) - float64(r*lo)))
}

// twoOverPi holds the bits of 2/π after a first word of zeros: as many as the largest float64 needs.
var twoOverPi = [...]uint64{
	0,
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
	0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
	0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
}

// reduce writes x >= 0 as q quarter turns plus r+lo with |r| <= π/4. It
// multiplies by the stretch of 2/π that matters, in whole numbers: bits further
// left only add full turns, bits further right are below the last digit.
func reduce(x float64) (q uint64, r, lo float64) {
	if x <= math.Pi/4 {
		return 0, x, 0
	}
	b := math.Float64bits(x)
	m := b&(1<<52-1) | 1<<52
	at := uint(b>>52) - 1075 + 62 // x = m·2^e; the window begins at bit e-2 of 2/π
	w, shift := twoOverPi[at/64:at/64+4], at%64
	w0 := w[0]<<shift | w[1]>>(64-shift)
	w1 := w[1]<<shift | w[2]>>(64-shift)
	w2 := w[2]<<shift | w[3]>>(64-shift)

	h2, p2 := bits.Mul64(m, w2)
	h1, p1 := bits.Mul64(m, w1)
	p1, carry := bits.Add64(p1, h2, 0)
	p0, _ := bits.Add64(m*w0, h1, carry)

	q = p0 >> 62
	hi, low := p0<<2|p1>>62, p1<<2|p2>>62 // the fraction of a quarter turn
	sign := 1.0
	if hi>>63 == 1 { // more than half: count from the next quarter, backwards
		q++
		low, carry = bits.Sub64(0, low, 0)
		hi, _ = bits.Sub64(0, hi, carry)
		sign = -1
	}
	r, lo = quarterTurns(hi, low)
	return q, sign * r, sign * lo
}

// quarterTurns is π/2 times the 128-bit fraction hi:low, as a pair. A double is
// never closer to a multiple of π/2 than 2^-62, so hi and low are not both 0.
func quarterTurns(hi, low uint64) (r, lo float64) {
	n := bits.LeadingZeros64(hi)
	if hi == 0 {
		n = 64 + bits.LeadingZeros64(low)
		hi, low = low, 0
	}
	s := uint(n) % 64
	hi, low = hi<<s|low>>(64-s), low<<s
	a := float64(hi>>11) * twoTo(-53-n)
	b := float64(hi<<53|low>>11) * twoTo(-117-n)
	const piHalf, piHalfLo = 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54
	r = float64(a * piHalf)
	lo = math.FMA(a, piHalf, -r) + (float64(a*piHalfLo) + float64(b*piHalf))
	return twoSum(r, lo)
}
