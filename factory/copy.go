package factory

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/research"
)

// Copy makes a permuted copy of the series of one world: the same seed, the same copy.
// Symbols are flipped and moved together, so that they move together as before. The
// shortest series of a symbol is permuted; its longer ones are made of it.
func Copy(series []*market.Bars, null research.Null, seed uint64) ([]*market.Bars, error) {
	if err := null.Validate(); err != nil {
		return nil, err
	}
	base := map[string]*market.Bars{}
	var symbols []string
	for _, b := range series {
		if b.Len() == 0 {
			return nil, fmt.Errorf("there are no %s bars of %s to copy", b.Timeframe, b.Symbol)
		}
		known := base[b.Symbol]
		if known == nil {
			symbols = append(symbols, b.Symbol)
		}
		if known == nil || b.Timeframe.End(0) < known.Timeframe.End(0) {
			base[b.Symbol] = b
		}
	}
	var shortest []*market.Bars
	for _, s := range symbols {
		shortest = append(shortest, base[s])
	}
	from := map[string][]int{} // which bar's shape stands at each place
	if null != research.Flips {
		moved := moveBlocks(shortest, num.NewRand(num.Mix(seed, 1)))
		for i, s := range symbols {
			from[s] = moved[i]
		}
	}
	made := map[string]*market.Bars{}
	for s, b := range base {
		made[s] = rebuilt(b, from[s], func(t int64) bool { return null != research.Blocks && num.Mix(seed, 2, uint64(t))&1 == 1 })
	}
	out := make([]*market.Bars, len(series))
	for i, b := range series {
		if out[i] = made[b.Symbol]; b != base[b.Symbol] {
			out[i] = joined(b, made[b.Symbol])
		}
	}
	return out, nil
}

// rebuilt puts bars together again: at place i the shape of bar from[i], mirrored where
// flip says so. The first bar stays.
func rebuilt(b *market.Bars, from []int, flip func(t int64) bool) *market.Bars {
	c := &market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe, Time: b.Time}
	for _, column := range []*[]float64{&c.Open, &c.High, &c.Low, &c.Close, &c.Volume} {
		*column = make([]float64, b.Len())
	}
	last := b.Open[0]
	for i, t := range b.Time {
		k := i
		if from != nil {
			k = from[i]
		}
		was := b.Open[k] // the close before bar k
		if k > 0 {
			was = b.Close[k-1]
		}
		high, low := b.High[k], b.Low[k]
		price := func(x float64) float64 { return last * (x / was) }
		if i > 0 && flip(t) {
			price = func(x float64) float64 { return last * (was / x) }
			high, low = low, high
		}
		open, end := price(b.Open[k]), price(b.Close[k])
		c.Open[i], c.Close[i], c.Volume[i] = open, end, b.Volume[k]
		c.High[i], c.Low[i] = max(price(high), open, end), min(price(low), open, end) // rounding moves none past another
		last = end
	}
	return c
}

// joined makes bars of a longer timeframe of a copy of the shorter one. A bar in which
// the shorter series has none stands still.
func joined(b, shorter *market.Bars) *market.Bars {
	c := &market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
	next, last := 0, shorter.Open[0]
	for next < shorter.Len() && shorter.Time[next] < b.Time[0] {
		last = shorter.Close[next]
		next++
	}
	for _, t := range b.Time {
		x := market.Bar{Time: t, Open: last, High: last, Low: last, Close: last}
		end := b.Timeframe.End(t)
		for first := true; next < shorter.Len() && shorter.Time[next] < end; next++ {
			if first {
				x.Open, x.High, x.Low, first = shorter.Open[next], shorter.High[next], shorter.Low[next], false
			}
			x.High, x.Low = max(x.High, shorter.High[next]), min(x.Low, shorter.Low[next])
			x.Close, x.Volume = shorter.Close[next], x.Volume+shorter.Volume[next]
		}
		last = x.Close
		c.Append(x)
	}
	return c
}

const (
	week      = 7 * 24 * 3600
	monday    = 4 * 24 * 3600 // the first Monday after the epoch, 5 January 1970
	blockBars = 20            // of a series of days and longer
)

// blockOf is the block of bar i.
func blockOf(b *market.Bars, i int) int64 {
	if end := b.Timeframe.End(0); end <= 0 || end >= 24*3600 {
		return int64(i / blockBars)
	}
	return (b.Time[i] - monday + 1000*week) / week
}

// moveBlocks exchanges blocks that have bars at the same hours in every series. It says
// for each place of each series which bar comes there.
func moveBlocks(series []*market.Bars, r *num.Rand) [][]int {
	shapes := map[int64]*strings.Builder{}       // the hours of a block in all series
	starts := make([]map[int64]int, len(series)) // its first bar in each
	for s, b := range series {
		starts[s] = map[int64]int{}
		for i, t := range b.Time {
			block := blockOf(b, i)
			if shapes[block] == nil {
				shapes[block] = &strings.Builder{}
			}
			if _, known := starts[s][block]; !known {
				starts[s][block] = i
				fmt.Fprintf(shapes[block], "|%d|", s)
			}
			at := int64(i % blockBars)
			if end := b.Timeframe.End(0); end > 0 && end < 24*3600 {
				at = (t - monday + 1000*week) % week
			}
			var raw [8]byte
			binary.LittleEndian.PutUint64(raw[:], uint64(at))
			shapes[block].Write(raw[:])
		}
	}
	alike := map[string][]int64{}
	for _, block := range slices.Sorted(maps.Keys(shapes)) {
		alike[shapes[block].String()] = append(alike[shapes[block].String()], block)
	}
	source := map[int64]int64{}
	for _, shape := range slices.Sorted(maps.Keys(alike)) {
		blocks := alike[shape]
		order := make([]int32, len(blocks))
		r.Perm(order)
		for i, k := range order {
			source[blocks[i]] = blocks[k]
		}
	}
	moved := make([][]int, len(series))
	for s, b := range series {
		moved[s] = make([]int, b.Len())
		for i := range b.Time {
			block := blockOf(b, i)
			moved[s][i] = starts[s][source[block]] + i - starts[s][block]
		}
	}
	return moved
}
