package compute

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

func TestLoad_ADryRunReportsAndStoresNothing(t *testing.T) {
	o := newOffice(t, 0)
	o.file("imports/eurusd_1h.csv",
		"time,open,high,low,close,volume\n2024-01-01T00:00:00Z,1,2,0.5,1.5,10\n2024-01-01T01:00:00Z,1.5,2,1,1.2,-10\n"+
			"2024-01-01T02:00:00Z,1.2,2,1,1.2,10\n")
	markets := library.NewMarkets(o.store, o.blobs)
	load := func(dry, normalise bool) jobs.LoadResult {
		t.Helper()
		order, err := o.desk.DataLoad(t.Context(), jobs.DataLoadRequest{Path: "imports/eurusd_1h.csv", DryRun: dry, Normalise: normalise})
		if err != nil {
			t.Fatal(err)
		}
		op := o.run(order, once(LoadRunner(o.library, markets, 0, nil)))
		if op.Status != ktrdr.Completed {
			t.Fatalf("ended %s: %s", op.Status, op.ErrorMessage)
		}
		return resultOf[jobs.LoadResult](t, op)
	}
	r := load(true, false)
	if !r.DryRun || r.Entry.Symbol != "EURUSD" || r.Entry.Timeframe != market.H1 || r.Entry.Bars != 3 ||
		!strings.Contains(r.Refused, "eurusd_1h.csv:3: negative-volume") {
		t.Errorf("the dry run says %+v, want 3 bars of EURUSD 1h, refused for line 3", r)
	}
	if r = load(true, true); r.Refused != "" || r.Report.Cleared != 1 {
		t.Errorf("with normalising it says %+v, want it accepted with one row mended", r)
	}
	if _, err := o.library.Get(t.Context(), "EURUSD", market.H1); !errors.Is(err, market.ErrNoData) {
		t.Errorf("after dry runs the library answers %v, want no bars", err)
	}
	if r = load(false, true); r.DryRun || r.Entry.Bars != 3 {
		t.Errorf("the import says %+v", r)
	}
	if r = load(true, true); r.Replaced == nil || r.Refused != "" { // the same bars again
		t.Errorf("the same again: %+v, want the series named and nothing refused", r)
	}
}

func TestLoad_ADryRunOfAnAppendSaysWhatChanges(t *testing.T) {
	o := newOffice(t, 0)
	rows := func(name string, from, to int, volume int) {
		var text strings.Builder
		text.WriteString("time,open,high,low,close,volume\n")
		for i := from; i < to; i++ {
			fmt.Fprintf(&text, "%s,1,2,0.5,1.5,%d\n", time.Date(2024, 1, 1, i, 0, 0, 0, time.UTC).Format(time.RFC3339), volume)
		}
		o.file(name, text.String())
	}
	rows("imports/one.csv", 0, 20, 10)
	rows("imports/two.csv", 10, 25, 11)
	load := func(file string, dry bool) jobs.LoadResult {
		t.Helper()
		order, err := o.desk.DataLoad(t.Context(),
			jobs.DataLoadRequest{Path: file, Symbol: "EURUSD", Timeframe: "1h", Mode: string(jobs.ImportAppend), DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		op := o.run(order, once(LoadRunner(o.library, library.NewMarkets(o.store, o.blobs), 0, nil)))
		if op.Status != ktrdr.Completed {
			t.Fatalf("ended %s: %s", op.Status, op.ErrorMessage)
		}
		return resultOf[jobs.LoadResult](t, op)
	}
	load("imports/one.csv", false)
	r := load("imports/two.csv", true)
	if m := r.Merged; m == nil || m.Added != 5 || m.Changed != 10 || m.InHoldout != 4 || m.AddedInHoldout != 5 ||
		len(m.First) != 6 {
		t.Errorf("the dry run says %+v, want 5 new, all after the holdout begins, 10 changed, 4 of them in the holdout and 6 told", m)
	}
	if !strings.Contains(r.Summary, "5 new bars (5 after the holdout begins), 10 changed (4 of them in the holdout)") {
		t.Errorf("summary %q", r.Summary)
	}
	if e, err := o.library.Info(t.Context(), "EURUSD", market.H1); err != nil || e.Bars != 20 {
		t.Errorf("after the dry run there are %d bars, %v; want 20", e.Bars, err)
	}
}

func TestCheckSeries_EndsWhereTheHoldoutBegins(t *testing.T) {
	o := newOffice(t, 0)
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 3})
	if _, err := o.library.Import(t.Context(), library.Import{Bars: b, Origin: ktrdr.BarsSynthetic}); err != nil {
		t.Fatal(err)
	}
	desk, err := OpenService(ServiceConfig{
		Dir: o.dir, Library: o.library, Blobs: o.blobs, Operations: o, Markets: library.NewMarkets(o.store, o.blobs), Ledger: o,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = desk.Close() })
	c, err := desk.CheckSeries(t.Context(), "EURUSD", "1h")
	if err != nil || !c.OK {
		t.Fatalf("check %+v, %v", c, err)
	}
	n := c.Report.Rows
	if n == 0 || n >= b.Len() || market.H1.End(b.Time[n-1]) > c.Until.Unix() || market.H1.End(b.Time[n]) <= c.Until.Unix() {
		t.Errorf("%d of %d bars were checked, the holdout begins %s", n, b.Len(), c.Until.Format(time.RFC3339))
	}
	for _, hole := range c.Report.Holes {
		if hole.Before > c.Until.Unix() {
			t.Errorf("a gap of the holdout is told: %+v", hole)
		}
	}
	if _, err := desk.CheckSeries(t.Context(), "GBPUSD", "1h"); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		t.Errorf("a series that is not there: %v, want %s", err, ktrdr.CodeNotFound)
	}
}
