package neural

import (
	"fmt"
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// exactKernels are those that must give the bits of the reference kernel.
func exactKernels() []*ops {
	var ks []*ops
	for _, k := range Kernels() {
		if k.Class() == ClassFMA && k.Name() != "reference" {
			ks = append(ks, k.ops)
		}
	}
	return ks
}

func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: value %d is %x, want %x", what, i, got[i], want[i])
		}
	}
}

// numbers draws values of a kind that a loop meets: usual ones, zeros, and such
// that products and sums of them are denormal. None is denormal itself: in a
// kernel of the class nothing makes one.
func numbers(r *num.Rand, n int) []float32 {
	x := anyNumbers(r, n)
	for i := range x {
		x[i] = num.Normal32(x[i])
	}
	return x
}

// anyNumbers are numbers of which some are denormal: those of a dataset may be.
func anyNumbers(r *num.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		switch r.Uint64n(8) {
		case 0:
		case 1:
			x[i] = float32(r.Norm() * 0x1p-64)
		case 2:
			x[i] = float32(r.Norm() * 0x1p-126)
		default:
			x[i] = float32(r.Norm())
		}
	}
	return x
}

func TestSIMDMatrixProductsGiveTheReferencesBits(t *testing.T) {
	r := num.NewRand(3)
	for _, k := range exactKernels() {
		for range 400 {
			g := gemm{
				m: strip * int(1+r.Uint64n(18)), n: lanes * int(1+r.Uint64n(5)), k: int(r.Uint64n(71)),
				slope: []float32{0, leakySlope, 1}[r.Uint64n(3)],
			}
			g.aRow, g.aCol = g.k+int(r.Uint64n(3)), 1
			if r.Uint64()&1 == 0 { // transposed
				g.aRow, g.aCol = 1, g.m+int(r.Uint64n(3))
			}
			g.bRow, g.cRow = g.n+int(r.Uint64n(9)), g.n+int(r.Uint64n(9))
			g.a = anyNumbers(r, g.m*max(g.aRow, 1)+g.k*g.aCol+1)
			g.b = anyNumbers(r, (g.k+1)*g.bRow)
			if r.Uint64()&1 == 0 {
				g.bias = numbers(r, g.n)
			}
			want := g
			g.c, want.c = numbers(r, g.m*g.cRow), make([]float32, g.m*g.cRow)
			copy(want.c, g.c) // what lies between the rows stays as it is
			k.gemm(g)
			gemmReference(want)
			sameBits(t, fmt.Sprintf("%s %dx%dx%d slope %g", k.name, g.m, g.n, g.k, g.slope), g.c, want.c)
		}
	}
}

func TestSIMDLoopsGiveTheReferencesBits(t *testing.T) {
	r := num.NewRand(4)
	for _, k := range exactKernels() {
		for n := lanes; n <= 20*lanes; n += lanes {
			loopsAgree(t, k, r, n)
			for rows := range 5 {
				cellsAgree(t, k, r, rows+1, n)
			}
		}
	}
}

// pairs returns two copies of the same numbers.
func pairs(r *num.Rand, n int) (a, b []float32) {
	a = numbers(r, n)
	return a, append([]float32(nil), a...)
}

