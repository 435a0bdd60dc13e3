package library

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// A market's holdout is sealed whatever the series is called, and however its bars come in.
func TestImport_TellsNoFindingInTheHoldoutOfTheMarketThatItJoins(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 6000, Seed: 4})
	bad := scaled(b, 10, 3500, 3503) // in the market's holdout, before the last share of the file
	for name, c := range map[string]struct {
		symbol string
		bars   *market.Bars
		mode   jobs.ImportMode
		choice Choice
	}{
		"under another name":              {"EURUSD2", bad, jobs.ImportNew, Choice{}},
		"in place of the series":          {"EURUSD", bad, jobs.ImportReplace, Choice{}},
		"as the user says":                {"OTHER", bad.Slice(3400, 4600), jobs.ImportNew, Choice{SameAs: "EURUSD"}},
		"while the user has not said yet": {"OTHER", bad.Slice(3400, 4600), jobs.ImportNew, Choice{}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			markets := NewMarkets(l.store, l.blobs)
			done, err := l.library.Import(t.Context(), Import{Bars: b, Origin: ktrdr.BarsFromFile, Markets: markets})
			if err == nil {
				_, err = markets.FixHoldout(t.Context(), done.Market.ID, time.Unix(b.Time[3450], 0))
			}
			if err != nil {
				t.Fatal(err)
			}
			named := *c.bars
			named.Symbol = c.symbol
			done = l.imports(Import{Bars: &named, Mode: c.mode, Origin: ktrdr.BarsFromFile, Markets: markets, Choice: c.choice})
			if name == "while the user has not said yet" && done.Question == "" {
				t.Fatalf("nothing is asked: %+v", done.Placement)
			}
			if len(done.Entry.Findings) == 0 {
				t.Error("nothing was found")
			}
			for _, f := range done.Entry.Findings {
				if !f.Sealed || len(f.At) > 0 {
					t.Errorf("reports a place in the holdout: %+v", f)
				}
			}
		})
	}
}
