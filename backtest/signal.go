package backtest

import (
	"errors"
	"fmt"
	"math"
)

// Signal is what a decider says at a bar's close. Whether it becomes an order
// depends on the position and on the rules of Config.
type Signal int8

// The signals.
const (
	Sell Signal = -1
	Hold Signal = 0
	Buy  Signal = 1
)

// timeUp is an order to leave the position. No decider gives it: see Config.ExitAfter.
const timeUp Signal = 2

// TradeClasses is the order in which a three-way classifier gives its classes.
var TradeClasses = []Signal{Buy, Hold, Sell}

// Decision says how class probabilities become a signal.
type Decision struct {
	Threshold float64  // a less likely winner is a Hold
	Classes   []Signal // what each class says; nil means TradeClasses
}

// FromProbabilities makes one signal of each row of p, which holds as many
// probabilities as there are classes: the most likely class's, the first of equals,
// unless its probability is below the threshold. The confidence is that probability.
// A row that holds a NaN, as a bar without features has, is a Hold of confidence 0.
func FromProbabilities(p []float32, d Decision) ([]Signal, []float32, error) {
	classes := d.Classes
	if classes == nil {
		classes = TradeClasses
	}
	if len(classes) == 0 || len(p)%len(classes) != 0 {
		return nil, nil, fmt.Errorf("%d probabilities do not make rows of %d classes", len(p), len(classes))
	}
	if !(d.Threshold >= 0 && d.Threshold <= 1) {
		return nil, nil, fmt.Errorf("confidence threshold is %v; it must be 0 to 1", d.Threshold)
	}
	for _, s := range classes {
		if s < Sell || s > Buy {
			return nil, nil, fmt.Errorf("class signal %d is not one of %d, %d and %d", s, Sell, Hold, Buy)
		}
	}
	rows := len(p) / len(classes)
	signals, confidence := make([]Signal, rows), make([]float32, rows)
	for i := range rows {
		best, ok := winner(p[i*len(classes) : (i+1)*len(classes)])
		if !ok {
			continue
		}
		confidence[i] = p[i*len(classes)+best]
		if float64(confidence[i]) >= d.Threshold {
			signals[i] = classes[best]
		}
	}
	return signals, confidence, nil
}

// winner returns the index of the largest, or false if one is a NaN.
func winner(row []float32) (int, bool) {
	best, top := -1, float32(math.Inf(-1))
	for j, x := range row {
		if x != x { // NaN
			return -1, false
		}
		if x > top {
			best, top = j, x
		}
	}
	return best, best >= 0
}

// CostModel says what a forecast return must beat to be worth a trade.
type CostModel struct {
	RoundTripCost     float64 // of entry and exit together, as a rate
	MinEdgeMultiplier float64 // how many times that a forecast must promise
}

// sureAt is how many times the least tradable forecast counts as certain.
const sureAt = 3

// FromRegression makes a signal of each forecast return: Buy above the
// round-trip cost times the multiplier, Sell below its negative. The
// confidence grows with the size of the forecast and is 1 from three times
// that threshold on. A NaN is a Hold of confidence 0.
func FromRegression(forecast []float32, m CostModel) ([]Signal, []float32, error) {
	edge := m.RoundTripCost * m.MinEdgeMultiplier
	if !(m.RoundTripCost > 0 && m.MinEdgeMultiplier > 0 && edge > 0 && edge < 1) {
		return nil, nil, errors.New("cost model: round_trip_cost and min_edge_multiplier must be above 0, and their product below 1")
	}
	signals, confidence := make([]Signal, len(forecast)), make([]float32, len(forecast))
	for i, f := range forecast {
		x := float64(f)
		switch {
		case x > edge:
			signals[i] = Buy
		case x < -edge:
			signals[i] = Sell
		}
		if size := max(x, -x); size > 0 {
			confidence[i] = float32(min(size/(sureAt*edge), 1))
		}
	}
	return signals, confidence, nil
}
