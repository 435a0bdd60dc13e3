package neural

import "github.com/ktrdr/ktrdr/num"

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
