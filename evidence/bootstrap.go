package evidence

import (
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// Bootstrap resamples returns in blocks of random length, so that what hangs
// together in time stays together (the stationary bootstrap of Politis and
// Romano 1994). The zero value is ready to use.
type Bootstrap struct {
	Draws int     `json:"draws"` // resamples; 0 means 1,000
	Block float64 `json:"block"` // mean length of a block in bars; 0 means the cube root of their number
	Level float64 `json:"level"` // of the intervals; 0 means 0.95
}

// Interval is a figure, where it lies with some confidence, and how likely
// chance alone would have made it as large.
type Interval struct {
	Estimate  *float64 `json:"estimate"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	P         *float64 `json:"p"` // one-sided, against 0
	Level     float64  `json:"level"`
	Draws     int      `json:"draws"`
	Block     float64  `json:"block"`
	Undefined string   `json:"undefined,omitempty"`
}

// Mean is the mean return per bar.
func (b Bootstrap) Mean(returns []float64, r *num.Rand) Interval {
	return b.resample([][]float64{returns}, r, func(t []totals) float64 { return t[0].mean() })
}

// Sharpe is the Sharpe ratio per bar.
func (b Bootstrap) Sharpe(returns []float64, r *num.Rand) Interval {
	return b.resample([][]float64{returns}, r, func(t []totals) float64 { return t[0].sharpe() })
}

// SharpeOver is by how much the Sharpe ratio per bar of returns is above that
// of others over the same bars, such as buy-and-hold's. Both are resampled
// together, bar by bar.
func (b Bootstrap) SharpeOver(returns, others []float64, r *num.Rand) Interval {
	return b.resample([][]float64{returns, others}, r, func(t []totals) float64 { return t[0].sharpe() - t[1].sharpe() })
}

// totals are what a mean and a Sharpe ratio are made of.
type totals struct{ n, sum, squares float64 }

func (t *totals) add(v float64) {
	t.n++
	t.sum += v
	t.squares += float64(v * v)
}

func (t *totals) mean() float64 { return t.sum / t.n }

// sharpe is 0 for a resample that does not vary: it earned nothing at a risk.
func (t *totals) sharpe() float64 {
	mean := t.mean()
	v := (t.squares - float64(t.sum*mean)) / (t.n - 1)
	if !(v > 0) {
		return 0
	}
	return mean / math.Sqrt(v)
}

func (b Bootstrap) complete(bars int) (Bootstrap, error) {
	if b.Draws == 0 {
		b.Draws = 1000
	}
	if b.Block == 0 {
		b.Block = max(1, num.Pow(float64(bars), 1.0/3))
	}
	if b.Level == 0 {
		b.Level = 0.95
	}
	if b.Draws < 1 || !(b.Block >= 1) || math.IsInf(b.Block, 0) || !(b.Level > 0 && b.Level < 1) {
		return b, fmt.Errorf("bootstrap: %d draws in blocks of %v at level %v; there must be a draw, blocks of 1 bar at least and a level between 0 and 1",
			b.Draws, b.Block, b.Level)
	}
	return b, nil
}

// resample finds the distribution of a statistic. The p-value asks how often
// the statistic of data without an edge, which is the resampled one less the
// estimate, reaches the estimate.
func (b Bootstrap) resample(series [][]float64, r *num.Rand, statistic func([]totals) float64) Interval {
	b, err := b.complete(len(series[0]))
	out := Interval{Level: b.Level, Draws: b.Draws, Block: b.Block}
	if err != nil {
		return Interval{Undefined: err.Error()}
	}
	for _, x := range series {
		if _, err := measure(x); err != nil {
			out.Undefined = err.Error()
			return out
		}
		if len(x) != len(series[0]) {
			out.Undefined = fmt.Sprintf("%d returns do not fit %d", len(series[0]), len(x))
			return out
		}
	}
	t := make([]totals, len(series))
	for k, x := range series {
		for _, v := range x {
			t[k].add(v)
		}
	}
	estimate := statistic(t)
	drawn, as := make([]float64, b.Draws), 0
	for d := range drawn {
		clear(t)
		for i := range blocks(len(series[0]), b.Block, r) {
			for k := range series {
				t[k].add(series[k][i])
			}
		}
		drawn[d] = statistic(t)
		if drawn[d]-estimate >= estimate {
			as++
		}
	}
	slices.Sort(drawn)
	out.Estimate, out.P = figure(estimate), figure(float64(as+1)/float64(b.Draws+1))
	out.Low, out.High = figure(quantile(drawn, (1-b.Level)/2)), figure(quantile(drawn, (1+b.Level)/2))
	return out
}

// blocks yields as many of the n positions as there are, in blocks of random
// length that wrap around the end.
func blocks(n int, mean float64, r *num.Rand) func(yield func(int) bool) {
	// A block ends with probability 1/mean at every bar; the comparison is in
	// integers, which is what makes a draw cheap.
	ends := uint64(float64(1<<63) / mean)
	return func(yield func(int) bool) {
		at := int(r.Uint64n(uint64(n)))
		for range n {
			if !yield(at) {
				return
			}
			if r.Uint64()>>1 < ends {
				at = int(r.Uint64n(uint64(n)))
			} else if at++; at == n {
				at = 0
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
