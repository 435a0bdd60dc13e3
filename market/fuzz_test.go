package market

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// allocated tells how many bytes f allocates.
func allocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// fuzzRows limits what the fuzzers accept; fuzzBytes is more than that many
// rows, the buffers and the findings take, however they are arranged.
const (
	fuzzRows  = 2000
	fuzzBytes = 48 << 20
)

// sound holds what a reader accepted to the rules.
func sound(t *testing.T, b *Bars, err error) {
	t.Helper()
	if err != nil {
		if err.Error() == "" {
			t.Error("an error without a word")
		}
		return
	}
	if b.Len() == 0 || b.Len() > fuzzRows {
		t.Fatalf("%d bars were accepted", b.Len())
	}
	if _, err := Check(b, "accepted"); err != nil {
		t.Fatal(err)
	}
}

func FuzzReadCSV(f *testing.F) {
	for _, s := range []string{
		"timestamp,open,high,low,close,volume\n2020-01-02 00:00:00+00:00,1.1,1.3,1.05,1.2,10\n2020-01-02 01:00:00+00:00,1.2,1.4,1.1,1.3,20\n",
		"2020.01.02,00:00,1.1,1.3,1.05,1.2,10\n2020.01.02,01:00,1.2,1.4,1.1,1.3,20\n",
		"<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\n2020.01.02\t00:00:00\t1.1\t1.3\t1.05\t1.2\t10\n",
		"1577923200000,1,1,1,1,1\n1577926800000,9e999,nan,1,1,-1\n1577926800000,2,1,3,2,1\n",
		"\ufeff\"time\";\"open\";\"high\";\"low\";\"close\"\r\n\"20200102 000000\";\"1\";\"1\";\"1\";\"1\"\r\n",
		string(zipped("time,open,high,low,close\n2020-01-02,1,1,1,1\n2020-01-03,1,1,1,1\n")),
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, normalise bool) {
		opt := ImportOptions{Symbol: "X", MaxRows: fuzzRows}
		if normalise {
			opt.Mode = Normalise
		}
		n := allocated(func() {
			b, _, err := ReadCSV(bytes.NewReader(data), opt)
			sound(t, b, err)
		})
		if n > fuzzBytes {
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), n)
		}
	})
}

func FuzzReadParquet(f *testing.F) {
	rows := parquetRows(Synth(SynthConfig{Bars: 20}), 1e9)
	for _, option := range []parquet.WriterOption{
		parquet.Compression(&parquet.Snappy), parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1),
	} {
		f.Add(asParquet(f, rows, option), true)
		f.Add(asParquet(f, rows, option), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, normalise bool) {
		opt := ImportOptions{Symbol: "X", MaxRows: fuzzRows}
		if normalise {
			opt.Mode = Normalise
		}
		n := allocated(func() {
			b, _, err := fromParquet(data, opt)
			sound(t, b, err)
		})
		if n > fuzzBytes {
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), n)
		}
	})
}

// FuzzOpen also lets the fuzzer change columns under a header that is right for
// them, which it would never find by itself.
func FuzzOpen(f *testing.F) {
	for _, n := range []int{1, 8, 20} {
		complete, err := os.ReadFile(written(f, Synth(SynthConfig{Bars: n})))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(complete, true)
		f.Add(complete, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, resign bool) {
		if resign && len(data) >= headerSize {
			h := header{bars: (len(data) - headerSize) / 48 / 8 * 8, symbol: "X", timeframe: H1, version: barsVersion, columns: mostColumns - 1}
			data = bytes.Clone(data[:h.fileSize()])
			h.hash = h.bind(data).Hash()
			copy(data, h.encode())
		}
		path := filepath.Join(t.TempDir(), "x.bars")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		n := allocated(func() {
			b, c, err := OpenVerified(path)
			if err == nil {
				defer c.Close()
			}
			sound(t, b, err)
		})
		if n > fuzzBytes {
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), n)
		}
	})
}
