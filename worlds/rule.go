package worlds

import (
	"fmt"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
)

// Trading is how a rule trades: at the default costs of major currencies, 1.5 basis points per side.
var Trading = backtest.Config{Commission: 0.5e-4, Slippage: 0.5e-4, Spread: 1e-4, PositionSize: 0.5, AllowShort: true}

// Exit is how a rule leaves a position.
type Exit bool

// The exits. Which one earns more depends on the strength and on the costs.
const (
	AtOnce Exit = false // as soon as nothing leans to its side
	Late   Exit = true  // when something leans to the other side
)

// Exits lists them.
var Exits = [2]Exit{AtOnce, Late}

// Rule is a trader who knows the effect: at each close it takes the side that the next
// bar leans to.
type Rule struct {
	bars  *market.Bars
	leans []int8 // of the bar after each close
}

// Rule is that of the kind for the bars that Make made.
func (k Kind) Rule(all []*market.Bars) Rule {
	look := all[len(all)-1] // the leader, if there is one
	r := Rule{bars: all[0], leans: make([]int8, all[0].Len())}
	for i := lookBack - 1; i < len(r.leans); i++ {
		r.leans[i] = int8(k.lean(seen{look, i}))
	}
	return r
}

// Signals are what the rule decides at each close.
func (r Rule) Signals(exit Exit) []backtest.Signal {
	signals, side := make([]backtest.Signal, len(r.leans)), backtest.Hold
	for i, lean := range r.leans {
		want := backtest.Signal(lean)
		switch {
		case want == side, want == backtest.Hold && exit == Late:
		case side == backtest.Hold || exit == Late: // an opposite signal reverses
			signals[i], side = want, want
		default:
			signals[i], side = -side, backtest.Hold
		}
	}
	return signals
}

// Trade trades a part of the bars.
func (r Rule) Trade(exit Exit, from, to int) (evidence.Part, error) {
	part, trading := r.bars.Slice(from, to), Trading
	trading.Flip = exit == Late
	result, err := backtest.Backtest(part, r.Signals(exit)[from:to], trading)
	if err != nil {
		return evidence.Part{}, fmt.Errorf("the rule on bars %d to %d of %s: %w", from, to, r.bars.Symbol, err)
	}
	return evidence.PartOf(part, result)
}
