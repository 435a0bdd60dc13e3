package market

import (
	"fmt"
	"math"
)

// Resample makes longer bars of shorter ones, on the UTC calendar. A bar is
// made of what there is: hours without trading leave no trace. The last one is
// left out unless b reaches its end, since more may still come; see
// ResampleAll. It refuses a timeframe that is no multiple, and bars that
// reach across the end of a longer one.
func Resample(b *Bars, tf Timeframe) (*Bars, error) {
	out, err := ResampleAll(b, tf)
	if err != nil || out.Len() == 0 {
		return out, err
	}
	last := out.Len() - 1
	if b.Timeframe.End(b.Time[b.Len()-1]) < tf.End(out.Time[last]) {
		return out.Slice(0, last), nil
	}
	return out, nil
}

// ResampleAll is Resample that keeps the last bar as it stands, finished or not.
func ResampleAll(b *Bars, tf Timeframe) (*Bars, error) {
	if _, err := ParseTimeframe(string(tf)); err != nil {
		return nil, err
	}
	if !tf.MadeOf(b.Timeframe) {
		return nil, fmt.Errorf("bars of %s cannot be made of whole bars of %s", tf, b.Timeframe)
	}
	if tf == b.Timeframe {
		return b, nil
	}
	out := &Bars{Symbol: b.Symbol, Timeframe: tf}
	if b.Spread != nil {
		out.Spread = []float64{}
	}
	var spreads meanOf
	longer, shorter := tf.calendar(), b.Timeframe.calendar()
	var x Bar
	var end int64
	for i, t := range b.Time {
		if i == 0 || t >= end {
			if i > 0 {
				x.Spread = spreads.take()
				out.Append(x)
			}
			start := longer.start(t)
			end = longer.end(start)
			x = Bar{Time: start, Open: b.Open[i], High: b.High[i], Low: b.Low[i], Close: b.Close[i]}
		}
		if shorter.end(t) > end {
			return nil, fmt.Errorf("the %s bar at %s reaches across %s, where a %s bar ends", b.Timeframe, clock(t), clock(end), tf)
		}
		x.High, x.Low, x.Close = max(x.High, b.High[i]), min(x.Low, b.Low[i]), b.Close[i]
		x.Volume += b.Volume[i] // not known if one of them is not
		if b.Spread != nil {
			spreads.add(b.Spread[i])
		}
	}
	if b.Len() > 0 {
		x.Spread = spreads.take()
		out.Append(x)
	}
	return out, nil
}

// meanOf is the mean of values that are known.
type meanOf struct {
	sum float64
	n   int
}

func (m *meanOf) add(v float64) {
	if v == v {
		m.sum += v
		m.n++
	}
}

// take gives the mean, NaN of no values, and starts again.
func (m *meanOf) take() float64 {
	mean := math.NaN()
	if m.n > 0 {
		mean = m.sum / float64(m.n)
	}
	*m = meanOf{}
	return mean
}
