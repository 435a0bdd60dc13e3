package compute

import (
	"encoding/binary"
	"math"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// The file of bars between two checkpoints of a fetch: the number of columns beside the
// times, 5 or 6, as a byte, then one column after the other, 8 bytes a value, little-endian.

func columnsOf(b *market.Bars) []*[]float64 {
	all := []*[]float64{&b.Open, &b.High, &b.Low, &b.Close, &b.Volume}
	if b.Spread != nil {
		all = append(all, &b.Spread)
	}
	return all
}

func encodeColumns(b *market.Bars) []byte {
	columns := columnsOf(b)
	out := make([]byte, 0, 1+8*b.Len()*(1+len(columns)))
	out = append(out, byte(len(columns)))
	for _, t := range b.Time {
		out = binary.LittleEndian.AppendUint64(out, uint64(t))
	}
	for _, c := range columns {
		for _, v := range *c {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		}
	}
	return out
}

func decodeColumns(data []byte, b *market.Bars) error {
	if len(data) == 0 || data[0] != 5 && data[0] != 6 || (len(data)-1)%(8*(1+int(data[0]))) != 0 {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "the bars of the fetch are no columns of one length")
	}
	*b = market.Bars{}
	if data[0] == 6 {
		b.Spread = []float64{}
	}
	n := (len(data) - 1) / (8 * (1 + int(data[0])))
	values := data[1:]
	next := func() uint64 {
		v := binary.LittleEndian.Uint64(values)
		values = values[8:]
		return v
	}
	b.Time = make([]int64, n)
	for i := range b.Time {
		b.Time[i] = int64(next())
	}
	for _, c := range columnsOf(b) {
		*c = make([]float64, n)
		for i := range *c {
			(*c)[i] = math.Float64frombits(next())
		}
	}
	return nil
}
