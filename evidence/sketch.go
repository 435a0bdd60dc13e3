package evidence

import (
	"math"
	"strconv"
)

// Sketch is the account and buy-and-hold over a part of the data, small enough to
// be kept of every research. Both start at 1. The lowest and the highest account
// of each stretch are kept, so that no drawdown is lost.
type Sketch struct {
	Time    []int64   `json:"time"` // openings of bars, Unix seconds
	Account []float64 `json:"account"`
	Hold    []float64 `json:"hold"`
}

// sketchPoints is how many values a Sketch has at most.
const sketchPoints = 200

// Sketch draws the part; nil without its times.
func (p Part) Sketch() *Sketch {
	n := min(len(p.Time), len(p.Returns)+1, len(p.Hold)+1)
	if n < 2 {
		return nil
	}
	account, hold := grown(p.Returns[:n-1]), grown(p.Hold[:n-1])
	s := &Sketch{}
	take := func(i int) {
		if k := len(s.Time); k > 0 && s.Time[k-1] >= p.Time[i] {
			return
		}
		s.Time = append(s.Time, p.Time[i])
		s.Account, s.Hold = append(s.Account, short(account[i])), append(s.Hold, short(hold[i]))
	}
	take(0)
	const stretches = (sketchPoints - 2) / 2
	for k := range stretches {
		from, to := 1+(n-2)*k/stretches, 1+(n-2)*(k+1)/stretches
		if from >= to {
			continue
		}
		low, high := from, from
		for i := from; i < to; i++ {
			if account[i] < account[low] {
				low = i
			}
			if account[i] > account[high] {
				high = i
			}
		}
		take(min(low, high))
		take(max(low, high))
	}
	take(n - 1)
	return s
}

// grown is what 1 becomes by the returns.
func grown(returns []float64) []float64 {
	values := make([]float64, len(returns)+1)
	values[0] = 1
	for i, r := range returns {
		values[i+1] = values[i] * (1 + r)
	}
	return values
}

// short is x with five significant digits; 0 if it is no number.
func short(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64) // of what it has just written
	return v
}
