package bench_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/market"
)

// importEnv names the file that a process of this test binary reads.
const importEnv = "KTRDR_BENCH_IMPORT"

// importRows is how many minutes a file has, manyRows the most that are taken, and tooMany more.
const importRows, manyRows, tooMany = 4_000_000, 20_000_000, 21_000_000

// BenchmarkImport reads price files, each in a process of its own, and prints the
// most memory that the process had beside what the bars need, and rows a second
// beside those of a program that only undoes gzip and counts lines.
func BenchmarkImport(b *testing.B) {
	dir := b.TempDir()
	for _, c := range []struct {
		name string
		pack string
		rows int
		row  func(i int) string
	}{
		{"20 million plain rows", "", manyRows, func(i int) string {
			return fmt.Sprintf("%d,1.1%03d,1.3%03d,1.0%03d,1.2%03d,%d\n", 1_000_000_020+60*i, i%1000, i%999, i%998, i%997, i%9973)
		}},
		{"minutes", ".gz", importRows, func(i int) string { return fmt.Sprintf("%d,1.1,1.3,1.0,1.2,7\n", 1_000_000_020+60*i) }},
		{"newest first", ".gz", importRows, func(i int) string { return fmt.Sprintf("%d,1.1,1.3,1.0,1.2,7\n", 1_600_000_020-60*i) }},
		{"nothing right", ".gz", importRows, func(int) string { return "never,1,1,1,1,1\n" }},
		{"too large", ".gz", tooMany, func(i int) string { return fmt.Sprintf("%d,1,1,1,1,1\n", 1_000_000_020+60*i) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			name := filepath.Join(dir, "file.csv"+c.pack)
			size := writeText(b, name, c.rows, c.row)
			for b.Loop() {
				counted, least := countLines(b, name)
				got := readElsewhere(b, name)
				b.ReportMetric(float64(size)/1e6, "MB-file")
				b.ReportMetric(float64(got.peak)/1e6, "MB-peak")
				b.ReportMetric(float64(got.peak)/float64(48*c.rows), "peak/bars")
				b.ReportMetric(float64(c.rows)/got.took.Seconds()/1e6, "Mrows/s")
				b.ReportMetric(float64(c.rows)/got.cpu.Seconds()/1e6, "Mrows/cpu-s")
				b.ReportMetric(got.took.Seconds()/counted.Seconds(), "time/count")
				b.ReportMetric(got.cpu.Seconds()/least.Seconds(), "cpu/count")
				b.Logf("%s: %s", c.name, got.said)
			}
		})
	}
}

// BenchmarkImportCommand imports 20 million rows of plain CSV with `ktrdr data import`: reading,
// judging, comparing with the markets of the lab, storing. At first they are a new market, then
// the same prices under a second name. Beside it stands a plain scan of the same bytes.
func BenchmarkImportCommand(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	in := install(b)
	defer in.stop()
	in.env = append(in.env, "GOMAXPROCS=1")
	name := filepath.Join(in.dir, "file.csv")
	size := writeText(b, name, manyRows, walk())
	_, least := countLines(b, name)
	for _, c := range []struct{ what, symbol string }{{"a new market", "FIRST"}, {"a second name", "SECOND"}} {
		p := in.begin("data", "import", name, "--symbol", c.symbol, "--timeframe", "1m")
		if code := p.Exit(20 * time.Minute); code != 0 {
			b.Fatalf("%s: exit %d\n%s", c.what, code, p.Log())
		}
		state := p.State()
		usage, ok := state.SysUsage().(*syscall.Rusage)
		if !ok {
			b.Fatal("the system does not tell how much memory a process had")
		}
		peak, cpu := float64(usage.Maxrss<<10)/1e6, (state.UserTime() + state.SystemTime()).Seconds()
		rate := manyRows / cpu / 1e6
		fmt.Printf("import as %-14s %d rows, %.0f MB%8.0f MB at most%s\n", c.what, manyRows, float64(size)/1e6, peak,
			bench.Aim(peak <= 300, "<= 300 MB"))
		aim := "" // a second name is compared with all that the first has
		if c.symbol == "FIRST" {
			aim = bench.Aim(rate >= 2, ">= 2 million")
		}
		fmt.Printf("    %.2f million rows a processor-second%s; %.1f x the processor time of a plain scan\n", rate, aim, cpu/least.Seconds())
	}
}

// walk writes minutes of a market that moves at random, with its weekends.
func walk() func(int) string {
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // prices need no secrecy
	at, points := int64(1_000_000_020), 120_000
	return func(int) string {
		open, high, low := points, points, points
		for range 3 {
			points = min(max(points+dice.IntN(15)-7, 105_000), 180_000)
			high, low = max(high, points), min(low, points)
		}
		line := fmt.Sprintf("%d,%.5f,%.5f,%.5f,%.5f,%d\n", at, float64(open)/1e5, float64(high)/1e5, float64(low)/1e5, float64(points)/1e5,
			1+dice.IntN(900))
		if at += 60; (at/86400+4)%7 == 5 && at%86400 >= 22*3600 { // Friday, 22:00
			at += 48 * 3600
		}
		return line
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
	cpu  time.Duration // of all processors: what it would take alone on one
	peak int64         // bytes
	said string
}

// readElsewhere reads a file in a process of its own.
func readElsewhere(b *testing.B, name string) readElsewhereResult {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestImportInAProcessOfItsOwn$")
	cmd.Env = append(os.Environ(), importEnv+"="+name, "GOMAXPROCS=1")
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
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return readElsewhereResult{said.Took, cpu, usage.Maxrss << 10, text[:min(len(text), 200)]}
}

// TestImportInAProcessOfItsOwn is no test: BenchmarkImport starts it.
func TestImportInAProcessOfItsOwn(t *testing.T) {
	name := os.Getenv(importEnv)
	if name == "" {
		t.Skip("BenchmarkImport starts it")
	}
	began := time.Now()
	bars, c, _, err := market.ReadLarge(t.Context(), name, market.ImportOptions{Symbol: "X"})
	said := readSaid{Took: time.Since(began)}
	if err != nil {
		said.Error = err.Error()
	} else {
		said.Bars = bars.Len()
		defer c.Close()
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		t.Fatal(err)
	}
}

// writeText writes a file, in gzip if its name says so.
func writeText(b *testing.B, name string, rows int, row func(int) string) (size int64) {
	b.Helper()
	f, err := os.Create(name) //nolint:gosec // the benchmark's own folder
	if err != nil {
		b.Fatal(err)
	}
	var z io.WriteCloser = gzip.NewWriter(f)
	if filepath.Ext(name) != ".gz" {
		z = nopCloser{f}
	}
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

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// countLines is the least that reading a file takes, in time and in processor time.
func countLines(b *testing.B, name string) (took, cpu time.Duration) {
	b.Helper()
	began, used := time.Now(), processorTime(b)
	f, err := os.Open(name) //nolint:gosec // the benchmark's own
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	var r io.Reader = f
	if filepath.Ext(name) == ".gz" {
		if r, err = gzip.NewReader(f); err != nil {
			b.Fatal(err)
		}
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() { //nolint:revive // counting is all
	}
	if lines.Err() != nil {
		b.Fatal(lines.Err())
	}
	return time.Since(began), processorTime(b) - used
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
