package research

import (
	"fmt"
	"math"
	"strings"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
)

// MeasuredSpread is the typical spread of the bars of a symbol, as a fraction of the
// price. Only bars before the holdout are read.
type MeasuredSpread struct {
	Symbol string
	Spread float64
}

// MeasuredSpreads measures the spreads of series, one for each symbol that has some:
// the widest of its timeframes.
func MeasuredSpreads(series []*market.Bars) (all []MeasuredSpread) {
next:
	for _, b := range series {
		spread, bars := b.TypicalSpread()
		if bars == 0 {
			continue
		}
		for i := range all {
			if all[i].Symbol == b.Symbol {
				all[i].Spread = max(all[i].Spread, spread)
				continue next
			}
		}
		all = append(all, MeasuredSpread{b.Symbol, spread})
	}
	return all
}

// measured compares the cost floors with the spreads of the bars. A default floor is
// raised to a wider spread; one that a user has set stays, and a warning says so.
func measured(floors []SymbolCosts, spreads []MeasuredSpread) (all []SymbolCosts, warnings []string) {
	all = append(all, floors...)
	for _, m := range spreads {
		for i := range all {
			c := &all[i]
			if !strings.EqualFold(c.Symbol, m.Symbol) {
				continue
			}
			c.Measured = m.Spread
			if m.Spread <= c.Spread {
				continue
			}
			if c.Source == CostsByDefault {
				c.Spread = math.Min(m.Spread, instrument.MaxRate)
			}
			warnings = append(warnings, c.measuredText())
		}
	}
	return all, warnings
}

// measuredText says what a spread wider than the floor changes.
func (c SymbolCosts) measuredText() string {
	said := fmt.Sprintf("The bars of %s have a typical spread of %s basis points", c.Symbol, instrument.Points(c.Measured))
	if c.Source == CostsByDefault {
		return fmt.Sprintf("%s, wider than the default for %s, so the cost floor is raised to it: %s.", said, c.Class, c.sideText())
	}
	return fmt.Sprintf("%s, wider than the %s that are set (%s): the costs may be too low.", said, instrument.Points(c.Spread), c.sourceText())
}
