package neural

import "golang.org/x/sys/cpu"

//go:generate go run ./internal/asmgen

// simdKernels are those that this CPU and its operating system can run.
func simdKernels() []Kernel {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil
	}
	avx2 := ops{
		name: "avx2", class: ClassFMA, peak: peakOf(peakAVX2, 8), gemm: simdGemm(gemmAVX2),
		transpose: transposeSIMD, colSum: colSumSIMD, sumSquare: sumSquareSIMD, multiply: multiplySIMD,
		apply: applySIMD, applyGrad: applyGradSIMD, exp: expSIMD, log: logSIMD, drop: dropSIMD, adam: adamSIMD,
		lstm: lstmSIMD, lstmGrad: lstmGradSIMD, gru: gruSIMD, gruGrad: gruGradSIMD,
	}
	kernels := []Kernel{{&avx2}}
	if cpu.X86.HasAVX512F {
		avx512 := avx2
		avx512.name, avx512.peak, avx512.gemm = "avx512", peakOf(peakAVX512, 16), simdGemm(gemmAVX512)
		kernels = []Kernel{{&avx512}, {&avx2}}
	}
	return kernels
}

// Strides are in bytes.
type gemmFunc func(m, n, k int, a *float32, aRow, aCol int, b *float32, bRow int, c *float32, cRow int, bias *float32, slope float32)

//go:noescape
func gemmAVX2(m, n, k int, a *float32, aRow, aCol int, b *float32, bRow int, c *float32, cRow int, bias *float32, slope float32)

//go:noescape
func gemmAVX512(m, n, k int, a *float32, aRow, aCol int, b *float32, bRow int, c *float32, cRow int, bias *float32, slope float32)

//go:noescape
func transposeAVX2(dst, src *float32, rows, cols, dstStride, srcStride int)

//go:noescape
func colSumAVX2(dst, src *float32, rows, cols, stride int)

//go:noescape
func sumSquareAVX2(x *float32, n int, sums *[lanes]float64)

//go:noescape
func multiplyAVX2(dst, x, y *float32, n int)

//go:noescape
func tanhAVX2(x *float32, n int)

//go:noescape
func sigmoidAVX2(x *float32, n int)

//go:noescape
func tanhGradAVX2(d, y *float32, n int)

//go:noescape
func sigmoidGradAVX2(d, y *float32, n int)

//go:noescape
func bentGradAVX2(d, y *float32, n int, slope float32)

//go:noescape
func bentDropGradAVX2(d, y *float32, n int, mask *float32, slope float32)

//go:noescape
func expAVX2(x *float32, n int)

//go:noescape
func logAVX2(x *float64, n int)

//go:noescape
func dropAVX2(dst, x, mask *float32, n int, lo, hi, below uint32, scale float32)

//go:noescape
func adamAVX2(w, m, v, grad *float32, n int, c *adamFactors)

//go:noescape
func lstmAVX2(c *cell)

//go:noescape
func lstmGradAVX2(c *cell)

//go:noescape
func gruAVX2(c *cell)

//go:noescape
func gruGradAVX2(c *cell)

// The functions below stand between Go and the assembly, which believes its
// arguments: a length that does not hold is a panic here, not a wild write there.

// must panics if an argument of a loop is not what the assembly takes for granted.
func must(ok bool, what string) {
	if !ok {
		panic("neural: " + what)
	}
}

func simdGemm(run gemmFunc) func(gemm) {
	return func(g gemm) {
		if g.m == 0 || g.n == 0 {
			return
		}
		must(g.m > 0 && g.m%strip == 0 && g.n > 0 && g.n%lanes == 0 && g.k >= 0, "a matrix product's sizes are not padded")
		must(g.aRow >= 0 && g.aCol >= 0 && g.bRow >= 0 && g.cRow >= g.n, "a matrix product's strides are wrong")
		_ = g.c[(g.m-1)*g.cRow+g.n-1]
		var a, b, bias *float32
		if g.k > 0 {
			_, _ = g.a[(g.m-1)*g.aRow+(g.k-1)*g.aCol], g.b[(g.k-1)*g.bRow+g.n-1]
			a, b = &g.a[0], &g.b[0]
		}
		if g.bias != nil {
			_ = g.bias[g.n-1]
			bias = &g.bias[0]
		}
		run(g.m, g.n, g.k, a, 4*g.aRow, 4*g.aCol, b, 4*g.bRow, &g.c[0], 4*g.cRow, bias, g.slope)
	}
}

func transposeSIMD(dst, src []float32, rows, cols, dstStride, srcStride int) {
	must(rows > 0 && cols > 0 && rows%8 == 0 && cols%8 == 0, "a transpose is not of 8 by 8 blocks")
	must(dstStride >= rows && srcStride >= cols, "a transpose's strides are wrong")
	_, _ = dst[(cols-1)*dstStride+rows-1], src[(rows-1)*srcStride+cols-1]
	transposeAVX2(&dst[0], &src[0], rows, cols, 4*dstStride, 4*srcStride)
}

