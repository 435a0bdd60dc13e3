package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// judged are the findings that a command prints as JSON.
func (l *lab) judged(args ...string) (found []quality.ContentFinding) {
	l.t.Helper()
	a := l.run(append(args, "--json")...)
	if args[1] == "check" {
		return decode[local.Checked](l.t, a.out).Findings
	}
	list := decode[[]local.Imported](l.t, a.out)
	return list[len(list)-1].Findings
}

// A dry run and a check say of a file what its import says: with the bars that it joins, the
// instruments of the lab, and the holdout of the market, of which they tell no place.
func TestData_ADryRunJudgesAsTheImport(t *testing.T) {
	t.Parallel()
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 4})
	saw := b.Slice(0, 2000)
	for situation, c := range map[string]struct {
		factor func(int) float64
		from   int // of the file
		flag   string
		rule   quality.ContentRule
		sealed bool
	}{
		"other units than the bars before": {tenfold(2000), 2000, "--append", quality.UnitJump, true},
		"revised":                          {func(i int) float64 { return 1 + 0.001*float64(i/700%2) }, 0, "--append", quality.Revised, false},
		"a jump in the holdout":            {tenfold(2500), 0, "--replace", quality.UnitJump, true},
	} {
		t.Run(situation, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.imports(saw)
			part := b.Slice(c.from, b.Len())
			path := file(t, "EURUSD_1h.csv", csv(part))
			if text, err := os.ReadFile(priceFile(t, part, func(i int) float64 { return c.factor(i + c.from) })); err != nil ||
				os.WriteFile(path, text, 0o600) != nil {
				t.Fatal(err)
			}
			before := len(l.blobs())
			dry := l.judged("data", "import", path, c.flag, "--dry-run")
			check := dry
			if c.flag == "--append" {
				check = l.judged("data", "check", path)
			}
			if n := len(l.blobs()); n != before {
				t.Errorf("%d blobs were stored", n-before)
			}
			want := l.judged("data", "import", path, c.flag)
			if asText(t, dry) != asText(t, want) || asText(t, check) != asText(t, want) {
				t.Errorf("a dry run finds %s\na check %s\nthe import %s", asText(t, dry), asText(t, check), asText(t, want))
			}
			if len(want) == 0 || want[0].Rule != c.rule || want[0].Sealed != c.sealed {
				t.Errorf("the import finds %s, want %s", asText(t, want), c.rule)
			}
		})
	}
}

// The share of the holdout is that of the configuration, and splits are those of the lab's
// instruments.yaml, in an import without a backend and in what is tried before it.
func TestData_LocalImportsKnowHoldoutAndInstruments(t *testing.T) {
	t.Parallel()
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 4})
	path := file(t, "EURUSD_1h.csv", csv(b))
	if text, err := os.ReadFile(priceFile(t, b, tenfold(2000))); err != nil || os.WriteFile(path, text, 0o600) != nil {
		t.Fatal(err)
	}
	for share, sealed := range map[string]bool{"0.2": false, "0.4": true} {
		l := newLab(t, "KTRDR_HOLDOUT="+share)
		for _, args := range [][]string{{"data", "check", path}, {"data", "import", path, "--dry-run"}, {"data", "import", path}} {
			if found := l.judged(args...); len(found) == 0 || found[0].Sealed != sealed {
				t.Errorf("a holdout of %s: %v finds %s", share, args[:2], asText(t, found))
			}
		}
	}

	l := newLab(t)
	day, split := b.Time[0]-b.Time[0]%86400+100*86400, 0
	for b.Time[split] < day {
		split++
	}
	shares := filepath.Join(t.TempDir(), "AAPL_1h.csv")
	if text, err := os.ReadFile(priceFile(t, b, func(i int) float64 {
		if i < split {
			return 4
		}
		return 1
	})); err != nil || os.WriteFile(shares, text, 0o600) != nil {
		t.Fatal(err)
	}
	tries := [][]string{{"data", "check", shares}, {"data", "import", shares, "--dry-run"}}
	for _, args := range tries {
		if found := l.judged(args...); len(found) == 0 || found[0].Severity != quality.Severe {
			t.Errorf("%v without a list of splits finds %s", args[:2], asText(t, found))
		}
	}
	list := "instruments:\n  AAPL: {class: stock, splits: [{on: " + instant(day).Format("2006-01-02") + ", ratio: 4}]}\n"
	l.must("instruments", "set", file(t, instrument.FileName, list))
	for _, args := range append(tries, []string{"data", "import", shares}) {
		if found := l.judged(args...); quality.Worst(found) == quality.Severe {
			t.Errorf("%v with a list of splits finds %s", args[:2], asText(t, found))
		}
	}
	if said := l.run("data", "import", shares, "--dry-run"); !strings.Contains(said.out, "exactly these bars already") {
		t.Errorf("the same again: %v", said)
	}
	l.refused(exitUsage, "--append", "data", "import", path, "--symbol", "AAPL", "--timeframe", "1h", "--dry-run")
}
