package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/sqlstore"
)

func TestDeskSeries_NamesTheDamagedBesideTheOthers(t *testing.T) {
	dir := t.TempDir()
	d, err := jobs.OpenDesk(jobs.DeskConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, symbol := range []string{"GOOD", "WRONG"} {
		if _, err := d.Library().Import(market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: 50})); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "WRONG_1h", "current"), []byte("no hash"), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: filepath.Join(dir, "ktrdr.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	list, err := desk{d, jobs.NewMarkets(store, nil)}.Series(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Symbol != "GOOD" || list[0].Bars != 50 || list[0].Problem != "" {
		t.Fatalf("series %+v, want the good one as it is", list)
	}
	if bad := list[1]; bad.Symbol != "WRONG" || bad.Timeframe != "1h" || !strings.Contains(bad.Problem, "import the data again") {
		t.Errorf("series %+v, want it named, and what to do", bad)
	}
}
