package label

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/market"
)

// RegimeNames name the classes of Regime.
var RegimeNames = []string{"TRENDING_UP", "TRENDING_DOWN", "RANGING", "VOLATILE"}

const (
	trendingUp int8 = iota
	trendingDown
	ranging
	volatile
)

// Regime tells in what kind of market a bar lies, from two zigzags of its
// close. The large one (Macro) gives legs; the small one (Micro) tells whether
// a leg is a trend: of the small pivots inside a rising leg at least Tolerance
// of the lows must be above the low before (in a falling leg, of the highs
// below the high before); a leg with fewer than two of them is one clean move
// and a trend. Other legs are ranging. Above all of it, a bar whose deviation
// of log returns over ATRPeriod bars is more than Crisis times its own mean
// over Lookback bars is volatile.
//
// A zigzag's threshold at a bar is its multiple of the median average true
// range over the median close, both of the bars so far. A label looks as far
// as the bar that makes the end of its leg known; bars after the last known
// large pivot, and the first ones without a mean deviation, are no samples. While
// the median range is 0 there are no pivots.
type Regime struct {
	Macro, Micro float64 // zigzag thresholds in average true ranges
	ATRPeriod    int
	Lookback     int
	Crisis       float64
	Tolerance    float64
}

// Label makes the labels.
func (r Regime) Label(b *market.Bars) (*Set, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	s := newSet(RegimeNames, b.Len())
	start := r.ATRPeriod - 1 // the first bar with an average true range
	unit := relativeRange(b, r.ATRPeriod)
	macro := pivots(b.Close, start, threshold(r.Macro, unit))
	micro := pivots(b.Close, start, threshold(r.Micro, unit))
	ratio := deviationRatio(logReturns(b.Close), r.ATRPeriod, r.Lookback)
	for k := 0; k+1 < len(macro); k++ {
		from, to := macro[k], macro[k+1]
		for len(micro) > 0 && micro[0].at < from.at {
			micro = micro[1:]
		}
		class := r.leg(b.Close, micro, to)
		for t := from.at; t < to.at; t++ {
			switch {
			case math.IsNaN(ratio[t]):
			case ratio[t] > r.Crisis:
				s.addClass(int(t), volatile, to.known)
			default:
				s.addClass(int(t), class, to.known)
			}
		}
	}
	return s, nil
}

// threshold is a multiple of the unit at each bar. Where the market has stood still so
// long that the unit is 0, no move is large: else every bar would be a pivot.
func threshold(multiple float64, unit []float64) func(int) float64 {
	return func(i int) float64 {
		if !(unit[i] > 0) {
			return math.Inf(1)
		}
		return multiple * unit[i]
	}
}

func (r Regime) check() error {
	const source = "regime"
	for _, err := range []error{
		positive(source, "micro_atr_mult", r.Micro), positive(source, "vol_crisis_threshold", r.Crisis),
		atLeast(source, "atr_period", r.ATRPeriod, 2), atLeast(source, "vol_lookback", r.Lookback, 2),
	} {
		if err != nil {
			return err
		}
	}
	if !(r.Macro > r.Micro) {
		return fmt.Errorf("regime labels: macro_atr_mult is %v, and must be above micro_atr_mult %v", r.Macro, r.Micro)
	}
	if !(r.Tolerance >= 0 && r.Tolerance <= 1) {
		return fmt.Errorf("regime labels: progression_tolerance is %v, and must be from 0 to 1", r.Tolerance)
	}
	return nil
}

// leg judges the leg that ends at pivot to, given the small pivots from its
// beginning on. Only those known by the time its end is known may speak.
func (r Regime) leg(c []float64, micro []pivot, to pivot) int8 {
	pairs, progress, last := 0, 0, -1.0
	for _, p := range micro {
		if p.at > to.at || p.known > to.known {
			break
		}
		if p.high == to.high {
			continue // a rising leg is judged by its lows, a falling one by its highs
		}
		x := c[p.at]
		if last > 0 {
			pairs++
			if to.high && x > last || !to.high && x < last {
				progress++
			}
		}
		last = x
	}
	switch {
	case float64(progress) < r.Tolerance*float64(pairs):
		return ranging
	case to.high:
		return trendingUp
	}
	return trendingDown
}

// relativeRange is, at each bar, the median of the average true range so far
// over the median of the close so far; NaN before the first average.
func relativeRange(b *market.Bars, period int) []float64 {
	n := b.Len()
	tr, out := make([]float64, n), make([]float64, n)
	var atr, price runningMedian
	for i := range n {
		tr[i] = b.High[i] - b.Low[i]
		if i > 0 {
			tr[i] = max(b.High[i], b.Close[i-1]) - min(b.Low[i], b.Close[i-1])
		}
		mid := price.add(b.Close[i])
		if i < period-1 {
			out[i] = math.NaN()
			continue
		}
		out[i] = atr.add(mean(tr[i-period+1:i+1])) / mid
	}
	return out
}

// deviationRatio is the deviation of the last period returns over its own mean
// of the last lookback bars; NaN until there is one.
func deviationRatio(returns []float64, period, lookback int) []float64 {
	out, dev := make([]float64, len(returns)), make([]float64, len(returns))
	sum := 0.0
	for i := range returns {
		out[i] = math.NaN()
		if i < period {
			continue // returns begin at bar 1
		}
		dev[i] = deviation(returns[i-period+1 : i+1])
		first := i - lookback + 1
		switch {
		case first < period:
			sum += dev[i]
		case (i-period)%lookback == 0: // summed again now and then, so that rounding does not pile up
			sum = total(dev[first : i+1])
		default:
			sum += dev[i] - dev[first-1]
		}
		if first >= period && sum > 0 {
			out[i] = dev[i] * float64(lookback) / sum
		}
	}
	return out
}

func total(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum
}

func mean(x []float64) float64 { return total(x) / float64(len(x)) }

func deviation(x []float64) float64 {
	m, squares := mean(x), 0.0
	for _, v := range x {
		squares += float64((v - m) * (v - m))
	}
	return math.Sqrt(squares / float64(len(x)-1))
}
