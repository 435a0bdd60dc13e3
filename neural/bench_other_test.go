//go:build !amd64

package neural

func peakFlops(string) float64 { return 0 }
