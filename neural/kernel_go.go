package neural

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// The loops over elements in plain Go. Both plain kernels use them; the SIMD
// kernels give the same bits. Each operation rounds to float32 at once and
// flushes a denormal result to zero.

var reference = &ops{name: "reference", class: ClassFMA, gemm: gemmReference}

var portable = &ops{name: "portable", class: ClassPortable, gemm: gemmPortable}

func init() {
	for _, k := range []*ops{reference, portable} {
		k.transpose, k.colSum, k.sumSquare, k.multiply = transposeGo, colSumGo, sumSquareGo, multiplyGo
		k.apply, k.applyGrad, k.exp, k.log = applyGo, applyGradGo, expGo, logGo
		k.drop, k.adam = dropGo, adamGo
		k.lstm, k.lstmGrad, k.gru, k.gruGrad = lstmGo, lstmGradGo, gruGo, gruGradGo
	}
}

// mul is x*y, flushed. What is far from denormal is decided here, where the compiler inlines it.
func mul(x, y float32) float32 {
	r := float32(x * y)
	if r <= 0x1p-126 && r >= -0x1p-126 {
		return num.Mul32FTZ(x, y)
	}
	return r
}

// add is x+y, flushed: a sum that is denormal is exact, so that what to flush is plain to see.
func add(x, y float32) float32 {
	s := x + y
	if s < 0x1p-126 && s > -0x1p-126 {
		s *= 0 // keeps the sign
	}
	return s
}

// div is x/y, flushed.
func div(x, y float32) float32 {
	q := x / y
	if q <= 0x1p-126 && q >= -0x1p-126 && x != 0 {
		return divTiny(x, y)
	}
	return q
}

// divTiny looks at the quotient in float64, where it shows whether rounded to 24
// bits it is below 2^-126. Rounding to float64 first does no harm: the quotient of
// two 24-bit numbers is never that close to a tie.
func divTiny(x, y float32) float32 {
	const tiny = 0x1p-126 - 0x1p-151 // see num.FMA32FTZ
	q := float64(x) / float64(y)
	if q > -tiny && q < tiny {
		return float32(math.Copysign(0, q))
	}
	return float32(q)
}

func transposeGo(dst, src []float32, rows, cols, dstStride, srcStride int) {
	for r := range rows {
		row := src[r*srcStride:][:cols]
		for c, v := range row {
			dst[c*dstStride+r] = v
		}
	}
}

// colSumGo sums the rows of src, first to last.
func colSumGo(dst, src []float32, rows, stride int) {
	clear(dst)
	for r := range rows {
		row := src[r*stride:][:len(dst)]
		for c, v := range row {
			dst[c] = add(dst[c], v)
		}
	}
}

// sumSquareGo sums the squares in float64, in which each is exact: element i goes
// to sum i%16, and the sixteen are added as foldLanes says.
func sumSquareGo(x []float32) float64 {
	var sums [lanes]float64
	for ; len(x) >= lanes; x = x[lanes:] {
		for i, v := range x[:lanes] {
			d := float64(num.Normal32(v))
			sums[i] += float64(d * d)
		}
	}
	return foldLanes(&sums)
}

// foldLanes adds sixteen sums as a tree: halves, quarters, eighths.
func foldLanes(s *[lanes]float64) float64 {
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			s[i] += s[i+half]
		}
	}
	return s[0]
}

func multiplyGo(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = mul(x[i], y[i])
	}
}

// expGo replaces numbers that are not above 0 by their exponentials.
func expGo(x []float32) {
	for i, v := range x {
		x[i] = num.Exp32(v)
	}
}

// logGo replaces numbers that are not below 1 by their logarithms.
func logGo(x []float64) {
	for i, v := range x {
		x[i] = num.Log(v)
	}
}

