package market

import (
	"fmt"
	"math"
	"time"
)

// Merged is what a merge of two series came to.
type Merged struct {
	Added   int `json:"added"`   // bars that only the new series has
	Kept    int `json:"kept"`    // bars that only the old series has
	Same    int `json:"same"`    // bars that both have, with the same values
	Changed int `json:"changed"` // bars that both have, with other values: the new ones are used

	// of those changed, the bars that close after the holdout begins: they are counted and not told
	InHoldout int `json:"in_holdout,omitempty"`
	// of those added, the bars that close after the holdout begins
	AddedInHoldout int `json:"added_in_holdout,omitempty"`

	First []Change `json:"first,omitempty"` // the first bars before the holdout that were changed
}

// Change is a bar that two series hold with different values.
type Change struct {
	Old Bar `json:"old"`
	New Bar `json:"new"`
}

// MaxChanges bounds how many changed bars are told one by one.
const MaxChanges = 100

// String is both bars for people.
func (c Change) String() string {
	return fmt.Sprintf("%s: %s is now %s", time.Unix(c.Old.Time, 0).UTC().Format("2006-01-02 15:04"), c.Old.values(), c.New.values())
}

func (b Bar) values() string {
	s := fmt.Sprintf("open %v high %v low %v close %v volume ", b.Open, b.High, b.Low, b.Close)
	if b.Volume != b.Volume {
		s += "not known"
	} else {
		s += fmt.Sprint(b.Volume)
	}
	if b.Spread > 0 {
		s += fmt.Sprintf(" spread %v", b.Spread)
	}
	return s
}

// Merge puts the bars of two series of one symbol and timeframe together. Where both have
// a bar of one time, that of add counts. Both must be in order, as Check holds them to be.
func Merge(old, add *Bars) (*Bars, Merged, error) { return merge(old, add, math.MaxInt64) }

// MergeSealed is Merge that tells no bar which closes after the holdout begins.
func MergeSealed(old, add *Bars, holdout time.Time) (*Bars, Merged, error) {
	return merge(old, add, holdout.Unix())
}

func merge(old, add *Bars, holdout int64) (*Bars, Merged, error) {
	var m Merged
	if old.Symbol != add.Symbol || old.Timeframe != add.Timeframe {
		return nil, m, fmt.Errorf("bars of %s %s cannot be added to those of %s %s", add.Symbol, add.Timeframe, old.Symbol, old.Timeframe)
	}
	b := &Bars{Symbol: old.Symbol, Timeframe: old.Timeframe}
	if old.Spread != nil || add.Spread != nil {
		b.Spread = []float64{}
	}
	at := func(of *Bars, i int) Bar {
		x := of.At(i)
		if of.Spread == nil && b.Spread != nil {
			x.Spread = math.NaN()
		}
		return x
	}
	i, j := 0, 0
	for i < old.Len() || j < add.Len() {
		switch {
		case j == add.Len() || i < old.Len() && old.Time[i] < add.Time[j]:
			b.Append(at(old, i))
			m.Kept++
			i++
		case i == old.Len() || add.Time[j] < old.Time[i]:
			b.Append(at(add, j))
			m.Added++
			if add.Timeframe.End(add.Time[j]) > holdout {
				m.AddedInHoldout++
			}
			j++
		default:
			was, is := at(old, i), at(add, j)
			b.Append(is)
			if was.Same(is) {
				m.Same++
			} else {
				m.change(Change{was, is}, old.Timeframe.End(was.Time) > holdout)
			}
			i, j = i+1, j+1
		}
	}
	return b, m, nil
}

func (m *Merged) change(c Change, sealed bool) {
	m.Changed++
	switch {
	case sealed:
		m.InHoldout++
	case len(m.First) < MaxChanges:
		m.First = append(m.First, c)
	}
}
