package evidence

import (
	"cmp"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// Bootstrap resamples returns in blocks of random length, so that what hangs
// together in time stays together (the stationary bootstrap of Politis and
// Romano 1994). A block is as long, in the mean, as the cube root of the number
// of returns. The zero value is ready to use.
type Bootstrap struct {
	Draws int     // resamples; 0 means 1,000
	Level float64 // of the intervals; 0 means 0.95
}

// Interval is a figure, where it lies with some confidence, and how likely
// chance alone would have made it as large.
type Interval struct {
	Estimate  *float64 `json:"estimate"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	P         *float64 `json:"p"`        // one-sided, against 0
	PerYear   bool     `json:"per_year"` // else per bar
	Level     float64  `json:"level"`
	Draws     int      `json:"draws"`
	Block     float64  `json:"block"` // mean length of a block in bars
	Undefined string   `json:"undefined,omitempty"`
}

// Sharpe is the Sharpe ratio per bar. The p-value asks how often the ratio of returns
// without an edge, which is the resampled one less the estimate, reaches the estimate.
func (b Bootstrap) Sharpe(returns []float64, r *num.Rand) Interval {
	out := Interval{
		Level: cmp.Or(b.Level, 0.95), Draws: cmp.Or(b.Draws, 1000), Block: max(1, num.Pow(float64(len(returns)), 1.0/3)),
	}
	s, err := measure(returns)
	if err != nil {
		out.Undefined = err.Error()
		return out
	}
	estimate := s.mean / s.deviation
	all, drawn, as := newTotals(returns), make([]float64, out.Draws), 0
	for d := range drawn {
		drawn[d] = all.sharpe(Blocks(len(returns), out.Block, r))
		if drawn[d]-estimate >= estimate {
			as++
		}
	}
	slices.Sort(drawn)
	out.Estimate, out.P = num.Finite(estimate), num.Finite(float64(as+1)/float64(out.Draws+1))
	out.Low, out.High = num.Finite(quantile(drawn, (1-out.Level)/2)), num.Finite(quantile(drawn, (1+out.Level)/2))
	return out
}

// times is the interval of a figure that is that many times as large.
func (i Interval) times(factor float64) Interval {
	for _, x := range []**float64{&i.Estimate, &i.Low, &i.High} {
		if *x != nil {
			*x = num.Finite(**x * factor)
		}
	}
	return i
}

// totals are the sums of the returns before each, and of their squares: those of
// a block are differences of two, however long it is.
type totals []struct{ sum, squares float64 }

func newTotals(returns []float64) totals {
	t := make(totals, len(returns)+1)
	for i, v := range returns {
		t[i+1].sum = t[i].sum + v
		t[i+1].squares = t[i].squares + float64(v*v)
	}
	return t
}

// sharpe is the ratio of the returns in some blocks. It is 0 where they do not
// vary: they earned nothing at a risk.
func (t totals) sharpe(blocks func(yield func(from, to int) bool)) float64 {
	var n, sum, squares float64
	for from, to := range blocks {
		n += float64(to - from)
		sum += t[to].sum - t[from].sum
		squares += t[to].squares - t[from].squares
	}
	mean := sum / n
	v := (squares - float64(sum*mean)) / (n - 1)
	if !(v > 0) {
		return 0
	}
	return mean / math.Sqrt(v)
}

// Blocks yields stretches of n positions until there are n in all. A block
// begins anywhere and ends with probability 1/mean at every position, so that its
// length is drawn at once; one that wraps around the end is yielded in two.
func Blocks(n int, mean float64, r *num.Rand) func(yield func(from, to int) bool) {
	goes := num.Log(1 - 1/mean)
	return func(yield func(from, to int) bool) {
		for left := n; left > 0; {
			from := int(r.Uint64n(uint64(n)))
			length := 1 + int(min(num.Log(1-r.Float64())/goes, float64(left-1)))
			left -= length
			for length > 0 {
				to := min(from+length, n)
				if !yield(from, to) {
					return
				}
				length, from = length-(to-from), 0
			}
		}
	}
}

// quantile interpolates between the values around a share of a sorted list.
func quantile(sorted []float64, share float64) float64 {
	at := float64(share * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
}
