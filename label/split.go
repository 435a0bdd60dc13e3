package label

import (
	"errors"
	"fmt"
)

// Fractions divide the samples by time, and sum to 1. Validation and Test may
// be 0.
type Fractions struct {
	Train, Validation, Test float64
}

// check allows for the rounding of decimal fractions.
func (f Fractions) check() error {
	sum := f.Train + f.Validation + f.Test
	if !(f.Train > 0) || !(f.Validation >= 0) || !(f.Test >= 0) || !(sum > 1-1e-9) || !(sum < 1+1e-9) {
		return fmt.Errorf("split %v/%v/%v: train must be above 0, none below 0, and the sum 1", f.Train, f.Validation, f.Test)
	}
	return nil
}

// Split divides the samples of a set over n bars by time and returns their
// indexes. Whatever the source, a sample whose label reaches into the next
// part is purged, and so is one whose label ends within the embargo (a
// fraction of all bars) before it:
//
//	train                        │ validation           │ test
//	●──┤ ●──┤  ●──┤ ╳──┤ ╳─────────┤  ●──┤ ╳──┤ ╳─────────┤
//	                ▔▔▔▔▔▔▔▔▔▔▔▔▔│embargo               │
//
// Samples are dropped from the earlier part, so that validation and test are
// what the fractions say. It is an error when a part that was asked for is
// left without samples.
func Split(set *Set, n int, f Fractions, embargo float64) (train, val, test []int32, err error) {
	if err := f.check(); err != nil {
		return nil, nil, nil, err
	}
	if !(embargo >= 0 && embargo < 1) {
		return nil, nil, nil, fmt.Errorf("embargo is %v, and must be a fraction from 0 to below 1", embargo)
	}
	total := set.Len()
	first := min(int(float64(f.Train*float64(total))+0.5), total)
	second := min(int(float64((f.Train+f.Validation)*float64(total))+0.5), total)
	if f.Test == 0 {
		second = total
	}
	gap := int32(embargo * float64(n))
	train = before(set, 0, first, gap)
	val = before(set, first, second, gap)
	test = before(set, second, total, gap)
	for _, part := range []struct {
		name    string
		share   float64
		samples []int32
	}{{"training", f.Train, train}, {"validation", f.Validation, val}, {"test", f.Test, test}} {
		if part.share > 0 && len(part.samples) == 0 {
			err = errors.Join(err, fmt.Errorf("split: no %s samples are left of %d labelled bars after purging and an embargo of %d bars: use more data, or labels that end sooner", part.name, total, gap))
		}
	}
	return train, val, test, err
}

// before returns the samples from to to whose label ends at least gap bars
// before sample to begins; all of them when there is no sample to.
func before(set *Set, from, to int, gap int32) []int32 {
	out := make([]int32, 0, to-from)
	for i := from; i < to; i++ {
		if to == set.Len() || set.End[i] < set.Row[to]-gap {
			out = append(out, int32(i))
		}
	}
	return out
}
