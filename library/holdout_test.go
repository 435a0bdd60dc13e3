package library

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// A short copy of a long market does not decide where the holdout of all bars
// begins.
func TestHoldoutStart_IsThatOfTheLongestSeries(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 1000, Seed: 1})
	own := time.Unix(b.Time[800], 0).UTC()
	first, last := time.Unix(b.Time[0], 0).UTC(), time.Unix(b.Time[999], 0).UTC()
	series := func(from, to time.Time) ktrdr.Market {
		return ktrdr.Market{Series: []ktrdr.MarketSeries{{First: from, Last: to}}}
	}
	years := series(first, first.AddDate(10, 0, 0))
	for name, c := range map[string]struct {
		of   ktrdr.Market
		want time.Time
	}{
		"alone":              {ktrdr.Market{}, own},
		"the same span":      {series(first, last), own},
		"a shorter one":      {series(first, last.AddDate(0, -1, 0)), own},
		"one of ten years":   {years, first.AddDate(8, 0, 0)},
		"one bar more":       {series(first, last.Add(time.Hour)), own},
		"another, far later": {series(first.AddDate(5, 0, 0), last.AddDate(5, 0, 0)), own},
	} {
		got := HoldoutStart(b, c.of, 0.2)
		if d := got.Sub(c.want).Abs(); d > 24*time.Hour || c.want.Equal(own) && d != 0 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
