package agent

import (
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/research"
)

// overrides make a strategy pay what its backtest paid, so that the training
// part, the test part and the holdout are traded at the same costs. Where
// nothing is recorded the strategy's own backtest section decides.
func overrides(paid []research.PaidCosts) func(symbol string) backtest.Overrides {
	return func(symbol string) (o backtest.Overrides) {
		for _, p := range paid {
			if p.Symbol == symbol {
				o.Commission, o.Slippage, o.Spread = &p.Commission, &p.Slippage, &p.Spread
			}
		}
		return o
	}
}

// costNotes are the weaknesses of a verdict that lie in its costs.
func costNotes(files *research.AssessedFiles) (notes []string) {
	if files == nil {
		return nil
	}
	for _, p := range files.Costs {
		notes = append(notes, p.Sentences()...)
	}
	return notes
}
