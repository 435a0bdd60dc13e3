package lookahead

import (
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/train"
)

// The cheats that can be planted: the four ways in which backtests are most
// often better than any trader can be.
const (
	sameBarFill      = "same-bar-fill"        // an order is filled in the bar whose close decided it
	centredWindow    = "centred-window"       // an average reaches to both sides of its bar
	allSampleScaling = "whole-sample-scaling" // inputs are scaled by a mean that the future has a part in
	labelOverlap     = "label-overlap"        // labels of one part of the split end in the next
)

// Cheats are the names of the cheats.
var Cheats = []string{sameBarFill, centredWindow, allSampleScaling, labelOverlap}

// cheatPreparation does to a dataset what careless preparations do.
func (c *timeChecker) cheatPreparation(ds *train.Dataset, data []train.Series) {
	switch c.plant {
	case allSampleScaling:
		scaleByAll(ds)
	case labelOverlap:
		closes := make([][]float64, len(data))
		for i, d := range data {
			closes[i] = frameOf(d, c.strategy.Data.Base).Close
		}
		ds.Train = overlapping(ds, closes, ds.Train, ds.Split.Validation)
		ds.Validation = overlapping(ds, closes, ds.Validation, ds.Split.Test)
	}
}

// scaleByAll standardises every input by all rows there are, before and after the split.
func scaleByAll(ds *train.Dataset) {
	t := &ds.Table
	for column := range t.Inputs {
		var n, sum, squares float64
		for row := range t.Rows {
			if x := float64(t.X[row*t.Stride+column]); !math.IsNaN(x) {
				n, sum, squares = n+1, sum+x, squares+x*x
			}
		}
		if n == 0 {
			continue
		}
		mean := sum / n
		unit := math.Sqrt(max(squares/n-mean*mean, 1e-12))
		for row := range t.Rows {
			x := &t.X[row*t.Stride+column]
			*x = float32((float64(*x) - mean) / unit)
		}
	}
}

// overlapping is a part of the split that extends to where the next one begins:
// the samples whose labels would end in there are kept, labelled by what the
// price does over the bars to come.
func overlapping(ds *train.Dataset, closes [][]float64, honest []int32, border int64) []int32 {
	const ahead = 10
	part := slices.Clone(honest)
	for k, block := range ds.Symbols {
		behind, _ := slices.BinarySearch(honest, int32(block.First+len(block.Time)))
		if behind == 0 || int(honest[behind-1]) < block.First {
			continue // the symbol has no sample in this part
		}
		price := closes[k]
		for i := int(honest[behind-1]) + 1 - block.First; i < len(block.Time) && block.Time[i] < border; i++ {
			label(ds, block.First+i, price[min(i+ahead, len(price)-1)]/price[i]-1)
			part = append(part, int32(block.First+i))
		}
	}
	slices.Sort(part)
	return part
}

// label labels a row by a move of the price: with the first class, or the last.
func label(ds *train.Dataset, row int, move float64) {
	switch {
	case ds.Table.Class == nil:
		ds.Table.Target[row] = float32(move)
	case move > 0:
		ds.Table.Class[row] = 0
	default:
		ds.Table.Class[row] = int8(len(ds.Classes) - 1)
	}
}

// centred smooths closes by a window that reaches two bars into the future, highs and lows following.
func centred(d train.Series) train.Series {
	const reach = 2
	out := train.Series{Symbol: d.Symbol, Context: d.Context}
	for _, b := range d.Bars {
		c := *b
		c.High, c.Low, c.Close = slices.Clone(b.High), slices.Clone(b.Low), make([]float64, b.Len())
		for i := range b.Len() {
			around := b.Close[max(0, i-reach):min(b.Len(), i+reach+1)]
			for _, x := range around {
				c.Close[i] += x / float64(len(around))
			}
			c.High[i], c.Low[i] = max(c.High[i], c.Close[i]), min(c.Low[i], c.Close[i])
		}
		out.Bars = append(out.Bars, &c)
	}
	return out
}
