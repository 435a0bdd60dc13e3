package train

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/strategy"
)

func checkSplit(s metrics.Split) error {
	if s.Validation > s.Test || s.Test > s.End {
		return fmt.Errorf("split: validation begins at %d, test at %d and the data ends at %d: they must follow each other", s.Validation,
			s.Test, s.End)
	}
	return nil
}

// labelled are the samples of one symbol that have both features and a label.
type labelled struct {
	set    *label.Set
	time   []int64 // of the symbol's bars
	offset int32   // the symbol's first row in the table
}

func (l labelled) at(i int) int64 { return l.time[l.set.Row[i]] }

// instants divides the samples of all symbols together by the fractions.
func instants(symbols []labelled, f strategy.Fractions) (metrics.Split, error) {
	var times []int64
	for _, l := range symbols {
		for i := range l.set.Row {
			times = append(times, l.at(i))
		}
	}
	if len(times) == 0 {
		return metrics.Split{}, errors.New("split: no bar has both features and a label: use more data, or indicators and labels that need less")
	}
	if len(symbols) > 1 {
		slices.Sort(times)
	}
	total := len(times)
	border := func(share float64) int64 {
		if i := int(float64(share*float64(total)) + 0.5); i < total {
			return times[i]
		}
		return times[total-1] + 1
	}
	s := metrics.Split{Validation: border(f.Train), Test: border(f.Train + f.Validation), End: times[total-1] + 1}
	if f.Test == 0 {
		s.Test = s.End
	}
	return s, nil
}

// part is one part of the data, as rows of the table.
type part struct {
	rows   []int32
	purged int // samples left out since their label looks into the next part
}

// divide sorts the samples of every symbol into the three parts. A sample whose
// label is not known before the next part begins, or only within the embargo (a
// fraction of the symbol's bars) before that, is left out:
//
//	training                     │ validation           │ test
//	●──┤ ●──┤  ●──┤ ╳──┤ ╳─────────┤  ●──┤ ╳──┤ ╳─────────┤
//	                ▔▔▔▔▔▔▔▔▔▔▔▔▔│embargo               │
//
// It is the earlier part that loses them, so that a part begins where the
// fractions say. Where weight is given, samples are weighed by how
// alone they are in their part of their symbol: a label that was left out, or
// that belongs elsewhere, overlaps nothing.
func divide(symbols []labelled, s metrics.Split, embargo float64, weight []float32) (parts [3]part) {
	for _, l := range symbols {
		bars, gap, from := len(l.time), int32(embargo*float64(len(l.time))), 0
		for p, border := range [...]int64{s.Validation, s.Test, s.End} {
			to := from + sort.Search(l.set.Len()-from, func(i int) bool { return l.at(from+i) >= border })
			limit := int32(bars) // nothing follows the last part: a label may look to the last bar
			if border < s.End {
				limit = int32(sort.Search(bars, func(i int) bool { return l.time[i] >= border })) - gap
			}
			row, end := l.ending(from, to, limit)
			parts[p].purged += to - from - len(row)
			for _, r := range row {
				parts[p].rows = append(parts[p].rows, l.offset+r)
			}
			if weight != nil {
				for i, w := range label.Uniqueness(row, end, bars) {
					weight[l.offset+row[i]] = w
				}
			}
			from = to
		}
	}
	return parts
}

// ending returns the bars of those samples from to to whose label ends before bar limit, and where it ends.
func (l labelled) ending(from, to int, limit int32) (row, end []int32) {
	row, end = make([]int32, 0, to-from), make([]int32, 0, to-from)
	for i := from; i < to; i++ {
		if l.set.End[i] < limit {
			row, end = append(row, l.set.Row[i]), append(end, l.set.End[i])
		}
	}
	return row, end
}
