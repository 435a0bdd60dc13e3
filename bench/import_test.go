package bench_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
)

// importEnv names the file that a process of this test binary reads.
const importEnv = "KTRDR_BENCH_IMPORT"

// importRows is how many minutes a file has, and tooMany more than are taken.
const importRows, tooMany = 4_000_000, 11_000_000

// BenchmarkImport reads price files, each in a process of its own, and prints the
// most memory that the process had beside what the bars need, and rows a second
// beside those of a program that only undoes gzip and counts lines.
func BenchmarkImport(b *testing.B) {
	dir := b.TempDir()
	for _, c := range []struct {
		name string
		rows int
		row  func(i int) string
	}{
		{"minutes", importRows, func(i int) string { return fmt.Sprintf("%d,1.1,1.3,1.0,1.2,7\n", 1_000_000_020+60*i) }},
		{"newest first", importRows, func(i int) string { return fmt.Sprintf("%d,1.1,1.3,1.0,1.2,7\n", 1_600_000_020-60*i) }},
		{"nothing right", importRows, func(int) string { return "never,1,1,1,1,1\n" }},
		{"too large", tooMany, func(i int) string { return fmt.Sprintf("%d,1,1,1,1,1\n", 1_000_000_020+60*i) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			name := filepath.Join(dir, "file.csv.gz")
			size := writeGzip(b, name, c.rows, c.row)
			for b.Loop() {
				counted := countLines(b, name)
				got := readElsewhere(b, name)
				b.ReportMetric(float64(size)/1e6, "MB-gz")
				b.ReportMetric(float64(got.peak)/1e6, "MB-peak")
				b.ReportMetric(float64(got.peak)/float64(48*c.rows), "peak/bars")
				b.ReportMetric(float64(c.rows)/got.took.Seconds()/1e6, "Mrows/s")
				b.ReportMetric(got.took.Seconds()/counted.Seconds(), "time/count")
				b.Logf("%s: %s", c.name, got.said)
			}
		})
	}
}

// readSaid is what a process says of the file that it read.
type readSaid struct {
	Took  time.Duration
	Bars  int
	Error string
}

type readElsewhereResult struct {
	took time.Duration
	peak int64 // bytes
	said string
}

// readElsewhere reads a file in a process of its own.
func readElsewhere(b *testing.B, name string) readElsewhereResult {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestImportInAProcessOfItsOwn$")
	cmd.Env = append(os.Environ(), importEnv+"="+name)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	var said readSaid
	err = json.NewDecoder(out).Decode(&said)
	_, _ = io.Copy(io.Discard, out)
	if ended := cmd.Wait(); err != nil || ended != nil {
		b.Fatal(err, ended)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("the system does not tell how much memory a process had")
	}
	text := said.Error
	if text == "" {
		text = fmt.Sprintf("%d bars", said.Bars)
	}
	return readElsewhereResult{said.Took, usage.Maxrss << 10, text[:min(len(text), 200)]}
}

// TestImportInAProcessOfItsOwn is no test: BenchmarkImport starts it.
func TestImportInAProcessOfItsOwn(t *testing.T) {
	name := os.Getenv(importEnv)
	if name == "" {
		t.Skip("BenchmarkImport starts it")
	}
	began := time.Now()
	bars, _, err := market.ReadFile(t.Context(), name, market.ImportOptions{Symbol: "X", Mode: market.Normalise})
	said := readSaid{Took: time.Since(began)}
	if err != nil {
		said.Error = err.Error()
	} else {
		said.Bars = bars.Len()
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		t.Fatal(err)
	}
}

func writeGzip(b *testing.B, name string, rows int, row func(int) string) (size int64) {
	b.Helper()
	f, err := os.Create(name) //nolint:gosec // the benchmark's own folder
	if err != nil {
		b.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := bufio.NewWriterSize(z, 1<<20)
	_, _ = w.WriteString("time,open,high,low,close,volume\n") // an error stays with w
	for i := range rows {
		_, _ = w.WriteString(row(i))
	}
	for _, end := range []func() error{w.Flush, z.Close, f.Close} {
		if err := end(); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// countLines is the least that reading a file takes.
func countLines(b *testing.B, name string) time.Duration {
	b.Helper()
	began := time.Now()
	f, err := os.Open(name) //nolint:gosec // the benchmark's own
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() { //nolint:revive // counting is all
	}
	if lines.Err() != nil {
		b.Fatal(lines.Err())
	}
	return time.Since(began)
}
