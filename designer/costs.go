package designer

import (
	"math"

	"github.com/ktrdr/ktrdr/instrument"
)

// worthwhile is how many round trips a typical move must pay for. What a model
// foresees is a small part of a move; where the whole move hardly covers the
// cost, no part of it does.
const worthwhile = 3

// leastHorizon is the shortest horizon, in bars, over which a market of this
// volatility moves enough to be worth a trade: moves grow with the root of
// time.
func leastHorizon(volatility float64, cost instrument.Costs) int {
	need := worthwhile * 2 * cost.PerSide() / volatility
	h := math.Ceil(float64(need * need))
	return int(min(max(h, 1), float64(horizons[len(horizons)-1])))
}
