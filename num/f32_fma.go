package num

import "math"

// tiny32 is the middle between 2^-126 and the float32 below it, were there no
// lower bound of the exponent: what is smaller rounds to less than 2^-126.
const tiny32 = 0x1p-126 - 0x1p-151

// FMA32FTZ is x*y + z, rounded once: what the fused multiply-add of float32 gives
// on an x86 CPU that flushes to zero and takes denormals for zero. Arguments
// smaller than 2^-126 count as 0, and so does a result which is smaller than that
// after it was rounded to 24 bits.
func FMA32FTZ(x, y, z float32) float32 {
	x, y, z = Normal32(x), Normal32(y), Normal32(z)
	// Two roundings are as good as one unless the first ended on a tie of the
	// second: the highest of the 29 bits that go is 1, the others 0.
	s := float64(float64(x)*float64(y)) + float64(z)
	b := math.Float64bits(s)
	if size := b &^ (1 << 63); b&(1<<29-1) != 1<<28 && (size > normal64 || size == 0) {
		return float32(s)
	}
	s = fmaToOdd(x, y, z)
	if s > -tiny32 && s < tiny32 {
		return float32(math.Copysign(0, s))
	}
	return float32(s)
}

// normal64 are the bits of 2^-126 as a float64: above it nothing is flushed.
const normal64 = (1023 - 126) << 52

// Mul32FTZ is x*y as FMA32FTZ would round it.
func Mul32FTZ(x, y float32) float32 {
	r := float32(x * y)
	if r > 0x1p-126 || r < -0x1p-126 || x == 0 || y == 0 {
		return r
	}
	p := float64(Normal32(x)) * float64(Normal32(y))
	if p > -tiny32 && p < tiny32 {
		return float32(math.Copysign(0, p))
	}
	return float32(p)
}

// Normal32 is x, or zero with x's sign if x is denormal.
func Normal32(x float32) float32 {
	b := math.Float32bits(x)
	if b&0x7f800000 == 0 {
		b &= 1 << 31
	}
	return math.Float32frombits(b)
}

// fmaToOdd is x*y + z rounded to odd in 53 bits, so that rounding it to float32
// is rounding once.
//
// math.FMA(x, y, z) is not that. It rounds to nearest, and where that ends exactly
// between two float32 numbers the second rounding no longer knows on which side
// the true sum lay. A sum that does not fit in 53 bits gets an odd last bit here,
// and is never mistaken for a tie.
func fmaToOdd(x, y, z float32) float64 {
	p, c := float64(float64(x)*float64(y)), float64(z) // a product of two 24-bit numbers is exact
	s := p + c
	// What the sum lost (Knuth's two-sum): exact, and NaN where s is not finite.
	t := s - p
	lost := (p - (s - t)) + (c - t)
	if bits := math.Float64bits(s); bits&1 == 0 {
		switch {
		case lost > 0 && s > 0, lost < 0 && s < 0:
			s = math.Float64frombits(bits + 1)
		case lost > 0 && s < 0, lost < 0 && s > 0:
			s = math.Float64frombits(bits - 1)
		}
	}
	return s
}
