package label

import (
	"errors"
	"math"

	"github.com/ktrdr/ktrdr/market"
)

// TripleBarrier asks which of three things happens first after a bar's close:
// the price rises by Target times the volatility (BUY), falls by Stop times it
// (SELL), or Holding bars pass. Touches are judged by high and low of the bars
// after it; a bar that touches both counts by where it closes. At expiry the
// label is the sign of the return, and HOLD when the return is smaller than
// half of what the volatility would let one expect over that time.
//
// The last Holding bars are no samples, not even those that touched early:
// keeping only quick ones would tilt the mix.
type TripleBarrier struct {
	Target, Stop float64 // barrier distances in volatilities
	Holding      int     // bars until expiry
	Span         int     // span of the volatility's exponential mean
	Volatility   Volatility
	Weights      bool   // weigh samples by uniqueness
	Events       *CUSUM // label only bars at which the price has moved; nil: all
}

// Volatility is how a triple barrier measures it.
type Volatility uint8

// The measures.
const (
	RangeVolatility  Volatility = iota // "atr": mean of (high-low)/close
	ReturnVolatility                   // "ewm": deviation of log returns
)

// Label makes the labels.
func (tb TripleBarrier) Label(b *market.Bars) (*Set, error) {
	if err := tb.check(); err != nil {
		return nil, err
	}
	var vol, returns []float64
	if tb.Volatility == ReturnVolatility || tb.Events != nil {
		returns = logReturns(b.Close)
	}
	if tb.Volatility == ReturnVolatility {
		vol = returnVolatility(returns, tb.Span)
	} else {
		vol = rangeVolatility(b.High, b.Low, b.Close, tb.Span)
	}
	var event []bool
	if tb.Events != nil {
		event = tb.Events.events(returns, tb.Span)
	}
	n := max(b.Len()-tb.Holding, 0)
	s := newSet(SignalNames, n)
	for t := range n {
		if event != nil && !event[t] || !(vol[t] > 0) {
			continue // without volatility both barriers lie on the close itself
		}
		entry := b.Close[t]
		upper := entry * (1 + float64(tb.Target*vol[t]))
		lower := entry * (1 - float64(tb.Stop*vol[t]))
		if !(upper > entry && lower < entry) {
			continue // so little volatility is left that the barriers round to the close
		}
		class, end := tb.touch(b, t, vol[t], upper, lower)
		s.addClass(t, class, int32(end))
	}
	if tb.Weights {
		s.Weight = Uniqueness(s.Row, s.End, b.Len())
	}
	return s, nil
}

func (tb TripleBarrier) check() error {
	const source = "triple_barrier"
	for _, err := range []error{
		positive(source, "pt_multiplier", tb.Target), positive(source, "sl_multiplier", tb.Stop),
		atLeast(source, "max_holding_period", tb.Holding, 1), atLeast(source, "vol_span", tb.Span, 2),
	} {
		if err != nil {
			return err
		}
	}
	if tb.Events != nil {
		return tb.Events.check()
	}
	return nil
}

// touch follows the price from bar t to the first barrier and returns the
// class and the bar at which it was decided.
func (tb TripleBarrier) touch(b *market.Bars, t int, vol, upper, lower float64) (class int8, end int) {
	entry, last := b.Close[t], t+tb.Holding
	high, low := b.High[:last+1], b.Low[:last+1]
	for i := t + 1; i <= last; i++ {
		up, down := high[i] >= upper, low[i] <= lower
		switch {
		case up && down:
			if b.Close[i] >= entry {
				return Buy, i
			}
			return Sell, i
		case up:
			return Buy, i
		case down:
			return Sell, i
		}
	}
	r := (b.Close[last] - entry) / entry
	switch {
	case math.Abs(r) < 0.5*vol*math.Sqrt(float64(tb.Holding)):
		return Hold, last
	case r > 0:
		return Buy, last
	}
	return Sell, last
}

// CUSUM picks the bars at which something has happened: the sum of log returns
// since the last event, floored at 0 from either side, has gone past a
// threshold up or down. Labels are made at those bars only and keep their row,
// so that features and labels stay aligned.
//
// The threshold is fixed, or Multiplier times the volatility of the returns up to that bar.
type CUSUM struct {
	Threshold  float64 // 0: by volatility
	Multiplier float64
}

func (c CUSUM) check() error {
	if c.Threshold > 0 || c.Threshold == 0 && c.Multiplier > 0 {
		return nil
	}
	return errors.New("triple_barrier labels: a CUSUM filter needs a threshold or a multiplier above 0")
}

func (c CUSUM) events(returns []float64, span int) []bool {
	out := make([]bool, len(returns))
	dev := newEwmDeviation(span)
	up, down := 0.0, 0.0
	for t := 1; t < len(returns); t++ {
		h := c.Threshold
		if d := dev.add(returns[t]); h == 0 {
			h = c.Multiplier * d
		}
		up = max(0, up+returns[t])
		down = min(0, down+returns[t])
		if math.IsNaN(h) || up <= h && down >= -h {
			continue
		}
		out[t] = true
		up, down = 0, 0
	}
	return out
}

// Uniqueness weighs samples by how alone they are: the mean, over the bars after
// Row up to End that a label looks at, of one over the number of labels that look
// at that bar. Weights are scaled to a mean of 1. n is the number of bars.
//
// A weight counts later samples that overlap, so weights belong to the samples
// they were made from: train on part of a set with weights made from that part.
func Uniqueness(row, end []int32, n int) []float32 {
	if len(row) == 0 {
		return nil
	}
	// Concurrency by differences, then running sums of its inverse: two passes
	// over the bars, however long the labels are.
	running := make([]float64, n+2)
	for i := range row {
		running[row[i]+1]++
		running[end[i]+1]--
	}
	concurrent, sum := 0.0, 0.0
	for t := range running {
		concurrent += running[t]
		if concurrent > 0 {
			sum += 1 / concurrent
		}
		running[t] = sum
	}
	weight := make([]float64, len(row))
	total := 0.0
	for i := range row {
		span := running[end[i]] - running[row[i]]
		weight[i] = span / float64(end[i]-row[i])
		total += weight[i]
	}
	mean := total / float64(len(row))
	out := make([]float32, len(row))
	for i, w := range weight {
		out[i] = float32(w / mean)
	}
	return out
}
