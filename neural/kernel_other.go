//go:build !amd64

package neural

func simdKernels() []Kernel { return nil }
