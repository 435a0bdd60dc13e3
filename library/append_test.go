package library

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// An import tells the bars that it changes, and of the holdout only how many.
func TestImport_AppendTellsNoBarOfTheHoldout(t *testing.T) {
	for name, fixed := range map[string]int{"fixed": 90, "not fixed yet": 0} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			markets := NewMarkets(l.store, l.blobs)
			b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 100, Seed: 1})
			im := Import{Bars: b, Mode: jobs.ImportAppend, Origin: ktrdr.BarsFromFile, Markets: markets}
			first, err := l.library.Import(t.Context(), im)
			if err != nil {
				t.Fatal(err)
			}
			sealed := 20
			if fixed > 0 {
				sealed = b.Len() - fixed
				if _, err := markets.FixHoldout(t.Context(), first.Market.ID, time.Unix(b.Time[fixed], 0).UTC()); err != nil {
					t.Fatal(err)
				}
			}
			im.Bars = market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 100, Seed: 1}).Slice(50, 100)
			for i := range im.Bars.Volume {
				im.Bars.Volume[i]++
			}
			done, err := l.library.Import(t.Context(), im)
			if err != nil {
				t.Fatal(err)
			}
			m := done.Merged
			if m.Changed != 50 || m.InHoldout != sealed || len(m.First) != 50-sealed {
				t.Errorf("%d changed, %d in the holdout, %d told; want 50, %d and %d", m.Changed, m.InHoldout, len(m.First), sealed, 50-sealed)
			}
			for _, c := range m.First {
				if c.Old.Time >= b.Time[100-sealed] {
					t.Errorf("a bar of the holdout is told: %v", c)
				}
			}
		})
	}
}
