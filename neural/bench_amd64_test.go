package neural

// peakFlops is what the CPU does at best in registers of a kernel's width: the
// best of some short runs, or 0 for a kernel without SIMD.
func peakFlops(kernel string) float64 {
	run, width := peakAVX2, 8
	switch kernel {
	case "avx2":
	case "avx512":
		run, width = peakAVX512, 16
	default:
		return 0
	}
	const n, perLoop = 2_000_000, 12
	best := 0.0
	for range 5 {
		start := cpuTime()
		run(n)
		best = max(best, float64(2*n*perLoop*width)/(cpuTime()-start).Seconds())
	}
	return best
}
