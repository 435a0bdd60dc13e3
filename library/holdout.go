package library

import (
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// UsualHoldout is the share of the bars that are a holdout unless another is set.
const UsualHoldout = 0.2

// HoldoutStart is where the holdout of a market begins that has none yet: the
// opening of the first bar of the last share of a series, which has bars. If the
// market has a series that spans a longer time, the start is at the same share of
// that one: a short copy must not decide for all bars.
func HoldoutStart(b *market.Bars, m ktrdr.Market, share float64) time.Time {
	first, last := HoldoutSpan(b.Time[0], b.Time[b.Len()-1], m)
	if first == b.Time[0] && last == b.Time[b.Len()-1] {
		n := max(1, int(float64(share*float64(b.Len()))))
		return time.Unix(b.Time[b.Len()-n], 0).UTC()
	}
	return time.Unix(last-int64(float64(share*float64(last-first))), 0).UTC().Truncate(time.Hour)
}

// HoldoutSpan is the span of bars that HoldoutStart takes the share of, for a
// series from first to last.
func HoldoutSpan(first, last int64, m ktrdr.Market) (from, to int64) {
	span := last - first
	for _, s := range m.Series {
		if other := s.Last.Unix() - s.First.Unix(); other > span+span/20 {
			first, last, span = s.First.Unix(), s.Last.Unix(), other
		}
	}
	return first, last
}
