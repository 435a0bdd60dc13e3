package market

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

func TestImport_CountsAllFindingsAndKeepsTheFirstHundred(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("time,open,high,low,close\n2020-01-01 00:00,1,1,1,1\n2020-01-01 01:00,1,1,1,1\n")
	const wrong = 5000
	for range wrong {
		text.WriteString("never,1,1,1,1\n")
	}
	_, rep, err := ReadCSV(&text, ImportOptions{Source: "f.csv"})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("f.csv has %d findings in %d rows", wrong, wrong+2)) {
		t.Errorf("err = %.200v, want it to count %d findings", err, wrong)
	}
	if len(rep.Findings) != 100 || rep.Counts[Unreadable] != wrong || rep.Findings[99].Line != 103 {
		t.Errorf("%d findings are kept of %d, the last of line %d; want the first 100", len(rep.Findings), rep.Counts[Unreadable],
			rep.Findings[len(rep.Findings)-1].Line)
	}
}

func TestImport_RefusesRowsThatNeedMoreMemoryThanTheLimit(t *testing.T) {
	const rows = 200_000
	const want = "need more than 5 MiB of memory, which is the limit for one import; split the file and import its parts"
	if _, _, err := ReadCSV(minutes(rows), ImportOptions{MaxBytes: 5 << 20}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("text: err = %v, want %q", err, want)
	}
	if b, _, err := ReadCSV(minutes(rows), ImportOptions{MaxBytes: 10 << 20}); err != nil || b.Len() != rows {
		t.Errorf("text within the limit: %v", err)
	}
	file := asParquet(t, parquetRows(Synth(SynthConfig{Timeframe: M1, Bars: rows}), 1), parquet.Compression(&parquet.Snappy))
	if _, _, err := fromParquet(file, ImportOptions{MaxBytes: 5 << 20}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Parquet: err = %v, want %q", err, want)
	}
}

// minutes is a file of n minutes in which the price does not change.
func minutes(rows int) *bytes.Buffer {
	var text bytes.Buffer
	text.WriteString("time,open,high,low,close,volume\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,1,1,1,1,1\n", 1_000_000_020+60*i)
	}
	return &text
}

// A table that is doubled is in memory three times while it is copied, and all
// that was allocated for it is more than twice what it is.
func TestImport_AllocatesEachRowAboutTwice(t *testing.T) {
	const rows = 1_000_000
	text := minutes(rows)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, _, err := ReadCSV(text, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	most := 2.3
	if raceDetector {
		most = 4 // it keeps values on the heap that are on the stack otherwise
	}
	if got := float64(after.TotalAlloc-before.TotalAlloc) / rows / rowBytes; got > most {
		t.Errorf("%.1f times the memory of the rows was allocated, want at most %.1f: once as they are read and once when they are joined",
			got, most)
	}
}
