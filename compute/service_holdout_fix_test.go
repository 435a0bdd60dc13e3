package compute

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

// Bars that are appended to a series would move the start of a holdout that is not
// fixed, and show the bars that were in it.
func TestFixHoldouts_BarsThatAreAddedMoveNoHoldout(t *testing.T) {
	o := newOffice(t, 0)
	markets := library.NewMarkets(o.store, o.blobs)
	desk, err := OpenService(ServiceConfig{
		Dir: o.dir, Library: o.library, Blobs: o.blobs, Operations: o, Markets: markets, Ledger: o,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = desk.Close() })
	all := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 9000, Seed: 3})
	add := func(b *market.Bars) {
		t.Helper()
		im := library.Import{Bars: b, Mode: jobs.ImportAppend, Origin: ktrdr.BarsFromFile, Markets: markets}
		if _, err := o.library.Import(t.Context(), im); err != nil {
			t.Fatal(err)
		}
	}
	shown := func() (from, last time.Time) {
		t.Helper()
		b, err := desk.Bars(t.Context(), "EURUSD", "1h", jobs.BarsQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return b.HoldoutFrom, b.Bars[len(b.Bars)-1].Time
	}
	add(all.Slice(0, 3000))
	before, _ := shown()
	for range 2 {
		if err := desk.FixHoldouts(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	add(all.Slice(3000, 9000))
	if after, last := shown(); !after.Equal(before) || last.After(before) {
		t.Errorf("the holdout began %s and begins %s; the last bar that is shown is of %s", before, after, last)
	}
}
