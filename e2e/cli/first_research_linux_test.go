package cli

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
)

// downloads fills a folder with prices as five programs write them: MetaTrader 5, HistData,
// Binance, a German spreadsheet, and quotes of Dukascopy.
func downloads(t *testing.T, dir string) {
	t.Helper()
	write := func(name, head string, b *market.Bars, row func(at time.Time, x market.Bar) string) string {
		var text strings.Builder
		text.WriteString(head)
		for i := range b.Len() {
			x := b.At(i)
			text.WriteString(row(time.Unix(x.Time, 0).UTC(), x))
		}
		if name != "" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return text.String()
	}
	made := func(symbol string, tf market.Timeframe, bars int, seed uint64) *market.Bars {
		return market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: tf, Bars: bars, Seed: seed})
	}
	write("EURUSD_H1_201501050000_202012312300.csv", "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\r\n",
		made("EURUSD", market.H1, 6000, 1), func(at time.Time, x market.Bar) string {
			return fmt.Sprintf("%s\t%.5f\t%.5f\t%.5f\t%.5f\t%.0f\t0\t8\r\n", at.Format("2006.01.02\t15:04:05"),
				x.Open, x.High, x.Low, x.Close, x.Volume)
		})
	bitcoin := made("BTCUSDT", market.H4, 4000, 2)
	kline := func(unit int64) func(time.Time, market.Bar) string {
		return func(at time.Time, x market.Bar) string {
			return fmt.Sprintf("%d,%.2f,%.2f,%.2f,%.2f,%.3f,%d,1.5,10,0.5,0.5,0\n", at.Unix()*unit, 9e3*x.Open, 9e3*x.High, 9e3*x.Low, 9e3*x.Close,
				x.Volume, (at.Unix()+4*3600)*unit-1)
		}
	}
	write("BTCUSDT-4h-2015-01.csv", "", bitcoin.Slice(0, 2000), kline(1e3))
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for i, unit := range []int64{1e3, 1e6} {
		w, err := z.Create(fmt.Sprintf("BTCUSDT-4h-201%d-01.csv", 6+i))
		if err == nil {
			_, err = w.Write([]byte(write("", "", bitcoin.Slice(2000+1000*i, 3000+1000*i), kline(unit))))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "BTCUSDT-4h.zip"), packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	write("DAT_ASCII_GBPUSD_M1_2015.csv", "", made("GBPUSD", market.M1, 5000, 3), func(at time.Time, x market.Bar) string {
		return fmt.Sprintf("%s;%.5f;%.5f;%.5f;%.5f;0\n", at.Format("20060102 150405"), x.Open, x.High, x.Low, x.Close)
	})
	write("DAX_1d.csv", "Datum;Eröffnung;Hoch;Tief;Schluss\n", made("DAX", market.D1, 2500, 4), func(at time.Time, x market.Bar) string {
		row := fmt.Sprintf("%s;%.2f;%.2f;%.2f;%.2f\n", at.Format("02.01.2006"), 9e3*x.Open, 9e3*x.High, 9e3*x.Low, 9e3*x.Close)
		return row[:10] + strings.ReplaceAll(row[10:], ".", ",")
	})
	write("USDJPY_Ticks_05.01.2015-06.01.2015.csv", "Gmt time,Ask,Bid,AskVolume,BidVolume\n", made("USDJPY", market.M1, 2000, 5),
		func(at time.Time, x market.Bar) string {
			var rows strings.Builder
			for i, p := range []float64{x.Open, x.High, x.Low, x.Close} {
				fmt.Fprintf(&rows, "%s,%.3f,%.3f,1.5,0.75\n", at.Add(time.Duration(14250*i)*time.Millisecond).Format("02.01.2006 15:04:05.000"),
					100*p+0.012, 100*p)
			}
			return rows.String()
		})
}

// What differs between two runs of a session: identities, times, the machine.
var differs = []struct {
	was *regexp.Regexp
	is  string
}{
	{regexp.MustCompile(`mkt_[0-9a-f]{12}`), "mkt_0123456789ab"},
	{regexp.MustCompile(`run_[0-9a-f]{8,16}`), "run_01234567"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+\S*`), "http://127.0.0.1:8000"},
	{regexp.MustCompile(`(?m)^(✔ (?:data|database|schema|blobs|token)\s+).*\n(?:[^✔→].*\n)*`), "${1}…\n"},
	{regexp.MustCompile(`(?m)^[0-9a-f]{8}( |:)`), "01234567$1"},
	{regexp.MustCompile(`(?m)^(✔ (?:workers|agents)\s+)\d+`), "${1}2"}, // as many as the machine has processors
	{regexp.MustCompile(`(?m)^  research \d .*\n`), ""},                // the live rows, if the last ones are of this moment
	{regexp.MustCompile(`(?s)time=\d{4}-.*`), ""},                      // the log
}

// TestFirstResearch_FromAFolderOfDownloads is a session at a terminal of 80 columns: from a
// folder of files of several programs to the first research, in three commands.
func TestFirstResearch_FromAFolderOfDownloads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "prices"), 0o750); err != nil {
		t.Fatal(err)
	}
	downloads(t, filepath.Join(dir, "prices"))
	l := newLab(t, "LANG=C.UTF-8", "TZ=UTC")
	said := transcript{t: t}
	commands := 0
	on := func(args ...string) *labtest.Terminal {
		commands++
		c := l.call(args...)
		c.Dir = dir
		return labtest.OnTerminal(t, c, 80, 100)
	}
	add := func(title, screen string) {
		for _, d := range differs {
			screen = d.was.ReplaceAllString(screen, d.is)
		}
		said.text.WriteString("$ " + title + "\n" + screen)
	}
	ends := func(title string, x *labtest.Terminal, limit time.Duration) {
		t.Helper()
		code := x.Ended(limit)
		add(title, x.Text())
		if code != 0 {
			t.Errorf("exit %d of %s:\n%s", code, title, x.Text())
		}
	}
	ends("ktrdr data import prices", on("data", "import", "prices"), time.Minute)
	server := on("serve", "--addr", "127.0.0.1:0")
	add("ktrdr serve", server.Shows("Ctrl-C stops"))
	l.url = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(server.Text())
	const goal = "mean reversion on EURUSD 1h"
	ends(`ktrdr research "`+goal+`" --count 2 --seed 7 --follow`,
		on("research", goal, "--count", "2", "--seed", "7", "--follow"), 5*time.Minute)
	if commands > 3 {
		t.Errorf("the session took %d commands", commands)
	}
	said.compare("first_research_80")
}