func loopsAgree(t *testing.T, k *ops, r *num.Rand, n int) {
	t.Helper()
	what := func(s string) string { return fmt.Sprintf("%s %s of %d", k.name, s, n) }
	x, y := numbers(r, n), numbers(r, n)
	got, want := make([]float32, n), make([]float32, n)
	k.multiply(got, x, y)
	multiplyGo(want, x, y)
	sameBits(t, what("product"), got, want)
	for f := actReLU; f <= actSigmoid; f++ {
		a, b := pairs(r, n)
		k.applyGrad(f, a, y, nil)
		applyGradGo(f, b, y, nil)
		sameBits(t, what(fmt.Sprintf("gradient %d", f)), a, b)
		k.applyGrad(f, a, y, x)
		applyGradGo(f, b, y, x)
		sameBits(t, what(fmt.Sprintf("gradient %d under a mask", f)), a, b)
	}
	for _, f := range []activation{actTanh, actSigmoid} {
		a, b := pairs(r, n)
		for i := range a {
			a[i] *= float32(uint32(1) << r.Uint64n(10))
			b[i] = a[i]
		}
		k.apply(f, a)
		applyGo(f, b)
		sameBits(t, what(fmt.Sprintf("function %d", f)), a, b)
	}
	key, below := r.Uint64(), uint32(r.Uint64n(1<<16))
	mask, wantMask := make([]float32, n), make([]float32, n)
	k.drop(got, x, mask, key, below, 1.25)
	dropGo(want, x, wantMask, key, below, 1.25)
	sameBits(t, what("mask"), mask, wantMask)
	sameBits(t, what("dropout"), got, want)
	a, b := pairs(r, n-3) // not a multiple of lanes
	for i := range a {
		a[i] = -float32(math.Abs(float64(a[i]))) * float32(uint32(1)<<r.Uint64n(9))
		b[i] = a[i]
	}
	k.exp(a)
	expGo(b)
	sameBits(t, what("exponential"), a, b)
	logsAgree(t, k, r, n)
	if g, w := k.sumSquare(x), sumSquareGo(x); g != w {
		t.Fatalf("%s = %x, want %x", what("sum of squares"), g, w)
	}
	rows := int(1 + r.Uint64n(40))
	x = numbers(r, rows*(n+8))
	k.colSum(got, x, rows, n+8)
	colSumGo(want, x, rows, n+8)
	sameBits(t, what("sum of columns"), got, want)
	x, got, want = numbers(r, n*lanes), make([]float32, n*lanes), make([]float32, n*lanes)
	k.transpose(got, x, n, lanes, n, lanes)
	transposeGo(want, x, n, lanes, n, lanes)
	sameBits(t, what("transpose"), got, want)
	adamAgrees(t, k, r, n)
}

