package backtest

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// moments are those of a curve's returns from one close to the next.
type moments struct {
	num.Moments

	negative float64 // sum of squares of the negative returns
}

// newMoments goes through the curve twice, first for the mean. Both passes run at the pace of the division.
func newMoments(equity []float64) (r moments) {
	if len(equity) < 2 {
		return r
	}
	var sum, negative float64
	last := equity[0]
	for _, x := range equity[1:] {
		v := change(last, x)
		sum += v
		loss := (v - math.Abs(v)) / 2 // v if negative, else 0, without a branch that cannot be predicted
		negative += float64(loss * loss)
		last = x
	}
	r.Mean, r.negative = sum/float64(len(equity)-1), negative
	last = equity[0]
	for _, x := range equity[1:] {
		r.Add(change(last, x))
		last = x
	}
	return r
}

// change is the return from one equity to the next. What is not above zero cannot earn a return.
func change(from, to float64) float64 {
	if from <= 0 {
		return 0
	}
	return (to - from) / from
}

// noise is the deviation, in proportion to the mean, that rounding alone can
// give to returns that are all the same.
const noise = 1e-9

// vary says whether the returns differ by more than rounding.
func (r *moments) vary() bool { return r.N > 1 && r.Deviation() > noise*math.Abs(r.Mean) }

func (r *moments) downside() float64 { return math.Sqrt(r.negative / float64(r.N-1)) }

const (
	yearSeconds = 365.25 * 24 * 3600
	// enough is the least span, in seconds, that shows how many bars a market
	// has in a year: four weeks, so that weekends are in it.
	enough = 28 * 24 * 3600
)

// BarsPerYear is how many bars the series has in a year of 365.25 days,
// measured by its own timestamps, so that weekends, nights and holidays count
// as what they are: hourly bars of a stock are not hourly bars of a currency.
// A series shorter than four weeks does not show that; for it the figure is
// what the timeframe gives around the clock, and 0 if it has no timeframe.
func BarsPerYear(b *market.Bars) float64 {
	n := b.Len()
	if n > 1 {
		if span := b.Time[n-1] - b.Time[0]; span >= enough {
			return float64(n-1) / float64(span) * yearSeconds
		}
	}
	if b.Timeframe == market.Mo1 {
		return 12
	}
	if length := b.Timeframe.End(0); length > 0 {
		return yearSeconds / float64(length)
	}
	return 0
}
