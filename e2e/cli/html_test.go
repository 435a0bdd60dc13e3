package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// What a person sends to others shows the bars that were traded on, and none of a
// holdout that was not opened. The holdout is in another range of prices, so that
// its digits are found wherever they are.
func TestHTML_FilesShowNothingOfASealedHoldout(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 5})
	cut := b.Len() - b.Len()/5
	for _, column := range [][]float64{b.Open, b.High, b.Low, b.Close} {
		for i := cut; i < len(column); i++ {
			column[i] *= 6.7
		}
	}
	l.imports(b)
	l.must("data", "accept", "EURUSD", "1h", "level-jump") // the step at the holdout is meant
	backend, _ := l.serve()
	l.must("research", "EURUSD 1h", "--bypass-gates", "--seed", "1", "--follow")
	id := string(l.ops("--type", "agent_research")[0].ID)
	if looks, err := l.client().Looks(t.Context(), ktrdr.LookQuery{}); err != nil || len(looks.Looks) > 0 {
		t.Fatalf("%d looks, %v: choose another seed", len(looks.Looks), err)
	}

	dir := t.TempDir()
	report, strategy := filepath.Join(dir, "report.html"), filepath.Join(dir, "strategy.html")
	l.must("report", "--html", report)
	l.must("results", id, "--html", strategy)
	l.must("results", id, "--csv", filepath.Join(dir, "tables"))
	all := append(contents(t, dir), l.must("results", id, "--json")...)
	if sealed := shown(b.Slice(cut, b.Len())).in(all); len(sealed) > 0 {
		t.Errorf("prices of the holdout are in the files: %q", sealed)
	}
	html := read(t, strategy)
	if traded := shown(b.Slice(0, cut)).in([]byte(html)); len(traded) == 0 || !strings.Contains(html, "sealed") {
		t.Errorf("%d prices that were traded on are in the file: choose a seed whose strategy trades", len(traded))
	}

	l.refused(exitUsage, "exists: choose another name, or replace it with --force", "report", "--html", report)
	l.must("report", "--html", report, "--force")
	training := string(l.ops("--parent", id, "--type", "training")[0].ID)
	l.refused(exitUsage, "--html shows a research", "results", training, "--html", strategy, "--force")
	backend.End(syscall.SIGTERM)
	l.refused(exitUnreachable, "no server at", "report", "--html", report, "--force")
	l.refused(exitUnreachable, "no server at", "report", "--html", filepath.Join(dir, "none.html"))
	if after := read(t, report); !strings.Contains(after, "</html>") {
		t.Error("a report that could not be written has damaged the one before")
	}
	if _, err := os.Stat(filepath.Join(dir, "none.html")); err == nil {
		t.Error("a report that could not be read has left a file")
	}
}

// shownPrices are prices as texts with that number of decimals, or with all of them (-1).
type shownPrices struct {
	decimals int
	texts    map[string]bool
}

// shown are the prices with the decimals that a page shows.
func shown(b *market.Bars) shownPrices { return pricesWith(b, 4) }

func pricesWith(b *market.Bars, decimals int) shownPrices {
	p := shownPrices{decimals, map[string]bool{}}
	for _, column := range [][]float64{b.Open, b.High, b.Low, b.Close} {
		for _, v := range column {
			p.texts[p.text(v)] = true
		}
	}
	return p
}

func (p shownPrices) text(v float64) string { return strconv.FormatFloat(v, 'f', p.decimals, 64) }

var numbers = regexp.MustCompile(`[0-9]+\.[0-9]{4,}(?:e[+-]?[0-9]+)?`)

// in are those numbers of a text that are one of the prices.
func (p shownPrices) in(text []byte) (found []string) {
	for _, number := range numbers.FindAllString(string(text), -1) {
		if v, err := strconv.ParseFloat(number, 64); err == nil && p.texts[p.text(v)] {
			found = append(found, number)
		}
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
