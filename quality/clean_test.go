package quality_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

func itoa(t int64) string   { return strconv.FormatInt(t, 10) }
func ftoa(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func clone(b *market.Bars) *market.Bars {
	return &market.Bars{
		Symbol: b.Symbol, Timeframe: b.Timeframe, Time: slices.Clone(b.Time), Open: slices.Clone(b.Open), High: slices.Clone(b.High),
		Low: slices.Clone(b.Low), Close: slices.Clone(b.Close), Volume: slices.Clone(b.Volume),
	}
}

// clean are worlds without a defect, however wild.
var clean = map[string]world{
	"random walk":             fx.with(func(w *world) { w.tails, w.garch = 0, false }),
	"currency":                fx,
	"currency, server clock":  fxServer,
	"currency, minutes":       fx.every(market.M1, 20000),
	"currency, 4 hours":       fxServer.every(market.H4, 5000),
	"currency, days":          fxServer.every(market.D1, 2500),
	"very fat tails":          fx.with(func(w *world) { w.tails = 3 }),
	"jumps":                   fx.with(func(w *world) { w.jumps = 0.002 }),
	"crypto":                  coin,
	"crypto with jumps":       coin.with(func(w *world) { w.jumps = 0.002 }),
	"crypto, days":            coin.every(market.D1, 2500),
	"crypto, quarter hours":   coin.every(market.M15, 20000),
	"shares, half hours":      share,
	"shares, 5 minutes":       share.every(market.M5, 20000),
	"shares, days":            daily,
	"shares, days with jumps": daily.with(func(w *world) { w.jumps = 0.004 }),
	"shares, weeks":           weekly,
	"shares, months":          monthly,
	"illiquid":                illiquid,
	"drift":                   daily.with(func(w *world) { w.drift = 0.002 }),
}

func TestCleanFiles_HaveNoSevereFinding(t *testing.T) {
	files, warned := 0, 0
	for name, w := range clean {
		for seed := range uint64(5) {
			files++
			got := quality.Judge(w.make(seed), quality.Options{})
			if quality.Worst(got) == quality.Severe {
				t.Errorf("%s, seed %d: %v", name, seed, got)
			}
			if quality.Worst(got) == quality.Warning {
				warned++
				t.Log(name, seed, got)
			}
		}
	}
	if files < 100 {
		t.Errorf("%d clean files were judged, want 100", files)
	}
	t.Logf("%d clean files: %d have a warning", files, warned)
}
