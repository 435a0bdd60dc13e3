package cli

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
)

// A split and a holiday that the user lists act on the prices that come in.
func TestCLI_InstrumentsAdjustAndJudge(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	b := market.Synth(market.SynthConfig{Symbol: "AAPL", Bars: 3000, Seed: 7})
	day := func(i int) (string, int) { // the first bar of a day after bar i
		for b.Time[i]%86400 != 0 {
			i++
		}
		return time.Unix(b.Time[i], 0).UTC().Format(time.DateOnly), i
	}
	splitDay, split := day(700)
	holiday, _ := day(1500)
	file := priceFile(t, b, func(i int) float64 {
		if i < split {
			return 4 // as they were traded, before each share became four
		}
		return 1
	})
	imported := []string{"data", "import", "--symbol", "AAPL", "--timeframe", "1h", "--replace", file}
	if said := l.must(imported...); !strings.Contains(said, "severe split-missed: prices fall from 4.3422 to 1.08553") {
		t.Errorf("without a list of splits:\n%s", said)
	}
	list := "instruments:\n  AAPL:\n    class: stock\n    venue: MINE\n    splits: [{on: " + splitDay + ", ratio: 4}]\n" +
		"venues:\n  MINE: {zone: UTC, holidays: [" + holiday + "]}\n"
	if err := os.WriteFile(filepath.Join(l.data, "instruments.yaml"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	said := l.must(imported...)
	if strings.Contains(said, "split-missed") || strings.Contains(said, "level-jump") || !strings.Contains(said, "closed-hours") {
		t.Errorf("with a split and a holiday:\n%s", said)
	}
	if said := l.must("data", "show", "AAPL", "1h"); !strings.Contains(said, "back-adjusted by instruments.yaml: 1 split") {
		t.Errorf("the series does not say how it was adjusted:\n%s", said)
	}
	rows := strings.Split(l.must("data", "export", "AAPL", "1h"), "\n")
	for _, i := range []int{0, split - 1, split} {
		if got, err := strconv.ParseFloat(strings.Split(rows[i+1], ",")[4], 64); err != nil || math.Abs(got/b.Close[i]-1) > 1e-9 {
			t.Errorf("bar %d closes at %v, want %v (%v)", i, got, b.Close[i], err)
		}
	}
}
