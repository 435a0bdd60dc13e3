package neural

// The loops below do fused multiply-adds in registers and nothing else: what
// benchmarks compare the kernels with.

//go:noescape
func peakAVX2(n int)

//go:noescape
func peakAVX512(n int)
