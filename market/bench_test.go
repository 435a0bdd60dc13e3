package market

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// Both sides of a comparison run in one benchmark, in turn, so that the ratio
// it prints holds on a busy machine too.

// turns runs a and b in turn and reports b's time as a multiple of a's.
func turns(b *testing.B, unit string, first, second func()) {
	b.Helper()
	var x, y time.Duration
	for b.Loop() {
		t0 := time.Now()
		first()
		t1 := time.Now()
		second()
		x, y = x+t1.Sub(t0), y+time.Since(t1)
	}
	b.ReportMetric(float64(x.Microseconds())/float64(b.N)/1e3, "ms")
	b.ReportMetric(float64(y)/float64(x), unit)
}

const benchBars = 1_000_000

// mapped opens a file without a look at its columns.
func mapped(path string) (*Bars, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	b, c, _, err := open(f)
	return b, c, err
}

// BenchmarkOpen opens a million bars and reads every value of every column,
// beside one copy of as many bytes.
func BenchmarkOpen(b *testing.B) {
	bars := Synth(SynthConfig{Timeframe: M1, Bars: benchBars})
	path := written(b, bars)
	src, dst := make([]byte, 48*benchBars), make([]byte, 48*benchBars)
	copy(src, dst) // both are in memory now
	load := func(open func(string) (*Bars, io.Closer, error), use func(*Bars)) func() {
		return func() {
			bars, c, err := open(path)
			if err != nil {
				b.Fatal(err)
			}
			use(bars)
			if err := c.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	memcpy := func() { copy(dst, src) }
	all := func(bars *Bars) {
		var t int64
		for _, v := range bars.Time {
			t += v
		}
		for _, column := range bars.columns() {
			column := *column
			var sum [4]float64
			for i := 0; i+4 <= len(column); i += 4 {
				sum[0] += column[i]
				sum[1] += column[i+1]
				sum[2] += column[i+2]
				sum[3] += column[i+3]
			}
			benchSink += sum[0] + sum[1] + sum[2] + sum[3] + float64(t)
		}
	}
	b.Run("open only", func(b *testing.B) { turns(b, "memcpy/open", load(mapped, func(*Bars) {}), memcpy) })
	b.Run("read all columns", func(b *testing.B) { turns(b, "memcpy/open", load(mapped, all), memcpy) })
	b.Run("verified", func(b *testing.B) { turns(b, "memcpy/open", load(OpenVerified, func(*Bars) {}), memcpy) })
}

var benchSink float64

// csvText writes a series as pandas does.
func csvText(b *Bars) []byte {
	text := []byte("timestamp,open,high,low,close,volume\n")
	for i := range b.Len() {
		text = time.Unix(b.Time[i], 0).UTC().AppendFormat(text, "2006-01-02 15:04:05")
		for _, column := range b.columns() {
			text = strconv.AppendFloat(append(text, ','), (*column)[i], 'f', -1, 64)
		}
		text = append(text, '\n')
	}
	return text
}

// BenchmarkReadCSV reads text beside encoding/csv with strconv.ParseFloat and
// time.Parse, which checks nothing.
func BenchmarkReadCSV(b *testing.B) {
	text := csvText(Synth(SynthConfig{Timeframe: M1, Bars: benchBars / 5}))
	b.SetBytes(int64(len(text)))
	turns(b, "encoding/csv", func() {
		if _, _, err := ReadCSV(bytes.NewReader(text), ImportOptions{Timeframe: M1}); err != nil {
			b.Fatal(err)
		}
	}, func() {
		if err := plainCSV(text); err != nil {
			b.Fatal(err)
		}
	})
}

func plainCSV(text []byte) error {
	var out Bars
	r := csv.NewReader(bytes.NewReader(text))
	r.ReuseRecord = true
	if _, err := r.Read(); err != nil {
		return err
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at, err := time.Parse("2006-01-02 15:04:05", row[0])
		if err != nil {
			return err
		}
		var v [5]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[i+1], 64); err != nil {
				return err
			}
		}
		out.Append(Bar{at.Unix(), v[0], v[1], v[2], v[3], v[4], 0})
	}
}

// BenchmarkReadParquet reads a file by columns beside the library's own reader
// of rows.
func BenchmarkReadParquet(b *testing.B) {
	data := asParquet(b, parquetRows(Synth(SynthConfig{Timeframe: M1, Bars: benchBars / 5}), 1e3), parquet.Compression(&parquet.Snappy))
	b.SetBytes(int64(len(data)))
	turns(b, "rows", func() {
		if _, _, err := fromParquet(data, ImportOptions{Timeframe: M1}); err != nil {
			b.Fatal(err)
		}
	}, func() {
		if _, err := parquet.Read[parquetRow](bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkCompare compares two series at all offsets.
func BenchmarkCompare(b *testing.B) {
	hours, minutes := Synth(SynthConfig{Bars: 60_000, Seed: 1}), Synth(SynthConfig{Timeframe: M1, Bars: 2 * benchBars, Seed: 1})
	days, err := Resample(minutes, D1)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		first  *Bars
		second *Bars
	}{
		{"60,000 hours with other hours", hours, Synth(SynthConfig{Bars: 60_000, Seed: 2})},
		{"60,000 hours with a copy", hours, hours.Slice(0, 59_999)},
		{"2 million minutes with others", minutes, Synth(SynthConfig{Timeframe: M1, Bars: 2 * benchBars, Seed: 2})},
		{"2 million minutes with a copy", minutes, minutes.Slice(0, 2*benchBars-1)},
		{"2 million minutes with their days", minutes, days},
	} {
		x, y := NewPrices(c.first), NewPrices(c.second)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				benchSink += Compare(x, y).Correlation
			}
		})
	}
	b.Run("take and encode 2 million minutes", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(len(EncodePrices(NewPrices(minutes))))/float64(minutes.Len()), "bytes/bar")
		}
	})
}
