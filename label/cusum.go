package label

import (
	"errors"
	"math"
)

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
