//go:build unix

package compute

import (
	"fmt"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// BenchmarkCalibrate searches copies of 20,000 bars with 8 researches each, as a part of
// `ktrdr calibrate` does, and projects 99 of them onto two cores. The goal is 20 minutes.
func BenchmarkCalibrate(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	const copies, all = 4, 99
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 20_000, Seed: 5})
	fmt.Printf("== Calibration: copies of %d bars, 8 researches each; CPU time of this process\n", bars.Len())
	began, wall := cpu(), time.Now()
	judged := 0
	for seed := range uint64(copies) {
		copied, err := factory.Copy([]*market.Bars{bars}, research.Flips, seed)
		if err != nil {
			b.Fatal(err)
		}
		w, err := factory.Split(copied, 0)
		if err != nil {
			b.Fatal(err)
		}
		out, err := factory.Search(b.Context(), w, factory.Settings{Seed: seed})
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range out.Researches {
			if r.Score != nil {
				judged++
			}
		}
	}
	each := (cpu() - began) / copies
	fmt.Printf("%-44s %10.1f\n", "copies a minute on one core", time.Minute.Seconds()/each.Seconds())
	fmt.Printf("%-44s %10.1f\n", fmt.Sprintf("minutes for %d copies on two cores", all), float64(all)*each.Minutes()/2)
	fmt.Printf("%-44s %10d\n", fmt.Sprintf("researches judged, of %d", 8*copies), judged)
	fmt.Printf("%-44s %10s\n", "wall time of the copies searched", time.Since(wall).Round(time.Second/10))
	load(b)
}
