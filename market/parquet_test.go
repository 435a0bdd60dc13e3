package market

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// asParquet writes rows of any struct as a Parquet file.
func asParquet[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func fromParquet(data []byte, opt ImportOptions) (*Bars, DataReport, error) {
	return ReadParquet(bytes.NewReader(data), int64(len(data)), opt)
}

type parquetRow struct {
	Timestamp int64   `parquet:"timestamp"`
	Open      float64 `parquet:"open"`
	High      float64 `parquet:"high"`
	Low       float64 `parquet:"low"`
	Close     float64 `parquet:"close"`
	Volume    float64 `parquet:"volume"`
}

func parquetRows(b *Bars, unit int64) []parquetRow {
	rows := make([]parquetRow, b.Len())
	for i := range rows {
		x := b.At(i)
		rows[i] = parquetRow{x.Time * unit, x.Open, x.High, x.Low, x.Close, x.Volume}
	}
	return rows
}

func TestReadParquet_ReadsEveryUnitAndCompression(t *testing.T) {
	want := Synth(SynthConfig{Symbol: "EURUSD", Bars: 3000, Seed: 6})
	for name, unit := range map[string]int64{"seconds": 1, "thousandths": 1e3, "millionths": 1e6, "billionths": 1e9} {
		for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd} {
			for version := 1; version <= 2; version++ {
				data := asParquet(t, parquetRows(want, unit), parquet.Compression(codec), parquet.DataPageVersion(version),
					parquet.PageBufferSize(4096), parquet.MaxRowsPerRowGroup(1100))
				got, rep, err := fromParquet(data, ImportOptions{Symbol: "EURUSD"})
				if err != nil {
					t.Fatalf("%s, %v, pages v%d: %v", name, codec, version, err)
				}
				if diff := cmp.Diff(want, got); diff != "" || rep.Rows != 3000 {
					t.Errorf("%s, %v, pages v%d: %d rows, %s", name, codec, version, rep.Rows, diff)
				}
			}
		}
	}
}

