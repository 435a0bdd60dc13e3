package evidence

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// BinomialInterval is the 95 % interval of Clopper and Pearson of a probability, after
// hits in n tries.
func BinomialInterval(hits, n int) (low, high float64) {
	low, high = 0, 1
	if hits > 0 {
		low = leastTrue(func(p float64) bool { return 1-atMostHits(hits-1, n, p) >= 0.025 })
	}
	if hits < n {
		high = leastTrue(func(p float64) bool { return atMostHits(hits, n, p) <= 0.025 })
	}
	return low, high
}

// leastTrue is the smallest probability of which something rising is true.
func leastTrue(ok func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if middle := float64((low + high) / 2); ok(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// atMostHits is the probability of at most k of n at a probability p each.
func atMostHits(k, n int, p float64) float64 {
	switch {
	case p <= 0 || k >= n:
		return 1
	case p >= 1:
		return 0
	}
	sum, choose := 0.0, 0.0 // choose is the logarithm of n over i
	for i := 0; i <= k; i++ {
		sum += num.Exp(choose + float64(float64(i)*num.Log(p)) + float64(float64(n-i)*num.Log(1-p)))
		choose += num.Log(float64(n-i)) - num.Log(float64(i+1))
	}
	return math.Min(sum, 1)
}
