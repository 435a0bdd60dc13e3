package backend

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

func TestDeskSeries_NamesTheDamagedBesideTheOthers(t *testing.T) {
	st, err := MakeStorage(t.Context(), Config{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	bars, markets := library.NewLibrary(st.Store, st.Blobs), library.NewMarkets(st.Store, st.Blobs)
	for i, symbol := range []string{"GOOD", "WRONG"} {
		b := market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: 50 + i})
		if _, err := bars.Import(t.Context(), library.Import{Bars: b, Origin: ktrdr.BarsSynthetic}); err != nil {
			t.Fatal(err)
		}
	}
	wrong, err := st.Store.BarsOf(t.Context(), "WRONG", "1h")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Blobs.Delete(t.Context(), wrong.File.SHA256); err != nil {
		t.Fatal(err)
	}
	desk, err := compute.OpenService(compute.ServiceConfig{Dir: t.TempDir(), Library: bars, Markets: markets})
	if err != nil {
		t.Fatal(err)
	}
	defer desk.Close()
	list, err := desk.Series(t.Context())
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
