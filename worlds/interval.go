package worlds

import (
	"fmt"

	"github.com/ktrdr/ktrdr/evidence"
)

// Share is how many of a number of runs claimed an edge.
type Share struct{ Claims, Runs int }

// Add adds the runs of another.
func (s *Share) Add(o Share) { s.Claims, s.Runs = s.Claims+o.Claims, s.Runs+o.Runs }

// Interval is the 95 % interval of Clopper and Pearson.
func (s Share) Interval() (low, high float64) {
	return evidence.BinomialInterval(s.Claims, s.Runs)
}

func (s Share) String() string {
	low, high := s.Interval()
	return fmt.Sprintf("%d of %d runs claim an edge: %.2f %%, 95 %% interval %.2f to %.2f %%",
		s.Claims, s.Runs, 100*float64(s.Claims)/float64(max(s.Runs, 1)), 100*low, 100*high)
}
