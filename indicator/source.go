package indicator

import (
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// Source is the series an indicator of one series reads.
type Source string

// The sources: the columns, and three ways to sum a bar up in one price.
const (
	Close  Source = "close"
	Open   Source = "open"
	High   Source = "high"
	Low    Source = "low"
	Volume Source = "volume"
	HL2    Source = "hl2"   // (high + low) / 2
	HLC3   Source = "hlc3"  // (high + low + close) / 3
	OHLC4  Source = "ohlc4" // (open + high + low + close) / 4
)

// sourceParam is the parameter that chooses it.
var sourceParam = Param{
	Name: "source", Kind: Choice, Doc: "series that is read",
	Choices: text.Strings([]Source{Close, Open, High, Low, Volume, HL2, HLC3, OHLC4}),
}

// columns is a set of columns of the bars.
type columns uint8

const (
	opens columns = 1 << iota
	highs
	lows
	closes
	volumes
)

// each calls f with the columns of the set.
func (c columns) each(b *market.Bars, f func([]float64)) {
	for i, column := range [...][]float64{b.Open, b.High, b.Low, b.Close, b.Volume} {
		if c&(1<<i) != 0 {
			f(column)
		}
	}
}

// reads is the set of columns that the source is made of.
func (s Source) reads() columns { return madeOf[s] }

var madeOf = map[Source]columns{
	Close: closes, Open: opens, High: highs, Low: lows, Volume: volumes,
	HL2: highs | lows, HLC3: highs | lows | closes, OHLC4: opens | highs | lows | closes,
}

// of returns the source's values: a column itself, or made in room.
func (s Source) of(b *market.Bars, room *scratch) []float64 {
	switch s {
	case Open:
		return b.Open
	case High:
		return b.High
	case Low:
		return b.Low
	case Volume:
		return b.Volume
	case HL2:
		return midpoints(b, room)
	case HLC3:
		return typicalPrices(b, room)
	case OHLC4:
		x := room.take(b.Len())
		o, h, l, c := b.Open[:len(x)], b.High[:len(x)], b.Low[:len(x)], b.Close[:len(x)]
		for i := range x {
			x[i] = (o[i] + h[i] + l[i] + c[i]) / 4
		}
		return x
	default:
		return b.Close
	}
}

// machine is one whose only output is what next makes of the source.
func (s Source) machine(next step) machine {
	var room scratch
	return func(in *market.Bars, out [][]float64) { next(s.of(in, &room), out[0]) }
}

// midpoints are the middles of the bars' ranges.
func midpoints(b *market.Bars, room *scratch) []float64 {
	x := room.take(b.Len())
	h, l := b.High[:len(x)], b.Low[:len(x)]
	for i := range x {
		x[i] = (h[i] + l[i]) / 2
	}
	return x
}

// typicalPrices are the means of high, low and close.
func typicalPrices(b *market.Bars, room *scratch) []float64 {
	x := room.take(b.Len())
	h, l, c := b.High[:len(x)], b.Low[:len(x)], b.Close[:len(x)]
	for i := range x {
		x[i] = (h[i] + l[i] + c[i]) / 3
	}
	return x
}
