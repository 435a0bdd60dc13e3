package train

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

// Dataset is what a network is trained and judged on. Its table has a row for
// every bar of the base timeframe, one symbol after the other:
//
//	row   0 1 2 3 4 5 6 7 8 9 …
//	      EURUSD ────▶│GBPUSD ────▶
//
// A row holds the features of its bar and, where there is one, its label: both
// are written by (symbol, bar), so they cannot belong to different bars. The
// parts of the split list rows. A recurrent network reads the rows before a
// sample's row too; samples are chosen such that these are of the same symbol
// and have all their features.
type Dataset struct {
	Table    neural.Dataset
	Symbols  []Block
	Features []string
	Norm     feature.Norm // fitted on the training samples; the table is normalised with it

	Classes      []string  // of a classification; nil for a regression
	ClassWeights []float32 // what the loss weighs classes with; nil for none
	Unit         Unit      // of a regression: what the targets of the table are counted in; 0 for a classification

	Split                   metrics.Split
	Train, Validation, Test []int32 // rows, symbol by symbol, each in order of time

	context  []metrics.Source // bars of the context symbols
	purged   [3]int
	strategy [32]byte // hash of what it was prepared for
	options  Options
}

// Block is the rows of one symbol.
type Block struct {
	Symbol  string
	First   int     // its first row in the table
	Time    []int64 // opening instants of its bars, one for each row
	Sources []metrics.Source
}

func (ds *Dataset) parts() [3][]int32 { return [3][]int32{ds.Train, ds.Validation, ds.Test} }

func (ds *Dataset) where(row int32) (symbol string, at int64) {
	i := sort.Search(len(ds.Symbols), func(i int) bool { return ds.Symbols[i].First > int(row) }) - 1
	b := ds.Symbols[i]
	return b.Symbol, b.Time[int(row)-b.First]
}

// Sources lists the bars that the dataset was made from.
func (ds *Dataset) Sources() []metrics.Source {
	var list []metrics.Source
	for _, b := range ds.Symbols {
		list = append(list, b.Sources...)
	}
	return list
}

// Context lists the bars of context symbols that the dataset was made from.
func (ds *Dataset) Context() []metrics.Source { return ds.context }

// Hash identifies the dataset by what it was made from: strategy, bars, span and split.
func (ds *Dataset) Hash() [32]byte {
	h := sha256.New()
	h.Write([]byte(versions()))
	h.Write(ds.strategy[:])
	for _, s := range slices.Concat(ds.Sources(), ds.context) {
		sum, err := hex.DecodeString(s.Hash)
		if err != nil {
			panic("train: a hash that is not hex: " + s.Hash)
		}
		h.Write(sum)
	}
	for _, at := range []int64{ds.options.start(), ds.options.end(), ds.Split.Validation, ds.Split.Test, ds.Split.End} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(at)))
	}
	return [32]byte(h.Sum(nil))
}

func (ds *Dataset) summary() metrics.DataSummary {
	return metrics.DataSummary{
		Sources: ds.Sources(), Context: ds.context, Features: ds.Features, Split: ds.Split, Parts: ds.partReports(), Unit: float64(ds.Unit),
	}
}

func (ds *Dataset) partReports() []metrics.PartReport {
	var list []metrics.PartReport
	for p, rows := range ds.parts() {
		r := metrics.PartReport{Name: partNames[p], Samples: len(rows), Purged: ds.purged[p]}
		r.From, r.To = ds.extent(rows)
		if ds.Classes != nil {
			r.Classes = make([]int, len(ds.Classes))
			for _, row := range rows {
				r.Classes[ds.Table.Class[row]]++
			}
		} else if len(rows) > 0 {
			r.Mean, r.Up = ds.targets(rows)
		}
		list = append(list, r)
	}
	return list
}

func (ds *Dataset) extent(rows []int32) (from, to int64) {
	for _, b := range ds.Symbols {
		i := sort.Search(len(rows), func(i int) bool { return int(rows[i]) >= b.First })
		j := sort.Search(len(rows), func(i int) bool { return int(rows[i]) >= b.First+len(b.Time) })
		if i == j {
			continue
		}
		first, last := b.Time[int(rows[i])-b.First], b.Time[int(rows[j-1])-b.First]
		if from == 0 || first < from {
			from = first
		}
		to = max(to, last)
	}
	return from, to
}

// target is the value that a row's label has.
func (ds *Dataset) target(row int32) float64 { return ds.Unit.value(ds.Table.Target[row]) }

// targets is the mean of the targets of rows, and the share of those above 0.
func (ds *Dataset) targets(rows []int32) (mean, up float64) {
	for _, row := range rows {
		x := ds.target(row)
		mean += x
		if x > 0 {
			up++
		}
	}
	n := float64(len(rows))
	return mean / n, up / n
}

// Unit is what a regression counts its targets in. Returns of an hour are a
// thousandth, and their squares nothing beside a weight decay or a min_delta;
// returns of a wild market are so large that each step is clipped. So a network
// is trained on targets whose size is about 1:
//
//	return ── ÷ unit ──▶ target ── network ──▶ output ── × unit ──▶ forecast
//
// It is the power of two nearest to the root mean square of the training part,
// which knows no later bar. A power of two loses no bit on either way, and
// without a shift what is above 0 stays above 0.
type Unit float64

// unitOf is the unit for the values of rows; 1 where they are all 0.
func unitOf(values []float32, rows []int32) Unit {
	sum := 0.0
	for _, row := range rows {
		x := float64(values[row])
		sum += float64(x * x)
	}
	size := math.Sqrt(sum / float64(len(rows)))
	if !(size > 0) || math.IsInf(size, 0) {
		return 1
	}
	fraction, exponent := math.Frexp(size)
	if fraction < math.Sqrt2/2 {
		exponent--
	}
	return Unit(math.Ldexp(1, min(max(exponent, -maxExponent), maxExponent)))
}

// maxExponent keeps the unit a number that a float32 can have, and can be divided by.
const maxExponent = 100

// value is the return that a target or an output stands for.
func (u Unit) value(x float32) float64 { return float64(float64(x) * float64(u)) }

// scale makes returns targets.
func (u Unit) scale(x []float32) {
	for i := range x {
		x[i] = float32(float64(x[i]) / float64(u))
	}
}

// unscale makes outputs forecasts.
func (u Unit) unscale(x []float32) {
	for i := range x {
		x[i] = float32(u.value(x[i]))
	}
}

// check refuses a unit that no training of the strategy can have made.
func (u Unit) check(s *strategy.Strategy) error {
	fraction, exponent := math.Frexp(float64(u))
	made := fraction == 0.5 && max(exponent, -exponent) <= maxExponent+1
	if s.Decisions.Output != strategy.Regression {
		made = u == 0
	}
	if !made {
		return fmt.Errorf("its target unit %v is not one of a model whose output is %s", float64(u), s.Decisions.Output)
	}
	return nil
}
