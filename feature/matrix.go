package feature

import (
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// Matrix is the features of one symbol, a row for each base bar.
//
//	        1h_rsi_low  1h_rsi_high  4h_adx_raw
//	row 0       NaN         NaN          NaN
//	 …
//	First       0.3         0            27.1     every feature has a value
//	 …
//
// Raw columns hold the indicator's own values until a Norm is applied.
type Matrix struct {
	Names     []string
	Norms     []strategy.Normalization // per feature, how Fit is to scale it
	Rows      int
	Cols      int
	Stride    int       // row i is X[i*Stride : i*Stride+Cols]; a multiple of 16, the rest is 0
	X         []float32 // row by row
	First     int       // first row in which every feature has a value; Rows if there is no such row
	Undefined []int     // per feature, rows from First on without a value: a division by an empty range, or a bar that is not finite
	Scaled    bool      // a Norm was applied

	run []int32 // per row, how many rows up to it are defined without a break
}

// Row returns row i without its padding. It is a part of the matrix.
func (m *Matrix) Row(i int) []float32 { return m.X[i*m.Stride:][:m.Cols:m.Cols] }

// Usable says whether row i and those before it, window in all, have every
// value: only then may a network be asked.
func (m *Matrix) Usable(i, window int) bool { return int(m.run[i]) >= window }

// Build computes the features of one symbol. data holds its bars first, one series
// for each timeframe of the strategy, and those of the context symbols that the
// strategy reads, in any order.
func Build(s *strategy.Strategy, data []*market.Bars) (*Matrix, error) {
	series, err := sortOut(s, data)
	if err != nil {
		return nil, err
	}
	own := 1 // series of the symbol that is traded
	for own < len(data) && data[own].Symbol == data[0].Symbol {
		own++
	}
	if err := Volumes(s, data[:own], data[own:]); err != nil {
		return nil, err
	}
	p := planFor(s)
	base := series[strategy.Series{Timeframe: s.Data.Base}]
	rows := base.Len()
	m := &Matrix{Rows: rows, Cols: len(p.columns), Stride: (len(p.columns) + 15) / 16 * 16}
	for _, c := range p.columns {
		m.Names = append(m.Names, string(c.ID))
		m.Norms = append(m.Norms, c.Normalization)
	}
	m.X = make([]float32, rows*m.Stride)
	var room scratch
	for _, from := range p.series {
		b := series[from]
		var at []int32
		if b != base {
			at = market.Align(base, b)
		}
		for _, src := range p.sources[from] {
			m.fill(src, b, at, &room)
		}
	}
	m.judge()
	return m, nil
}

// sortOut finds every series that the strategy reads and refuses what does not belong together.
func sortOut(s *strategy.Strategy, data []*market.Bars) (map[strategy.Series]*market.Bars, error) {
	series := map[strategy.Series]*market.Bars{}
	context := s.ContextSeries()
	for _, b := range data {
		is := strategy.Series{Symbol: b.Symbol, Timeframe: b.Timeframe}
		switch {
		case b.Symbol == data[0].Symbol:
			is.Symbol = ""
			if !slices.Contains(s.Data.Timeframes, b.Timeframe) {
				return nil, fmt.Errorf("strategy %s does not use %s bars", s.Name, b.Timeframe)
			}
		case !slices.Contains(s.Data.Context, b.Symbol):
			return nil, fmt.Errorf("features are of one symbol; these bars are of %s and %s", data[0].Symbol, b.Symbol)
		case !slices.Contains(context, is):
			return nil, fmt.Errorf("strategy %s does not use %s bars of %s", s.Name, b.Timeframe, b.Symbol)
		}
		if series[is] != nil {
			return nil, fmt.Errorf("there are two series of %s bars of %s", b.Timeframe, b.Symbol)
		}
		series[is] = b
	}
	for _, tf := range s.Data.Timeframes {
		if series[strategy.Series{Timeframe: tf}] == nil {
			return nil, fmt.Errorf("strategy %s needs %s bars, and there are none: import them or make them of shorter ones", s.Name, tf)
		}
	}
	for _, c := range context {
		if series[c] == nil {
			return nil, fmt.Errorf("strategy %s reads %s bars of %s, and there are none: import them", s.Name, c.Timeframe, c.Symbol)
		}
	}
	return series, nil
}

type scratch struct {
	outputs [][]float64
	member  []float32
}

func (r *scratch) take(outputs, n int) ([][]float64, []float32) {
	for len(r.outputs) < outputs {
		r.outputs = append(r.outputs, nil)
	}
	out := r.outputs[:outputs]
	for i := range out {
		if cap(out[i]) < n {
			out[i] = make([]float64, n)
		}
		out[i] = out[i][:n]
	}
	if cap(r.member) < n {
		r.member = make([]float32, n)
	}
	return out, r.member[:n]
}

// fill computes one indicator on one timeframe, once, and every column that reads it.
func (m *Matrix) fill(src source, b *market.Bars, at []int32, room *scratch) {
	out, values := room.take(len(src.indicator.Outputs()), b.Len())
	src.indicator.Compute(b, out)
	if at == nil {
		m.fillBase(src, out, values)
		return
	}
	for _, c := range src.columns {
		c.apply(values, out[c.output])
		for i, k := range at {
			v := float32(math.NaN())
			if k >= 0 {
				v = values[k]
			}
			m.X[i*m.Stride+c.index] = v
		}
	}
}

// fillBase writes the columns of an indicator on the base timeframe, some rows at
// a time, so that these are still in the cache for the next column.
func (m *Matrix) fillBase(src source, out [][]float64, values []float32) {
	const some = 256
	for from := 0; from < m.Rows; from += some {
		to := min(from+some, m.Rows)
		for _, c := range src.columns {
			piece := values[:to-from]
			c.apply(piece, out[c.output][from:to])
			at := from*m.Stride + c.index
			for _, v := range piece {
				m.X[at] = v
				at += m.Stride
			}
		}
	}
}

// judge finds which rows have every value.
func (m *Matrix) judge() {
	m.run = make([]int32, m.Rows)
	m.First = m.Rows
	m.Undefined = make([]int, m.Cols)
	run := int32(0)
	for i := range m.Rows {
		run++
		lacking := float32(0)
		for _, v := range m.Row(i) {
			lacking += v - v // 0 of a number, NaN of NaN and infinity
		}
		if lacking != 0 {
			run = 0
		}
		m.run[i] = run
		if run == 0 && m.First < m.Rows {
			m.count(i)
		}
		if run > 0 && m.First == m.Rows {
			m.First = i
		}
	}
}

func (m *Matrix) count(i int) {
	for k, v := range m.Row(i) {
		if v-v != 0 {
			m.Undefined[k]++
		}
	}
}
