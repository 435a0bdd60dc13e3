package neural

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
