package worlds

import (
	"fmt"
	"math"
)

// Share is how many of a number of runs claimed an edge.
type Share struct{ Claims, Runs int }

// Add adds the runs of another.
func (s *Share) Add(o Share) { s.Claims, s.Runs = s.Claims+o.Claims, s.Runs+o.Runs }

// Interval is the 95 % interval of Clopper and Pearson.
func (s Share) Interval() (low, high float64) {
	low, high = 0, 1
	if s.Claims > 0 {
		low = solve(func(p float64) bool { return 1-below(s.Claims-1, s.Runs, p) >= 0.025 })
	}
	if s.Claims < s.Runs {
		high = solve(func(p float64) bool { return below(s.Claims, s.Runs, p) <= 0.025 })
	}
	return low, high
}

func (s Share) String() string {
	low, high := s.Interval()
	return fmt.Sprintf("%d of %d runs claim an edge: %.2f %%, 95 %% interval %.2f to %.2f %%",
		s.Claims, s.Runs, 100*float64(s.Claims)/float64(max(s.Runs, 1)), 100*low, 100*high)
}

// solve is the smallest probability of which something rising is true.
func solve(ok func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; ok(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// below is the probability of at most k of n at a probability p each.
func below(k, n int, p float64) float64 {
	if p <= 0 {
		return 1
	}
	if p >= 1 {
		if k >= n {
			return 1
		}
		return 0
	}
	sum, choose := 0.0, 0.0 // choose is the logarithm of n over i
	for i := 0; i <= k; i++ {
		sum += math.Exp(choose + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
		choose += math.Log(float64(n-i)) - math.Log(float64(i+1))
	}
	return min(sum, 1)
}
