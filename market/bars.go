package market

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Bar is one bar: what happened between Time and the next bar's Time.
type Bar struct {
	Time   int64 // opening instant, Unix seconds, UTC
	Open   float64
	High   float64
	Low    float64
	Close  float64
	Volume float64 // NaN: not known
	Spread float64 // from bid to ask, as a price; NaN: not known; 0 where the series has no spreads
}

// Bars is a series of bars in columns, ascending in time and without
// duplicates. The columns have one length and are never changed once the
// series is made: a slice of it, a cache and an operation may share them.
type Bars struct {
	Symbol    string
	Timeframe Timeframe

	Time                   []int64 // opening instants, Unix seconds, UTC
	Open, High, Low, Close []float64

	// Volume is NaN where it is not known: no volume is not a volume of 0.
	Volume []float64

	// Spread is from bid to ask, as a price, NaN where it is not known. It is nil in a
	// series without spreads.
	Spread []float64
}

// Len is the number of bars.
func (b *Bars) Len() int { return len(b.Time) }

// At returns bar i.
func (b *Bars) At(i int) Bar {
	x := Bar{Time: b.Time[i], Open: b.Open[i], High: b.High[i], Low: b.Low[i], Close: b.Close[i], Volume: b.Volume[i]}
	if b.Spread != nil {
		x.Spread = b.Spread[i]
	}
	return x
}

// Slice returns bars i to j, j excluded. It shares the columns.
func (b *Bars) Slice(i, j int) *Bars {
	part := &Bars{
		Symbol: b.Symbol, Timeframe: b.Timeframe, Time: b.Time[i:j:j],
		Open: b.Open[i:j:j], High: b.High[i:j:j], Low: b.Low[i:j:j], Close: b.Close[i:j:j], Volume: b.Volume[i:j:j],
	}
	if b.Spread != nil {
		part.Spread = b.Spread[i:j:j]
	}
	return part
}

// Append adds a bar at the end of a series that is being made.
func (b *Bars) Append(x Bar) {
	b.Time = append(b.Time, x.Time)
	b.Open = append(b.Open, x.Open)
	b.High = append(b.High, x.High)
	b.Low = append(b.Low, x.Low)
	b.Close = append(b.Close, x.Close)
	b.Volume = append(b.Volume, x.Volume)
	if b.Spread != nil {
		b.Spread = append(b.Spread, x.Spread)
	}
}

// Timeframe is the length of a bar: 1m 5m 15m 30m 1h 2h 4h 1d 1w 1M.
type Timeframe string

// The timeframes.
const (
	M1  Timeframe = "1m"
	M5  Timeframe = "5m"
	M15 Timeframe = "15m"
	M30 Timeframe = "30m"
	H1  Timeframe = "1h"
	H2  Timeframe = "2h"
	H4  Timeframe = "4h"
	D1  Timeframe = "1d"
	W1  Timeframe = "1w"
	Mo1 Timeframe = "1M"
)

// Timeframes lists them all, shortest first.
var Timeframes = []Timeframe{M1, M5, M15, M30, H1, H2, H4, D1, W1, Mo1}

var lengths = map[Timeframe]time.Duration{
	M1: time.Minute, M5: 5 * time.Minute, M15: 15 * time.Minute, M30: 30 * time.Minute,
	H1: time.Hour, H2: 2 * time.Hour, H4: 4 * time.Hour,
	D1: 24 * time.Hour, W1: 7 * 24 * time.Hour, Mo1: 0, // months differ in length: see End
}

// ParseTimeframe reads a timeframe.
func ParseTimeframe(s string) (Timeframe, error) {
	if _, ok := lengths[Timeframe(s)]; ok {
		return Timeframe(s), nil
	}
	return "", fmt.Errorf("timeframe %q is not one of ours; %s", s, text.Choices(s, Timeframes))
}

// End is when the bar that opens at t closes, Unix seconds: the first instant at which its close may be known.
func (tf Timeframe) End(t int64) int64 {
	if tf == Mo1 {
		return time.Unix(t, 0).UTC().AddDate(0, 1, 0).Unix()
	}
	return t + int64(lengths[tf]/time.Second)
}

