package library

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// traded is a series at the prices of each day, in which a share was split twice, paid
// a dividend and a future rolled, and the file that says so.
func traded() (flat, raw *market.Bars, about instrument.Instrument) {
	flat = market.Synth(market.SynthConfig{Symbol: "AAPL", Timeframe: market.D1, Bars: 1200, Seed: 4})
	event := func(i int, e instrument.Event) instrument.Event {
		e.On = time.Unix(flat.Time[i], 0).UTC()
		return e
	}
	about = instrument.Instrument{Symbol: "AAPL", Class: instrument.Stock, Events: []instrument.Event{
		event(300, instrument.Event{Kind: instrument.SplitEvent, Ratio: 7}),
		event(600, instrument.Event{Kind: instrument.RollEvent, Ratio: 1.05}),
		event(900, instrument.Event{Kind: instrument.SplitEvent, Ratio: 4}),
	}}
	raw = market.Adjust(flat, []market.Adjustment{
		{At: flat.Time[300], Price: 7, Volume: 7}, {At: flat.Time[600], Price: 1 / 1.05}, {At: flat.Time[900], Price: 4, Volume: 4},
	})
	return flat, raw, about
}

func importedBars(t *testing.T, l *lab, im Import) (Imported, *market.Bars) {
	t.Helper()
	done := l.imports(im)
	b, err := l.library.Open(t.Context(), done.Entry)
	if err != nil {
		t.Fatal(err)
	}
	return done, b
}

// near compares prices and volumes but for rounding.
func near(t *testing.T, got, want *market.Bars) {
	t.Helper()
	if !slices.Equal(got.Time, want.Time) {
		t.Fatalf("%d bars, want %d", got.Len(), want.Len())
	}
	for i := range got.Time {
		for k, x := range [][2]float64{{got.Open[i], want.Open[i]}, {got.Close[i], want.Close[i]}, {got.Volume[i], want.Volume[i]}} {
			if math.Abs(x[0]-x[1]) > 1e-9*x[1] {
				t.Fatalf("bar %d, column %d: %v, want %v", i, k, x[0], x[1])
			}
		}
	}
}

func TestImport_AdjustsForSplitsAndRolls(t *testing.T) {
	flat, raw, about := traded()
	im := Import{Bars: raw, Origin: ktrdr.BarsFromFile, Instrument: about, Record: ktrdr.BarsRecord{Adjustment: "as in the file"}}
	done, b := importedBars(t, newLab(t), im)
	near(t, b, flat)
	if said := done.Entry.Record.Adjustment; said != "as in the file; back-adjusted by instruments.yaml: 2 splits, 1 roll" {
		t.Errorf("recorded %q", said)
	}
	if quality.Worst(done.Entry.Findings) == quality.Severe {
		t.Errorf("found %v in adjusted bars", done.Entry.Findings)
	}

	im.Instrument = instrument.Instrument{}
	if done, _ := importedBars(t, newLab(t), im); !slices.Contains(rules(done.Entry.Findings), "severe split-missed") {
		t.Errorf("found %v where no split is known", done.Entry.Findings)
	}
	im.Bars, im.Instrument = flat, about
	if done, _ := importedBars(t, newLab(t), im); !slices.Contains(rules(done.Entry.Findings), "severe split-twice") {
		t.Errorf("found %v where the file is adjusted already", done.Entry.Findings)
	}
}

// Bars that come later, with a split between, make the same series as all at once.
func TestImport_AppendAdjustsTheBarsBefore(t *testing.T) {
	_, raw, about := traded()
	im := Import{Bars: raw, Origin: ktrdr.BarsFromFile, Instrument: about}
	_, want := importedBars(t, newLab(t), im)
	l := newLab(t)
	for _, part := range [][2]int{{0, 250}, {200, 700}, {700, 900}, {900, 1200}} {
		im.Bars, im.Mode = raw.Slice(part[0], part[1]), jobs.ImportAppend
		done, b := importedBars(t, l, im)
		if part[1] == raw.Len() {
			near(t, b, want)
		}
		if quality.Worst(done.Entry.Findings) == quality.Severe {
			t.Errorf("bars %v: found %v", part, done.Entry.Findings)
		}
	}
}

func TestImport_AdjustsForDividends(t *testing.T) {
	flat, _, _ := traded()
	day := func(i int) time.Time { return time.Unix(flat.Time[i], 0).UTC() }
	about := instrument.Instrument{Events: []instrument.Event{{Kind: instrument.DividendEvent, On: day(500), Amount: flat.Close[499] / 50}}}
	im := Import{Bars: flat, Origin: ktrdr.BarsFromFile, Instrument: about}
	_, b := importedBars(t, newLab(t), im)
	got := b.Close[499] / flat.Close[499]
	if math.Abs(got-0.98) > 1e-12 || b.Close[500] != flat.Close[500] || b.Volume[10] != flat.Volume[10] {
		t.Errorf("the close before is %v of what it was, want 0.98", got)
	}
	im.Instrument.Events[0].Amount = 2 * flat.Close[499]
	_, err := newLab(t).library.Import(t.Context(), im)
	if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), "dividend") {
		t.Errorf("a dividend above the price: %v", err)
	}
}
