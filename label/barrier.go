package label

import (
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
