package designer

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

// dollarPairs are the currencies that are traded for US dollars everywhere and
// at all hours.
var dollarPairs = []string{"EUR", "GBP", "JPY", "CHF", "AUD", "NZD", "CAD"}

// UsualCosts is what trading a symbol costs somebody with a small account, where
// nobody has said what it costs him: little for the great currency pairs, and
// for anything else rather too much than too little.
func UsualCosts(symbol string) CostHints {
	name := strings.ToUpper(squash(symbol))
	other, ok := strings.CutSuffix(name, "USD")
	if !ok {
		other, _ = strings.CutPrefix(name, "USD")
	}
	if slices.Contains(dollarPairs, other) {
		return CostHints{Commission: 0.00005, Slippage: 0.00005, Spread: 0.0001}
	}
	return CostHints{Commission: 0.0005, Slippage: 0.0005}
}

// maxRate is the highest rate that the grammar takes.
const maxRate = 0.2

// Validate says which rate the grammar does not take.
func (c CostHints) Validate() error {
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
