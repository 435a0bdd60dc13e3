package designer_test

import (
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/designer"
)

// Of 24 designs in three generations at least 12 are of the family that the goal
// names, and look at the market as that family does.
func TestDesign_GivesTheNamedFamilyHalfOfTheDesigns(t *testing.T) {
	looks := map[designer.Family][]string{
		designer.Trend:      {"adx", "aroon", "ema_distance", "minus_di", "plus_di", "supertrend"},
		designer.Reversion:  {"cci", "distance", "fisher", "rsi", "stochastic"},
		designer.Momentum:   {"macd", "momentum", "roc", "rvi"},
		designer.Breakout:   {"squeeze", "williams"},
		designer.Volatility: {"atr", "bandwidth"},
		designer.Volume:     {"cmf", "mfi", "volume_ratio"},
	}
	for family, readings := range looks {
		for _, also := range []string{"", ", simple", " with rsi", ", gbpusd 1h and 4h"} {
			for seed := range uint64(3) {
				of := 0
				var past []designer.Experiment
				for i := range 24 {
					p, err := designer.Design(briefOf(string(family)+also), seed, i/8, i%8, slices.Clone(past[:i/8*8]), halfABasisPoint)
					if err != nil {
						t.Fatal(err)
					}
					sharpe := float64(i%5) / 4
					if p.Genome.Idea != family {
						sharpe++ // the others are better, and are not followed for it
					}
					past = append(past, designer.Experiment{
						Generation: i / 8, Index: i % 8, Key: p.Key, Genome: &p.Genome,
						Outcome: designer.Outcome{Sharpe: &sharpe, Trades: 90},
					})
					if p.Genome.Idea == family && slices.ContainsFunc(p.Genome.Inputs,
						func(x designer.Gene) bool { return slices.Contains(readings, x.Reading) }) {
						of++
					}
				}
				if of < 12 {
					t.Errorf("%s%s, seed %d: %d of 24 designs, want 12 or more", family, also, seed, of)
				}
			}
		}
	}
}
