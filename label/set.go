package label

import (
	"fmt"

	"github.com/ktrdr/ktrdr/market"
)

// Set is a series of samples: for bar Row[i] the right answer is Class[i] or Value[i].
//
//	bar     0 1 2 3 4 5 6 7 8 9
//	sample      ●───────┤            Row 2, End 6: the answer was known at bar 6
//	                ●─┤              Row 4, End 5
//
// Not every bar is a sample: the last bars have no answer yet, and an event
// filter leaves out the rest.
type Set struct {
	Classes int       // how many classes; 0 for a regression
	Names   []string  // their names
	Row     []int32   // the bar of each sample, ascending
	Class   []int8    // classification: the class of each sample
	Value   []float64 // regression: the value of each sample
	Weight  []float32 // how much each sample counts, mean 1; nil: all alike
	End     []int32   // the last bar that the sample's label looked at
}

// Len is the number of samples.
func (s *Set) Len() int { return len(s.Row) }

// Select returns the samples for which keep answers true. Weights are kept as they are.
func (s *Set) Select(keep func(i int) bool) *Set {
	out := &Set{Classes: s.Classes, Names: s.Names}
	for i := range s.Row {
		if !keep(i) {
			continue
		}
		out.Row = append(out.Row, s.Row[i])
		out.End = append(out.End, s.End[i])
		if s.Class != nil {
			out.Class = append(out.Class, s.Class[i])
		}
		if s.Value != nil {
			out.Value = append(out.Value, s.Value[i])
		}
		if s.Weight != nil {
			out.Weight = append(out.Weight, s.Weight[i])
		}
	}
	return out
}

// Source makes labels. Bars that allow none give an empty set, not an error;
// the error is about the source's own parameters.
type Source interface {
	Label(b *market.Bars) (*Set, error)
}

// The classes of a trading label (zigzag, triple barrier).
const (
	Buy  int8 = 0
	Hold int8 = 1
	Sell int8 = 2
)

// SignalNames name the classes of zigzag and triple barrier.
var SignalNames = []string{"BUY", "HOLD", "SELL"}

// newSet makes room for n samples of a classification, or of a regression when names is nil.
func newSet(names []string, n int) *Set {
	s := &Set{Classes: len(names), Names: names, Row: make([]int32, 0, n), End: make([]int32, 0, n)}
	if names == nil {
		s.Value = make([]float64, 0, n)
	} else {
		s.Class = make([]int8, 0, n)
	}
	return s
}

func (s *Set) addClass(row int, class int8, end int32) {
	s.Row = append(s.Row, int32(row))
	s.Class = append(s.Class, class)
	s.End = append(s.End, end)
}

func (s *Set) addValue(row int, value float64, end int32) {
	s.Row = append(s.Row, int32(row))
	s.Value = append(s.Value, value)
	s.End = append(s.End, end)
}

// positive refuses a parameter that is not above 0 (NaN included).
func positive(source, name string, v float64) error {
	if v > 0 {
		return nil
	}
	return fmt.Errorf("%s labels: %s is %v, and must be above 0", source, name, v)
}

// atLeast refuses a count below what has a meaning.
func atLeast(source, name string, v, least int) error {
	if v >= least {
		return nil
	}
	return fmt.Errorf("%s labels: %s is %d, and must be at least %d", source, name, v, least)
}
