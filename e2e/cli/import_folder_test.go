package cli

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hours writes hourly rows from a time on: one row for each bar, as row makes it of the time and a price.
func hours(from time.Time, bars int, head string, row func(at time.Time, price float64) string) string {
	text := head
	for i := range bars {
		text += row(from.Add(time.Duration(i)*time.Hour), 1+float64(i%97)/1000)
	}
	return text
}

func plainRow(at time.Time, p float64) string {
	return fmt.Sprintf("%s,%.4f,%.4f,%.4f,%.4f,10\n", at.Format("2006-01-02 15:04"), p, p+0.01, p-0.01, p)
}

func klineRow(unit int64) func(time.Time, float64) string {
	return func(at time.Time, p float64) string {
		return fmt.Sprintf("%d,%.4f,%.4f,%.4f,%.4f,10,%d,1,1,1,1,0\n", at.Unix()*unit, p, p+0.01, p-0.01, p, at.Unix()*unit+unit*3600-1)
	}
}

func zipOf(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// mixedFolder has files of four series from five programs, and one that tells no symbol.
func mixedFolder(t *testing.T, dir string) {
	t.Helper()
	const head = "Date,Open,High,Low,Close,Volume\n"
	start := time.Date(2024, 12, 2, 0, 0, 0, 0, time.UTC)
	year := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, text := range map[string]string{
		"EURUSD_1h.csv":          hours(start, 300, head, plainRow),
		"BTCUSDT-1h-2024-12.csv": hours(start, 30*24, "", klineRow(1e3)),
		"BTCUSDT-1h-2025-01.zip": zipOf(t, "BTCUSDT-1h-2025-01.csv", hours(year, 100, "", klineRow(1e6))),
		"two.zip":                zipOf(t, "AAA_1h.csv", hours(start, 50, head, plainRow), "BBB_1h.csv", hours(start, 60, head, plainRow)),
		"download (3).csv": hours(start, 40, "ticker,volume,open,close,high,low,window_start\n", func(at time.Time, p float64) string {
			return fmt.Sprintf("C:GBPUSD,10,%.4f,%.4f,%.4f,%.4f,%d\n", p, p, p+0.01, p-0.01, at.UnixNano())
		}),
		"old prices.csv": hours(start, 40, head, plainRow),
		"notes.md":       "not a price file",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDataImport_ReadsAFolderOfSeveralSymbols(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dir := t.TempDir()
	mixedFolder(t, dir)
	tried := l.run("data", "import", dir, "--dry-run")
	for _, want := range []string{
		"EURUSD_1h.csv: EURUSD 1h, 300 bars; nothing was imported",
		"two.zip/AAA_1h.csv: AAA 1h, 50 bars; nothing was imported",
		"two.zip/BBB_1h.csv: BBB 1h, 60 bars; nothing was imported",
		"download (3).csv: GBPUSD 1h, 40 bars; nothing was imported",
		"recognised: Binance klines; columns time, open, high, low, close, volume; times are Unix times",
		"the name of " + filepath.Join(dir, "old prices.csv") + " does not tell the symbol, as EURUSD_1h.csv does: give --symbol",
	} {
		if !strings.Contains(tried.out, want) {
			t.Errorf("no %q in\n%s", want, tried.out)
		}
	}
	if want := "not read: notes.md (files end in .csv"; !strings.Contains(tried.String(), want) {
		t.Errorf("no %q in\n%s", want, tried.String())
	}
	if tried.code != exitFailed || strings.Count(tried.out, "recognised: ") != 5 {
		t.Errorf("exit %d, and the line of the second file of Binance should not come again:\n%s", tried.code, tried.out)
	}
	if out := l.must("data", "list"); !strings.HasPrefix(out, "No data.") {
		t.Errorf("a dry run imported something:\n%s", out)
	}

	l.refused(exitFailed, "old prices.csv does not tell the symbol", "data", "import", dir)
	bars := map[string]int{}
	for _, s := range decode[[]stored](t, l.must("data", "list", "--json")) {
		bars[s.Symbol+" "+string(s.Timeframe)] = s.Bars
	}
	want := map[string]int{"EURUSD 1h": 300, "BTCUSDT 1h": 820, "AAA 1h": 50, "BBB 1h": 60, "GBPUSD 1h": 40}
	if fmt.Sprint(bars) != fmt.Sprint(want) {
		t.Errorf("the lab has %v, want %v", bars, want)
	}
}
