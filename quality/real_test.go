package quality_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// realFiles are the public prices beside the project, and how many points a unit has.
var realFiles = []struct {
	path   string
	points float64
}{
	{"ejtrader/AUDUSDh1.csv.gz", 1e5},
	{"ejtrader/EURGBPh1.csv.gz", 1e5},
	{"ejtrader/EURJPYh1.csv.gz", 1e3},
	{"ejtrader/EURUSDd1.csv.gz", 1e5},
	{"ejtrader/EURUSDh4.csv.gz", 1e5},
	{"ejtrader/GBPUSDh1.csv.gz", 1e5},
	{"ejtrader/USDCADh1.csv.gz", 1e5},
	{"ejtrader/USDCHFh1.csv.gz", 1e5},
	{"ejtrader/USDJPYh1.csv.gz", 1e3},
	{"ejtrader/XAUUSDh1.csv.gz", 1e2},
	{"finance-vix/vix-daily.csv", 0},
}

// Every case that the rules find in real prices has a line in
// testdata/explained.txt: file, rule, severity, time and what happened. A case
// without one fails the test, and so does a line without its case.
func TestRealPrices_EveryFindingIsExplained(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("kept beside the project: the public data sets")
	}
	why := explanations(t)
	for _, f := range realFiles {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.path), ".gz"), ".csv")
		opt := market.ImportOptions{Symbol: "X", Divide: f.points, Mode: market.Normalise}
		b, _, err := market.ReadFile(t.Context(), filepath.Join(dir, f.path), opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range quality.Judge(b, quality.Options{}) {
			if len(x.At) < x.Count && x.Rule != quality.WeekendBars {
				t.Errorf("%s: %s has %d cases and names %d", name, x.Rule, x.Count, len(x.At))
			}
			for _, at := range x.At {
				key := fmt.Sprintf("%s %s %s %s", name, x.Rule, x.Severity, time.Unix(at, 0).UTC().Format("2006-01-02T15:04"))
				t.Logf("%s: %s", key, why[key])
				if why[key] == "" {
					t.Errorf("not explained: %s: %s", key, x.Text)
				}
				delete(why, key)
			}
		}
	}
	for key := range why {
		t.Errorf("explained and not found: %s", key)
	}
}

func explanations(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "explained.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, " ", 5)
		if len(parts) < 5 {
			t.Fatalf("explained.txt: not five fields: %q", line)
		}
		all[strings.Join(parts[:4], " ")] = parts[4]
	}
	return all
}