func logsAgree(t *testing.T, k *ops, r *num.Rand, n int) {
	t.Helper()
	x := make([]float64, n-3)
	for i := range x {
		x[i] = 1 + math.Abs(r.Norm())*math.Ldexp(1, int(r.Uint64n(60))-52)
	}
	x[0], x[1], x[2], x[3] = 1, math.Sqrt2, math.Nextafter(math.Sqrt2, 2), 128
	want := append([]float64(nil), x...)
	k.log(x)
	logGo(want)
	for i := range want {
		if math.Float64bits(x[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s logarithm of %d: value %d is %x, want %x", k.name, n, i, x[i], want[i])
		}
	}
	lost := []float64{math.NaN(), 1, 1, 1}
	if k.log(lost); lost[0] == lost[0] || lost[1] != 0 {
		t.Fatalf("%s: the logarithms of NaN and 1 are %g and %g, want NaN and 0", k.name, lost[0], lost[1])
	}
}

func adamAgrees(t *testing.T, k *ops, r *num.Rand, n int) {
	t.Helper()
	w, wantW := pairs(r, n)
	m, wantM := pairs(r, n)
	v, wantV := pairs(r, n)
	for i := range v {
		v[i] = num.Mul32FTZ(v[i], v[i])
		wantV[i] = v[i]
	}
	for _, o := range []OptimSpec{{Name: Adam, WeightDecay: 1e-4}, {Name: AdamW, WeightDecay: 0.01}} {
		g := numbers(r, n)
		f := o.withDefaults().factors(1+r.Uint64n(1000), 0.001, 0.3)
		k.adam(w, m, v, g, &f)
		adamGo(wantW, wantM, wantV, g, &f)
		sameBits(t, k.name+" weights of "+o.Name, w, wantW)
		sameBits(t, k.name+" first moments of "+o.Name, m, wantM)
		sameBits(t, k.name+" second moments of "+o.Name, v, wantV)
	}
}

func cellsAgree(t *testing.T, k *ops, r *num.Rand, rows, cols int) {
	t.Helper()
	for name, run := range map[string][2]func(*cell){
		"lstm": {k.lstm, lstmGo}, "lstm gradient": {k.lstmGrad, lstmGradGo},
		"gru": {k.gru, gruGo}, "gru gradient": {k.gruGrad, gruGradGo},
	} {
		gates := map[byte]int{'l': 4, 'g': 3}[name[0]]
		a, b := cell{rows: rows, cols: cols}, cell{rows: rows, cols: cols}
		fields := func(c *cell) []*[]float32 {
			return []*[]float32{&c.z, &c.zh, &c.prev, &c.state, &c.keep, &c.h, &c.dOut, &c.dRec, &c.carry}
		}
		for i := range fields(&a) {
			n := rows * cols
			if i < 2 {
				n *= gates
			}
			x := numbers(r, n)
			*fields(&a)[i], *fields(&b)[i] = x, append([]float32(nil), x...)
		}
		run[0](&a)
		run[1](&b)
		for i, f := range fields(&a) {
			sameBits(t, fmt.Sprintf("%s %s %dx%d field %d", k.name, name, rows, cols, i), *f, *fields(&b)[i])
		}
	}
}

func TestFunctionsOfEveryFloat16StepGiveTheReferencesBits(t *testing.T) {
	for _, k := range exactKernels() {
		for _, f := range []activation{actTanh, actSigmoid} {
			x := make([]float32, 0, 1<<16)
			for i := range 1 << 16 {
				if v := math.Float32frombits(uint32(i)<<16 | 0x5bd3); v == v {
					x = append(x, v)
				}
			}
			x = x[:len(x)/lanes*lanes]
			want := append([]float32(nil), x...)
			k.apply(f, x)
			applyGo(f, want)
			sameBits(t, fmt.Sprintf("%s function %d", k.name, f), x, want)
		}
		for _, low := range []uint32{0, 0x5bd3, 0xffff} {
			var x []float32
			for i := range uint32(0x7f80) {
				x = append(x, math.Float32frombits(1<<31|i<<16|low))
			}
			x = append(x, 0, float32(math.Inf(-1)), -0x1.5d589ep+6, -0x1.5d58a0p+6)
			want := append([]float32(nil), x...)
			k.exp(x)
			expGo(want)
			sameBits(t, k.name+" exponential", x, want)
		}
	}
}

// A denormal number on its way in or out is zero in every kernel of the class.
func TestDenormalsAreZero(t *testing.T) {
	tiny := float32(0x1p-130)
	for _, k := range append(exactKernels(), reference) {
		g := gemm{m: strip, n: lanes, k: 2, aRow: 2, aCol: 1, bRow: lanes, cRow: lanes, slope: 1}
		g.a, g.b, g.c = make([]float32, 2*strip), make([]float32, 2*lanes), make([]float32, strip*lanes)
		g.a[0], g.a[1] = 1, 0x1p-100
		g.b[0], g.b[1], g.b[lanes+2] = tiny, 1, 0x1p-40
		g.b[lanes+3] = 0x1p-26                 // product 2^-126, which is not denormal
		g.b[lanes+4] = (1 - 0x1p-24) * 0x1p-26 // below it by less than a denormal can say
		k.gemm(g)
		sameBits(t, k.name, g.c[:5], []float32{0, 1, 0, 0x1p-126, 0})
	}
}

func TestNaNIsNotHiddenByReLU(t *testing.T) {
	eachKernel(t, func(t *testing.T, k Kernel) {
		g := gemm{m: strip, n: lanes, k: 1, aRow: 1, aCol: 1, bRow: lanes, cRow: lanes}
		g.a, g.b, g.c = make([]float32, strip), make([]float32, lanes), make([]float32, strip*lanes)
		g.a[2] = float32(math.NaN())
		k.ops.gemm(g)
		if g.c[2*lanes] == g.c[2*lanes] || g.c[0] != 0 {
			t.Errorf("ReLU of NaN is %g and of 0 %g, want NaN and 0", g.c[2*lanes], g.c[0])
		}
	})
}

func TestKernelsAreFoundByNameAndByClass(t *testing.T) {
	for _, k := range Kernels() {
		got, err := KernelByName(k.Name())
		if err != nil || got != k {
			t.Errorf("KernelByName(%q) = %v, %v", k.Name(), got, err)
		}
		for_, err := KernelFor(k.Class())
		if err != nil || for_.Class() != k.Class() {
			t.Errorf("KernelFor(%q) = %v, %v", k.Class(), for_, err)
		}
	}
	if _, err := KernelByName("abacus"); err == nil {
		t.Error("a kernel named abacus was found")
	}
	if _, err := KernelFor("fma/2"); err == nil {
		t.Error("a kernel of the class fma/2 was found")
	}
	if (Kernel{}).Name() != Best().Name() {
		t.Error("the zero kernel is not the best one")
	}
}

func TestACPUWithoutAVX2RunsPortableAndResumesWithReference(t *testing.T) {
	all := available
	defer func() { available = all }()
	available = []Kernel{{portable}, {reference}}
	if got := Best().Name(); got != "portable" {
		t.Errorf("the best kernel is %s, want portable", got)
	}
	if k, err := KernelFor(ClassFMA); err != nil || k.Name() != "reference" {
		t.Errorf("a checkpoint of class %s resumes with %v, %v, want reference", ClassFMA, k, err)
	}
}
