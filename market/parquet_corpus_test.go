package market

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
)

// rowsOf makes a row of each bar.
func rowsOf[T any](b *Bars, row func(x Bar) T) []T {
	rows := make([]T, b.Len())
	for i := range rows {
		rows[i] = row(b.At(i))
	}
	return rows
}

// points is a price in units of 0.00001, and bytes16 a whole number in 16 bytes, the highest first.
func points(v float64) int64 { return int64(v*1e5 + 0.5) }

func bytes16(n int64) (b [16]byte) {
	if n < 0 {
		for i := range b {
			b[i] = 0xff
		}
	}
	binary.BigEndian.PutUint64(b[8:], uint64(n))
	return b
}

// withNamesOf gives columns the names that yfinance gives them. A struct's tag cannot hold their commas.
func withNamesOf(file []byte) []byte {
	for _, name := range []string{"Close", "High", "Low", "Open", "Volume"} {
		long := "('" + name + "', 'EURUSD=X')"
		file = bytes.ReplaceAll(file, []byte(name+strings.Repeat("~", len(long)-len(name))), []byte(long))
	}
	return file
}

// parquetCorpus are Parquet files as programs write them: with their names of writers, and
// their types of times and prices.
func parquetCorpus(t *testing.T) []corpusFile {
	h1, m1 := truthOf(H1, 200), truthOf(M1, 60)
	unknown := *h1
	unknown.Volume = slices.Repeat([]float64{math.NaN()}, h1.Len())
	pandas := []parquet.WriterOption{
		parquet.CreatedBy("parquet-cpp-arrow", "17.0.0", ""), parquet.Compression(&parquet.Snappy),
		parquet.KeyValueMetadata("pandas", `{"index_columns": ["Date"], "pandas_version": "2.2.2"}`),
	}
	polars := []parquet.WriterOption{parquet.CreatedBy("Polars", "", ""), parquet.Compression(&parquet.Zstd)}
	duckDB := []parquet.WriterOption{parquet.CreatedBy("DuckDB", "v1.1.0", ""), parquet.Compression(&parquet.Snappy)}
	type index struct {
		Open, High, Low, Close, Volume float64
		Date                           int64 `parquet:"Date,optional,timestamp(nanosecond:local)"`
	}
	type unnamed struct {
		Open   float64 `parquet:"open"`
		High   float64 `parquet:"high"`
		Low    float64 `parquet:"low"`
		Close  float64 `parquet:"close"`
		Volume float64 `parquet:"volume"`
		Index  int64   `parquet:"__index_level_0__,timestamp(microsecond:utc)"`
	}
	type several struct {
		Date   int64   `parquet:"Date,timestamp(millisecond:local)"`
		Close  float64 `parquet:"Close~~~~~~~~~~~~~~~~"`
		High   float64 `parquet:"High~~~~~~~~~~~~~~~~"`
		Low    float64 `parquet:"Low~~~~~~~~~~~~~~~~"`
		Open   float64 `parquet:"Open~~~~~~~~~~~~~~~~"`
		Volume int64   `parquet:"Volume~~~~~~~~~~~~~~~~"`
	}
	type texts struct {
		Symbol string  `parquet:"symbol,dict"`
		Time   string  `parquet:"time,dict"`
		Open   float64 `parquet:"open,dict"`
		High   float64 `parquet:"high,dict"`
		Low    float64 `parquet:"low,dict"`
		Close  float64 `parquet:"close,dict"`
		Volume float64 `parquet:"volume,optional"`
	}
	type decimals struct {
		Timestamp              int64 `parquet:"timestamp,timestamp(microsecond:local)"`
		Open, High, Low, Close int64 `parquet:",decimal(5:18)"`
		Volume                 int64
	}
	type decimalsOf16 struct {
		Timestamp int64    `parquet:"timestamp,timestamp(microsecond:utc)"`
		Open      [16]byte `parquet:"open,decimal(5:38)"`
		High      [16]byte `parquet:"high,decimal(5:38)"`
		Low       [16]byte `parquet:"low,decimal(5:38)"`
		Close     [16]byte `parquet:"close,decimal(5:38)"`
	}
	type old struct {
		Time                           deprecated.Int96 `parquet:"time"`
		Open, High, Low, Close, Volume float64
	}
	type quotes struct {
		Time     int64   `parquet:"time,timestamp(nanosecond:utc)"`
		Bid, Ask float64 `parquet:",optional"`
	}
	var ticks []quotes
	truth, _ := tickLines(m1, "", "")
	for i := range m1.Len() {
		x := m1.At(i)
		for k, bid := range []float64{x.Open, x.High, x.Low, x.Close} {
			ticks = append(ticks, quotes{x.Time*1e9 + int64(k)*123456789, bid, float64(points(bid)+7) / 1e5})
		}
	}
	inText := func(zone string) []byte {
		return asParquet(t, rowsOf(h1, func(x Bar) texts {
			at := time.Unix(x.Time, 0).UTC().Format("2006-01-02 15:04:05") + zone
			return texts{"EURUSD", at, x.Open, x.High, x.Low, x.Close, x.Volume}
		}), polars...)
	}
	return []corpusFile{
		{
			what: "Parquet by pandas, times as index", name: "EURUSD_1h.parquet", truth: h1, format: "Parquet by pandas",
			says: "without a zone are UTC",
			text: asParquet(t, rowsOf(h1, func(x Bar) index { return index{x.Open, x.High, x.Low, x.Close, x.Volume, x.Time * 1e9} }), pandas...),
		},
		{
			what: "Parquet by pandas, index without a name", name: "EURUSD_1h.parquet", truth: h1, format: "Parquet by pandas",
			says: "times are UTC",
			text: asParquet(t, rowsOf(h1, func(x Bar) unnamed {
				return unnamed{x.Open, x.High, x.Low, x.Close, x.Volume, x.Time * 1e6}
			}), pandas...),
		},
		{
			what: "Parquet by pandas, columns of yfinance", name: "EURUSD_1h.parquet", truth: h1, format: "Parquet by pandas",
			says: "close, high, low, open",
			text: withNamesOf(asParquet(t, rowsOf(h1, func(x Bar) several {
				return several{x.Time * 1e3, x.Close, x.High, x.Low, x.Open, int64(x.Volume)}
			}), pandas...)),
		},
		{
			what: "Parquet with times of 96 bits", name: "EURUSD_1h.parquet", truth: h1, format: "Parquet by pandas", says: "without a zone are UTC",
			text: asParquet(t, rowsOf(h1, func(x Bar) old {
				ns := uint64(x.Time%day) * 1e9
				return old{deprecated.Int96{uint32(ns), uint32(ns >> 32), uint32(x.Time/day) + 2440588}, x.Open, x.High, x.Low, x.Close, x.Volume}
			}), pandas...),
		},
		{
			what: "Parquet by polars, times as texts", name: "EURUSD_1h.parquet", truth: h1, format: "Parquet by polars",
			says: "without a zone are UTC",
			text: inText(""),
		},
		{
			what: "Parquet by polars, texts with a zone", name: "EURUSD_1h.parquet", truth: h1, format: "Parquet by polars",
			says: "name their zone",
			text: inText("+00:00"),
		},
		{
			what: "Parquet by polars, decimals", name: "EURUSD_1h.parquet", truth: &unknown, format: "Parquet by polars",
			says: "no volume",
			text: asParquet(t, rowsOf(h1, func(x Bar) decimalsOf16 {
				return decimalsOf16{
					x.Time * 1e6, bytes16(points(x.Open)), bytes16(points(x.High)), bytes16(points(x.Low)),
					bytes16(points(x.Close)),
				}
			}), polars...),
		},
		{
			what: "Parquet by DuckDB, decimals", name: "EURUSD_1h.parquet", truth: h1, format: "Parquet by DuckDB",
			says: "without a zone are UTC",
			text: asParquet(t, rowsOf(h1, func(x Bar) decimals {
				return decimals{x.Time * 1e6, points(x.Open), points(x.High), points(x.Low), points(x.Close), int64(x.Volume)}
			}), duckDB...),
		},
		{
			what: "Parquet of quotes", name: "EURUSD.parquet", truth: truth, format: "Parquet by polars", says: "made into 1m bars of bids",
			text: asParquet(t, ticks, polars...),
		},
		{
			what: "Parquet of another compression", name: "EURUSD_1h.parquet", refuse: "compressed by BROTLI; write it with snappy, zstd or gzip",
			text: asParquet(t, parquetRows(h1, 1), parquet.Compression(&parquet.Brotli)),
		},
		{
			what: "Parquet that was cut short", name: "EURUSD_1h.parquet", refuse: "the Parquet file is damaged: its end is missing",
			text: asParquet(t, parquetRows(h1, 1))[:900],
		},
	}
}
