package designer

import (
	"fmt"
	"math"
)

// CostHints is what trading will cost, as fractions of the traded value. It is
// written into every proposal, so that it is tested with what it was designed
// for.
type CostHints struct {
	Commission float64 `json:"commission"` // each side
	Slippage   float64 `json:"slippage"`   // each side
	Spread     float64 `json:"spread"`     // bid to ask; each side pays half
}

// PerSide is what one side of a trade costs.
func (c CostHints) PerSide() float64 { return c.Commission + c.Slippage + float64(c.Spread/2) }

// maxRate is the highest rate that the grammar takes.
const maxRate = 0.2

func (c CostHints) check() error {
	for _, x := range []struct {
		name string
		rate float64
	}{{"commission", c.Commission}, {"slippage", c.Slippage}, {"spread", c.Spread}} {
		if !(x.rate >= 0 && x.rate <= maxRate) {
			return fmt.Errorf("a %s of %v is no fraction from 0 to %v", x.name, x.rate, maxRate)
		}
	}
	return nil
}

// worthwhile is how many round trips a typical move must pay for. What a model
// foresees is a small part of a move; where the whole move hardly covers the
// cost, no part of it does.
const worthwhile = 3

// leastHorizon is the shortest horizon, in bars, over which a market of this
// volatility moves enough to be worth a trade: moves grow with the root of
// time.
func leastHorizon(volatility float64, cost CostHints) int {
	need := worthwhile * 2 * cost.PerSide() / volatility
	h := math.Ceil(float64(need * need))
	return int(min(max(h, 1), float64(horizons[len(horizons)-1])))
}
