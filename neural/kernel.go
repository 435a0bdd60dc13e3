package neural

import (
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/internal/text"
)

// The classes of kernel. Kernels of one class give the same bits; see the
// package comment for what a class promises.
const (
	ClassFMA      = "fma/1"
	ClassPortable = "portable/1"
)

// Kernel is the arithmetic that a network runs on: matrix products and the
// loops over elements, for one kind of CPU. It says how fast, and its class says
// which bits: a run that one kernel started may be resumed by any other of the
// same class, and by no other.
//
//	avx512     fma/1       AVX-512 matrix products
//	avx2       fma/1       AVX2 and FMA
//	reference  fma/1       plain Go that gives the bits of the two above, slowly
//	portable   portable/1  plain Go as fast as it goes
//
// The zero Kernel is Best.
type Kernel struct{ ops *ops }

// Kernels are those that this CPU can run, the fastest first.
func Kernels() []Kernel { return slices.Clone(available) }

// available is decided once, by what the CPU says that it can do.
var available = append(simdKernels(), Kernel{portable}, Kernel{reference})

// Best is the fastest kernel of this CPU. Without AVX2 that is portable.
func Best() Kernel { return available[0] }

// KernelByName returns the kernel of that name. The error says which there are.
func KernelByName(name string) (Kernel, error) {
	var names []string
	for _, k := range available {
		if k.Name() == name {
			return k, nil
		}
		names = append(names, k.Name())
	}
	return Kernel{}, fmt.Errorf("kernel %q is not one of those that this CPU runs; %s", name, text.Choices(name, names))
}

// KernelFor returns the fastest kernel that gives the bits of a class, so that
// a checkpoint can be continued. For ClassFMA on a CPU without AVX2 that is the
// reference kernel: slow, but exact.
func KernelFor(class string) (Kernel, error) {
	for _, k := range available {
		if k.Class() == class {
			return k, nil
		}
	}
	return Kernel{}, fmt.Errorf("there is no kernel of class %q; this program knows %s and %s", class, ClassFMA, ClassPortable)
}

// Name is the kernel's name.
func (k Kernel) Name() string { return k.use().name }

// Class tells which bits the kernel gives.
func (k Kernel) Class() string { return k.use().class }

func (k Kernel) String() string { return k.Name() + " (" + k.Class() + ")" }

// Peak does rounds of fused multiply-adds in the kernel's registers and nothing
// else, and returns the number of floating-point operations: what the CPU could do
// at best, for a benchmark to compare with. It is 0 for a kernel in plain Go.
func (k Kernel) Peak(rounds int) (operations int) {
	if k.use().peak == nil {
		return 0
	}
	return k.use().peak(rounds)
}

func (k Kernel) use() *ops {
	if k.ops == nil {
		return available[0].ops
	}
	return k.ops
}

// ops is what a kernel implements. Lengths are multiples of lanes unless said
// otherwise, and what lies in the padding is zero.
type ops struct {
	name, class string
	peak        func(rounds int) int // see Kernel.Peak; nil in plain Go

	gemm      func(g gemm)
	transpose func(dst, src []float32, rows, cols, dstStride, srcStride int)
	colSum    func(dst, src []float32, rows, stride int)
	sumSquare func(x []float32) float64
	multiply  func(dst, x, y []float32)
	apply     func(f activation, x []float32)
	applyGrad func(f activation, d, y, mask []float32) // mask is dropout's, or nil
	exp       func(x []float32)                        // of numbers not above 0; of any length
	log       func(x []float64)                        // of numbers not below 1; of any length
	drop      func(dst, x, mask []float32, key uint64, below uint32, scale float32)
	adam      func(w, m, v, g []float32, c *adamFactors)
	lstm      func(c *cell)
	lstmGrad  func(c *cell)
	gru       func(c *cell)
	gruGrad   func(c *cell)
}

// gemm is one matrix product, C = f(bias + A*B): m by n, over k.
//
// Each element of C is one sum in the order of k that begins with the bias, or
// with 0 without a bias. A may be transposed by its two strides. f(x) is
// max(x, slope*x): slope 1 leaves x alone, 0 is ReLU.
type gemm struct {
	m, n, k int // m a multiple of strip, n of lanes
	a       []float32
	aRow    int // from one row of A to the next, in elements
	aCol    int
	b       []float32
	bRow    int
	c       []float32
	cRow    int
	bias    []float32 // n of them, or none
	slope   float32
}
