package train

import (
	"cmp"
	"slices"

	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

// best is the epoch that did best on the validation part, and a copy of its
// weights. Patience is counted beside it: an improvement too small to count for
// early stopping is still an improvement of the weights.
type best struct {
	epoch   int     // from 1; 0 before the first
	value   float64 // of what is watched; smaller is better
	weights []neural.Param

	counted float64 // value of the last improvement that counted
	waited  int     // epochs since
}

// watched is the value of what the strategy watches, turned so that smaller is better.
func watched(m strategy.Monitor, v neural.Score) float64 {
	if m == strategy.ValidationAccuracy {
		return -accuracy(v.Right, v.Rows)
	}
	return v.Loss
}

// see takes note of an epoch. It copies the weights of net if they are the best so far.
func (b *best) see(epoch int, value float64, minDelta float64, net *neural.Net) {
	if b.epoch == 0 || value < b.counted-minDelta {
		b.counted, b.waited = value, 0
	} else {
		b.waited++
	}
	if b.epoch == 0 || value < b.value {
		b.epoch, b.value, b.weights = epoch, value, net.Params()
	}
}

func monitor(t strategy.Training) strategy.Monitor {
	return cmp.Or(t.EarlyStopping.Monitor, strategy.ValidationLoss)
}

func accuracy(right, rows int) float64 {
	if rows == 0 {
		return 0
	}
	return float64(right) / float64(rows)
}

func bestOf(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	return new(slices.Max(x))
}

func lastOf(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	return new(x[len(x)-1])
}