func colSumSIMD(dst, src []float32, rows, stride int) {
	padded(len(dst))
	must(rows > 0 && stride >= len(dst), "a sum of columns has no rows or too short ones")
	_ = src[(rows-1)*stride+len(dst)-1]
	colSumAVX2(&dst[0], &src[0], rows, len(dst), 4*stride)
}

// padded is where a loop begins: with at least one vector and no remainder.
func padded(n int) { must(n > 0 && n%lanes == 0, "a loop's length is not padded") }

func sumSquareSIMD(x []float32) float64 {
	padded(len(x))
	var sums [lanes]float64
	sumSquareAVX2(&x[0], len(x), &sums)
	return foldLanes(&sums)
}

func multiplySIMD(dst, x, y []float32) {
	padded(len(dst))
	x, y = x[:len(dst)], y[:len(dst)]
	multiplyAVX2(&dst[0], &x[0], &y[0], len(dst))
}

func applySIMD(f activation, x []float32) {
	padded(len(x))
	if f == actTanh {
		tanhAVX2(&x[0], len(x))
		return
	}
	sigmoidAVX2(&x[0], len(x))
}

func applyGradSIMD(f activation, d, y, mask []float32) {
	padded(len(y))
	d = d[:len(y)]
	if mask != nil && f.bent() {
		mask = mask[:len(y)]
		bentDropGradAVX2(&d[0], &y[0], len(y), &mask[0], f.slope())
		return
	}
	if mask != nil {
		multiplySIMD(d, d, mask)
	}
	switch f {
	case actTanh:
		tanhGradAVX2(&d[0], &y[0], len(y))
	case actSigmoid:
		sigmoidGradAVX2(&d[0], &y[0], len(y))
	default:
		bentGradAVX2(&d[0], &y[0], len(y), f.slope())
	}
}

func expSIMD(x []float32) {
	n := len(x) / lanes * lanes
	if n > 0 {
		expAVX2(&x[0], n)
	}
	expGo(x[n:])
}

func logSIMD(x []float64) {
	n := len(x) / 4 * 4
	if n > 0 {
		logAVX2(&x[0], n)
	}
	logGo(x[n:])
}

func dropSIMD(dst, x, mask []float32, key uint64, below uint32, scale float32) {
	padded(len(dst))
	x, mask = x[:len(dst)], mask[:len(dst)]
	dropAVX2(&dst[0], &x[0], &mask[0], len(dst), uint32(key), uint32(key>>32), below, scale)
}

func adamSIMD(w, m, v, g []float32, c *adamFactors) {
	padded(len(w))
	m, v, g = m[:len(w)], v[:len(w)], g[:len(w)]
	adamAVX2(&w[0], &m[0], &v[0], &g[0], len(w), c)
}

// check panics unless all that a cell's loop touches is there.
func (c *cell) check(gates int, states ...[]float32) {
	must(c.rows > 0 && c.cols > 0 && c.cols%lanes == 0, "a cell is not padded")
	must(len(c.z) >= gates*c.rows*c.cols, "a cell's gates are too few")
	for _, s := range states {
		must(len(s) >= c.rows*c.cols, "a cell's states are too few")
	}
}

func lstmSIMD(c *cell) {
	must(len(c.zh) >= len(c.z), "a cell's gates are too few")
	c.check(4, c.prev, c.state, c.keep, c.h)
	lstmAVX2(c)
}

func lstmGradSIMD(c *cell) {
	c.check(4, c.prev, c.keep, c.dOut, c.dRec, c.carry)
	lstmGradAVX2(c)
}

func gruSIMD(c *cell) {
	must(len(c.zh) >= len(c.z), "a cell's gates are too few")
	c.check(3, c.prev, c.keep, c.h)
	gruAVX2(c)
}

func gruGradSIMD(c *cell) {
	must(len(c.zh) >= len(c.z), "a cell's gates are too few")
	c.check(3, c.prev, c.keep, c.dOut, c.dRec, c.carry)
	gruGradAVX2(c)
}

// The loops below do fused multiply-adds in registers and nothing else: what
// benchmarks compare the kernels with.

//go:noescape
func peakAVX2(rounds int)

//go:noescape
func peakAVX512(rounds int)

// peakOf counts what a loop over registers of a width does: twelve fused multiply-adds a round.
func peakOf(run func(rounds int), width int) func(int) int {
	return func(rounds int) int {
		if rounds < 1 {
			return 0
		}
		run(rounds)
		return rounds * 12 * width * 2
	}
}
