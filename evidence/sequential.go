package evidence

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// FactoryLevel is the probability that all factory tests on one market together call a
// run without an edge a candidate.
const FactoryLevel = 0.05

// FactoryThreshold is what one factory test may spend of FactoryLevel. before counts the
// factory tests on this market before it. The shares 1/2 + 1/6 + 1/12 + … sum to 1.
func FactoryThreshold(before int) float64 { return FactoryLevel / float64(LookFactor(before)) }

// Sequential is the rank of one real value among permuted copies, with the early stopping
// of Besag and Clifford (1991). Copies are drawn one after the other until Stop of them
// have reached the real value, or Most are drawn:
//
//	Stop copies reached it, the last was copy l    p = Stop / l
//	g < Stop of Most copies reached it             p = (g + 1) / (Most + 1)
//
// If real value and copies are exchangeable, P(p ≤ a) ≤ a for every a. A tie counts as
// reached. Stop and Most are fixed before the first copy.
type Sequential struct {
	Most    int `json:"most_copies"`
	Stop    int `json:"stop_after"`
	Copies  int `json:"copies"`  // drawn
	Reached int `json:"reached"` // of them
}

// MostCopies bounds the copies of one test.
const MostCopies = 100_000

// usualReached is how many copies may reach the real value in a test of the usual size that passes, and one.
const usualReached = 5

// NewSequential plans a test at a threshold. copies of 0 means as many as let a test
// pass although 4 copies reached the real value.
func NewSequential(threshold float64, copies int) (Sequential, error) {
	least := int(math.Ceil(1/threshold-1e-9)) - 1
	if copies == 0 {
		copies = min(int(math.Ceil(usualReached/threshold-1e-9))-1, max(MostCopies, least))
	}
	if copies < least || copies > max(MostCopies, least) {
		return Sequential{}, fmt.Errorf("a test with %d copies cannot reach the threshold of %.3g: use %d to %d copies", copies, threshold, least,
			max(MostCopies, least))
	}
	return Sequential{Most: copies, Stop: max(1, int(math.Floor(threshold*float64(copies+1)+1e-9)))}, nil
}

// Draw counts one copy.
func (s *Sequential) Draw(reached bool) {
	s.Copies++
	if reached {
		s.Reached++
	}
}

// Done says that no more copies are drawn.
func (s *Sequential) Done() bool { return s.Reached >= s.Stop || s.Copies >= s.Most }

// P is the p-value of a test that is done; nil before.
func (s *Sequential) P() *float64 {
	switch {
	case !s.Done():
		return nil
	case s.Reached >= s.Stop:
		return num.Finite(float64(s.Reached) / float64(s.Copies))
	}
	return num.Finite(float64(s.Reached+1) / float64(s.Most+1))
}

// Reached says whether a copy reached the real value. A copy without a value did not.
func Reached(copied, found *float64) bool { return copied != nil && found != nil && *copied >= *found }
