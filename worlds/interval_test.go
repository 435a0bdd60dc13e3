package worlds

import (
	"math"
	"testing"
)

func TestShare_IntervalIsThatOfClopperAndPearson(t *testing.T) {
	// Known values, for example from Wikipedia's and R's binom.test.
	for s, want := range map[Share][2]float64{
		{0, 200}: {0, 0.018275},
		{4, 200}: {0.005476, 0.050414},
		{5, 10}:  {0.187086, 0.812914},
		{10, 10}: {0.691503, 1},
		{8, 110}: {0.031942, 0.138266},
	} {
		low, high := s.Interval()
		if math.Abs(low-want[0]) > 2e-4 || math.Abs(high-want[1]) > 2e-4 {
			t.Errorf("%+v: %.6f to %.6f, want %v", s, low, high, want)
		}
	}
}