func TestReadParquet_ReadsOtherTypes(t *testing.T) {
	zone := time.FixedZone("", 3600)
	type typed struct {
		When  time.Time `parquet:"datetime,timestamp(millisecond)"`
		Open  float32   `parquet:"Open"`
		High  int32     `parquet:"High,dict"`
		Low   *float64  `parquet:"Low,optional"`
		Close int64     `parquet:"Close,delta"`
		Vol   *int64    `parquet:"tick_volume,optional,dict"`
		Note  string    `parquet:"note"`
	}
	low, vol := 1.0, int64(7)
	at := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
	data := asParquet(t, []typed{
		{at, 1.5, 3, &low, 2, &vol, "a"},
		{at.Add(time.Hour), 2.5, 4, &low, 3, nil, "b"},
	})
	b, _, err := fromParquet(data, ImportOptions{Zone: zone}) // the type says UTC: the zone does not matter
	if err != nil {
		t.Fatal(err)
	}
	want := &Bars{
		Timeframe: H1, Time: []int64{at.Unix(), at.Unix() + 3600}, Open: []float64{1.5, 2.5}, High: []float64{3, 4},
		Low: []float64{1, 1}, Close: []float64{2, 3}, Volume: []float64{7, math.NaN()},
	}
	if diff := cmp.Diff(want, b, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

func TestReadParquet_ReadsDatesAndLocalTimes(t *testing.T) {
	type daily struct {
		Date                   int32 `parquet:"date,date"`
		Open, High, Low, Close float64
	}
	b, _, err := fromParquet(asParquet(t, []daily{{18263, 1, 1, 1, 1}, {18264, 1, 1, 1, 1}}), ImportOptions{})
	if err != nil || b.Timeframe != D1 || clock(b.Time[0]) != "2020-01-02 00:00:00" {
		t.Errorf("dates: %v", err)
	}
	b, _, err = fromParquet(asParquet(t, parquetRows(twoBars, 1)), ImportOptions{Zone: time.FixedZone("", 3600)})
	if err != nil || b.Time[0] != twoBars.Time[0]-3600 {
		t.Errorf("local times: %v", err)
	}
}

func TestReadParquet_NamesWhatItRefuses(t *testing.T) {
	good := parquetRows(Synth(SynthConfig{Bars: 50}), 1)
	spoilt := func(change func(r *parquetRow)) []byte {
		rows := append([]parquetRow{}, good...)
		change(&rows[20])
		return asParquet(t, rows)
	}
	type texts struct {
		Time                   string
		Open, High, Low, Close float64
	}
	type symbols struct {
		Ticker                       string `parquet:"ticker,dict"`
		Time, Open, High, Low, Close int64
	}
	type words struct {
		Time, Open, High, Low int64
		Close                 string
	}
	type fractions struct{ Time, Open, High, Low, Close float64 }
	type missing struct{ Time, Open, High, Low int64 }
	type nullTime struct {
		Time                   *int64 `parquet:"time,optional"`
		Open, High, Low, Close float64
	}
	at := int64(1577923200)
	cases := []struct {
		name, want string
		data       []byte
	}{
		{"a price that is not a number", "f:21: nan: close is not a number", spoilt(func(r *parquetRow) { r.Close = math.NaN() })},
		{
			"a year that does not exist", "f:21: unreadable: time 99999999999 lies outside the years",
			spoilt(func(r *parquetRow) { r.Timestamp = 99999999999 }),
		},
		{"no time", "f:1: unreadable: the time is missing", asParquet(t, []nullTime{{nil, 1, 1, 1, 1}, {&at, 1, 1, 1, 1}})},
		{
			"half a second", "f:2: unreadable: time 1577923201500 is no whole second",
			asParquet(t, []parquetRow{{1577923200000, 1, 1, 1, 1, 1}, {1577923201500, 1, 1, 1, 1, 1}}),
		},
		{"a text that is no time", `f:1: unreadable: time "never" is not in a known form`, asParquet(t, []texts{{"never", 1, 1, 1, 1}})},
		{
			"a text whose date may be two", `f:1: unreadable: time "03/04/2020" may have the day or the month first: write it with the year first`,
			asParquet(t, []texts{{"03/04/2020", 1, 1, 1, 1}}),
		},
		{
			"several symbols", "row group 0: column \"ticker\": the file has rows of A and of B: write a file for each symbol",
			asParquet(t, []symbols{{"A", 1, 1, 1, 1, 1}, {"B", 2, 1, 1, 1, 1}}),
		},
		{"a text for a price", `column "Close" is of type STRING, which is not one for close`, asParquet(t, []words{{1, 1, 1, 1, "1.1"}})},
		{"fractions for times", `column "Time" is of type DOUBLE, which is not one for time`, asParquet(t, []fractions{{1, 1, 1, 1, 1}})},
		{"no close", "has no column for close", asParquet(t, []missing{{1, 1, 1, 1}})},
		{"no rows", "f: there are no rows below the header", asParquet(t, []parquetRow{})},
		{"another compression", "compressed by BROTLI", asParquet(t, good, parquet.Compression(&parquet.Brotli))},
		{"nothing", "f: the Parquet file is damaged: it has 0 bytes only", nil},
		{"no end", "f: the Parquet file is damaged: its end is missing", asParquet(t, good)[:200]},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := fromParquet(c.data, ImportOptions{Source: "f"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want %q in it", err, c.want)
			}
		})
	}
	if _, _, err := fromParquet(asParquet(t, good), ImportOptions{MaxRows: 49}); err == nil ||
		!strings.Contains(err.Error(), "more than 49 rows") {
		t.Errorf("50 rows within a limit of 49: %v", err)
	}
}

// TestReadParquet_SurvivesDamageAnywhere changes each byte of a small file in
// several ways. Whatever comes of it, it is an error or a series, and no
// allocation beyond the limits.
func TestReadParquet_SurvivesDamageAnywhere(t *testing.T) {
	type texts struct {
		Ticker string   `parquet:"ticker,dict"`
		Time   string   `parquet:"time,dict"`
		Open   [16]byte `parquet:"open,decimal(5:38)"`
		High   int32    `parquet:"high,decimal(5:9)"`
		Low    float64  `parquet:"low,dict"`
		Close  *float64 `parquet:"close,optional"`
	}
	price := 1.0
	rows := make([]texts, 10)
	for i := range rows {
		rows[i] = texts{"A", fmt.Sprintf("2020-01-02 0%d:00", i), bytes16(100_000), 100_000, 1, &price}
	}
	numbers := asParquet(t, parquetRows(Synth(SynthConfig{Bars: 40}), 1e3), parquet.Compression(&parquet.Snappy))
	refused := 0
	for _, complete := range [][]byte{numbers, asParquet(t, rows)} {
		refused += damaged(t, complete)
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// damaged changes each byte of a file, and gives how many of the results are refused.
func damaged(t *testing.T, complete []byte) (refused int) {
	t.Helper()
	for i := range complete {
		for _, flip := range []byte{0x01, 0x80, 0x7f, 0xff} {
			bad := append([]byte{}, complete...)
			bad[i] ^= flip
			n := allocated(func() {
				b, _, err := fromParquet(bad, ImportOptions{MaxRows: fuzzRows})
				if err != nil {
					refused++
				}
				sound(t, b, err)
			})
			if n > fuzzBytes {
				t.Errorf("byte %d changed by %#x: %d bytes of memory", i, flip, n)
			}
		}
	}
	return refused
}

func TestReadFile_TellsFormatsApart(t *testing.T) {
	dir := t.TempDir()
	want := Synth(SynthConfig{Symbol: "X", Bars: 10})
	var text strings.Builder
	text.WriteString("time,open,high,low,close,volume\n")
	for i := range want.Len() {
		x := want.At(i)
		fmt.Fprintf(&text, "%d,%v,%v,%v,%v,%v\n", x.Time, x.Open, x.High, x.Low, x.Close, x.Volume)
	}
	for name, data := range map[string][]byte{
		"a": asParquet(t, parquetRows(want, 1)), "b": []byte(text.String()),
		"c": zipped(text.String()),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, rep, err := ReadFile(t.Context(), path, ImportOptions{Symbol: "X"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || rep.Source != path {
			t.Errorf("%s: %s", rep.Source, diff)
		}
	}
}
