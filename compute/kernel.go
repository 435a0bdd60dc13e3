package compute

import "github.com/ktrdr/ktrdr/neural"

// kernelFor is the kernel to compute a class with: the preferred one where it
// gives the bits of the class, else the fastest that does. A machine without the
// vector instructions of the class goes on slowly, but to the same bits.
func kernelFor(preferred neural.Kernel, class string) (neural.Kernel, error) {
	if preferred.Class() == class {
		return preferred, nil
	}
	return neural.KernelFor(class)
}
