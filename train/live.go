package train

import (
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

// VerifyLive computes the last answer of signals again from bars that arrive one by one.
// What would be traded tomorrow must be what was tested.
func VerifyLive(m *TrainedModel, data Series, said *Signals) error {
	live, window := feature.NewLive(m.Strategy), m.Strategy.Model.Window()
	var rows [][]float32 // the last rows, as the network sees them
	known := 0           // rows in a row that have every feature
	read, err := data.reading(m.Strategy)
	if err != nil {
		return err
	}
	err = arrivals(read, func(of *market.Bars, b market.Bar) error {
		if of.Symbol != read.Symbol {
			return live.PushContext(strategy.Series{Symbol: of.Symbol, Timeframe: of.Timeframe}, b)
		}
		row, defined, err := live.Push(of.Timeframe, b)
		if err != nil || of != read.base() {
			return err
		}
		known++
		if !defined {
			known = 0
		}
		row = slices.Clone(row)
		m.Info.Norm.Row(row)
		rows = append(rows, row)
		if len(rows) > window {
			rows = rows[1:]
		}
		return nil
	})
	at := len(said.Signal) - 1
	if err != nil || at < 0 || known < window || at < m.Strategy.Data.History {
		return err
	}
	stride := len(rows[0])
	table := neural.Dataset{Rows: len(rows), Inputs: len(m.Info.Features), Stride: stride, X: slices.Concat(rows...)}
	answer := make([]float32, said.Outputs)
	if err := neural.NewPredictor(m.Net, 1).Predict(&table, []int32{int32(len(rows) - 1)}, answer); err != nil {
		return err
	}
	m.Answers(answer)
	if !slices.Equal(answer, said.Answer(at)) {
		return fmt.Errorf("at the last bar the model answers %v when all bars are there and %v when they arrive one by one: please report "+
			"this, and do not trade it", said.Answer(at), answer)
	}
	return nil
}

// arrivals gives the bars in the order in which they close, those of the base last.
func arrivals(data Series, take func(of *market.Bars, b market.Bar) error) error {
	all := data.all()
	next := make([]int, len(all))
	for {
		first := -1
		for i, b := range all {
			if next[i] == b.Len() {
				continue
			}
			if first < 0 {
				first = i
				continue
			}
			mine, best := b.Timeframe.End(b.Time[next[i]]), all[first].Timeframe.End(all[first].Time[next[first]])
			if mine < best || mine == best && all[first] == data.base() {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		b := all[first]
		if err := take(b, b.At(next[first])); err != nil {
			return err
		}
		next[first]++
	}
}