// Hash identifies the series by its content: the same symbol, timeframe and
// bars have the same hash on every machine, and in every version of the
// program. It is SHA-256 over
//
//	"ktrdr bars 1\n"                      13 bytes
//	length of the symbol                  uint32
//	symbol                                its bytes
//	length of the timeframe               uint32
//	timeframe                             its bytes, such as "1h"
//	number of bars                        uint64
//	time open high low close volume       one column after the other, 8 bytes a value
//
// with numbers in little-endian order, times as Unix seconds and prices as IEEE 754 bits.
// A volume that is not known has the bits 7ff8000000000001. Of a series with spreads the
// first line is "ktrdr bars 2\n", and the column of spreads comes last.
func (b *Bars) Hash() [32]byte {
	h := sha256.New()
	head := []byte("ktrdr bars 1\n")
	if b.Spread != nil {
		head = []byte("ktrdr bars 2\n")
	}
	for _, s := range []string{b.Symbol, string(b.Timeframe)} {
		head = binary.LittleEndian.AppendUint32(head, uint32(len(s)))
		head = append(head, s...)
	}
	head = binary.LittleEndian.AppendUint64(head, uint64(b.Len()))
	h.Write(head)
	_ = b.writeColumns(h, nil) // a hash takes everything
	return [32]byte(h.Sum(nil))
}

// writeColumns writes the columns as files and hashes hold them, each followed by padding.
func (b *Bars) writeColumns(w io.Writer, padding []byte) error {
	const block = 8 << 10 // bars that are written at once
	buf := make([]byte, 8*min(block, b.Len()))
	for at := range b.Places(0, b.Len(), block) {
		if _, err := w.Write(storedTimes(buf, b.Time[at:min(at+block, b.Len())])); err != nil {
			return err
		}
	}
	if _, err := w.Write(padding); err != nil {
		return err
	}
	for _, column := range b.columns() {
		for at := range b.Places(0, b.Len(), block) {
			if _, err := w.Write(storedValues(buf, (*column)[at:min(at+block, b.Len())])); err != nil {
				return err
			}
		}
		if _, err := w.Write(padding); err != nil {
			return err
		}
	}
	return nil
}

// littleEndian tells that this machine holds numbers in memory as files and hashes do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// storedTimes are times as files and hashes hold them: where they lie, or in buf.
func storedTimes(buf []byte, times []int64) []byte {
	if littleEndian {
		return bytesOfColumn(times)
	}
	for i, t := range times {
		binary.LittleEndian.PutUint64(buf[8*i:], uint64(t))
	}
	return buf[:8*len(times)]
}

// storedValues are values as files and hashes hold them: where they lie, or in buf.
func storedValues(buf []byte, values []float64) []byte {
	if littleEndian && !slices.ContainsFunc(values, math.IsNaN) { // a NaN may have other bits than the one in files
		return bytesOfColumn(values)
	}
	for i, v := range values {
		binary.LittleEndian.PutUint64(buf[8*i:], bitsOf(v))
	}
	return buf[:8*len(values)]
}

// bitsOf are the bits of a value in files and hashes: those of one NaN for every NaN.
func bitsOf(v float64) uint64 {
	if v != v {
		return unknownBits
	}
	return math.Float64bits(v)
}

const unknownBits = 0x7ff8000000000001

// columns are the columns but Time, in the order in which files and hashes hold them.
// That of the spreads is there only in a series that has some.
func (b *Bars) columns() []*[]float64 {
	all := []*[]float64{&b.Open, &b.High, &b.Low, &b.Close, &b.Volume, &b.Spread}
	if b.Spread == nil {
		all = all[:5]
	}
	return all
}

// Lacking is how many bars have no known volume.
func (b *Bars) Lacking() int {
	n := 0
	for i := range b.Places(0, b.Len(), 1) {
		if v := b.Volume[i]; v != v {
			n++
		}
	}
	return n
}