// dropGo fills a mask with 0, where sixteen bits of a hash of the key and the
// element's number are below a bound, and scale elsewhere; dst is x times the mask.
// The hash is murmur3's finish of the number times an odd constant: a mask needs no
// state but its key, and any lane can compute any element. One hash serves two
// elements that are half a row of lanes apart.
func dropGo(dst, x, mask []float32, key uint64, below uint32, scale float32) {
	lo, hi := uint32(key), uint32(key>>32)
	const half = lanes / 2
	for i := 0; i < len(mask); i += lanes {
		for j := range half {
			h := (uint32(i/2+j)+lo)*dropStep ^ hi
			h = (h ^ h>>16) * dropMix1
			h = (h ^ h>>13) * dropMix2
			h ^= h >> 16
			mask[i+j], mask[i+half+j] = scale, scale
			if h&0xffff < below {
				mask[i+j] = 0
			}
			if h>>16 < below {
				mask[i+half+j] = 0
			}
		}
	}
	multiplyGo(dst, x, mask)
}

const (
	dropStep = 0x9e3779b1
	dropMix1 = 0x85ebca6b
	dropMix2 = 0xc2b2ae35
)

// gemmReference gives the bits of the SIMD kernels: one fused multiply-add per term, denormals flushed.
func gemmReference(g gemm) {
	for i := range g.m {
		for j := 0; j < g.n; j += lanes {
			var sums [lanes]float32
			if g.bias != nil {
				copy(sums[:], g.bias[j:][:lanes])
			}
			for k := range g.k {
				x := g.a[i*g.aRow+k*g.aCol]
				for l, y := range g.b[k*g.bRow+j:][:lanes] {
					sums[l] = num.FMA32FTZ(x, y, sums[l])
				}
			}
			for l, s := range sums {
				g.c[i*g.cRow+j+l] = bend(s, g.slope)
			}
		}
	}
}

// bend is max(x, slope*x) for slopes up to 1; NaN stays NaN.
func bend(x, slope float32) float32 {
	if slope == 1 {
		return x
	}
	if y := mul(x, slope); y > x {
		return y
	}
	return x
}

// gemmPortable rounds each product and each sum. It computes blocks of 2 rows by
// 4 columns, whose eight sums fit in registers and do not wait for each other.
func gemmPortable(g gemm) {
	for i := 0; i < g.m; i += 2 {
		for j := 0; j < g.n; j += 4 {
			gemmBlock(&g, i, j)
		}
	}
}

func gemmBlock(g *gemm, i, j int) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	if g.bias != nil {
		t := (*[4]float32)(g.bias[j:])
		s00, s01, s02, s03 = t[0], t[1], t[2], t[3]
		s10, s11, s12, s13 = s00, s01, s02, s03
	}
	a0, a1, b := g.a[i*g.aRow:], g.a[(i+1)*g.aRow:], g.b[j:]
	aCol, bRow := g.aCol, g.bRow
	for k, pa, pb := g.k, 0, 0; k > 0; k-- {
		x, y := a0[pa], a1[pa]
		t := (*[4]float32)(b[pb:])
		b0, b1 := t[0], t[1]
		s00 += float32(x * b0)
		s10 += float32(y * b0)
		s01 += float32(x * b1)
		s11 += float32(y * b1)
		b0, b1 = t[2], t[3]
		s02 += float32(x * b0)
		s12 += float32(y * b0)
		s03 += float32(x * b1)
		s13 += float32(y * b1)
		pa += aCol
		pb += bRow
	}
	c0, c1 := (*[4]float32)(g.c[i*g.cRow+j:]), (*[4]float32)(g.c[(i+1)*g.cRow+j:])
	*c0, *c1 = [4]float32{s00, s01, s02, s03}, [4]float32{s10, s11, s12, s13}
	if slope := g.slope; slope != 1 {
		for l := range 4 {
			c0[l], c1[l] = bendPlain(c0[l], slope), bendPlain(c1[l], slope)
		}
	}
}

// bendPlain is bend without a look at denormals.
func bendPlain(x, slope float32) float32 {
	if x < 0 {
		x *= slope
	}
	return x
}
