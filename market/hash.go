package market

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
)

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
func (b *Bars) Hash() [32]byte {
	h := sha256.New()
	head := []byte("ktrdr bars 1\n")
	for _, s := range []string{b.Symbol, string(b.Timeframe)} {
		head = binary.LittleEndian.AppendUint32(head, uint32(len(s)))
		head = append(head, s...)
	}
	head = binary.LittleEndian.AppendUint64(head, uint64(b.Len()))
	h.Write(head)
	buf := make([]byte, 0, 32<<10)
	for _, t := range b.Time {
		buf = flushed(h, binary.LittleEndian.AppendUint64(buf, uint64(t)))
	}
	for _, column := range b.prices() {
		for _, v := range column {
			buf = flushed(h, binary.LittleEndian.AppendUint64(buf, math.Float64bits(v)))
		}
	}
	h.Write(buf)
	return [32]byte(h.Sum(nil))
}

func flushed(h hash.Hash, buf []byte) []byte {
	if len(buf) < cap(buf) {
		return buf
	}
	h.Write(buf)
	return buf[:0]
}

// prices are the columns but Time, in the order in which files and hashes hold them.
func (b *Bars) prices() [5][]float64 {
	return [5][]float64{b.Open, b.High, b.Low, b.Close, b.Volume}
}

func (b *Bars) columns() [5]*[]float64 {
	return [5]*[]float64{&b.Open, &b.High, &b.Low, &b.Close, &b.Volume}
}
