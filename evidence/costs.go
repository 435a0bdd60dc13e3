package evidence

import (
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/num"
)

// Costs say what trading cost and how much dearer it could have been.
type Costs struct {
	Gross    float64 `json:"gross"`    // at the bars' own prices
	Costs    float64 `json:"costs"`    // commission, spread and slippage
	Net      float64 `json:"net"`      // gross less costs
	Turnover float64 `json:"turnover"` // value traded, entries and exits

	// BreakEven is how many times the costs could have been what they were
	// before nothing was left. It is nil where none were charged, and 0 where
	// the gross profit is not above 0.
	BreakEven *float64 `json:"break_even_multiplier"`
	// BreakEvenRate is the same as a rate of the value of one entry or exit.
	BreakEvenRate *float64    `json:"break_even_rate"`
	Curve         []CostPoint `json:"curve"`
}

// CostPoint is what would have been left at other costs.
type CostPoint struct {
	Multiplier float64 `json:"multiplier"` // of the costs charged
	Net        float64 `json:"net"`
}

// CostsOf takes trades apart into what they made and what they cost. The curve
// keeps the trades as they were made: it does not know that a poorer account
// would have traded smaller, nor that a wiser one would not have traded.
func CostsOf(trades []backtest.Trade, multipliers ...float64) Costs {
	var c Costs
	for k := range trades {
		t := &trades[k]
		c.Gross += t.Gross
		c.Costs += t.Costs
		c.Turnover += float64(t.Quantity*t.EntryPrice) + float64(t.Quantity*t.ExitPrice)
	}
	c.Net = c.Gross - c.Costs
	if c.Costs > 0 {
		c.BreakEven = num.Finite(max(c.Gross, 0) / c.Costs)
	}
	if c.Turnover > 0 {
		c.BreakEvenRate = num.Finite(max(c.Gross, 0) / c.Turnover)
	}
	c.Curve = make([]CostPoint, len(multipliers))
	for i, m := range multipliers {
		c.Curve[i] = CostPoint{Multiplier: m, Net: c.Gross - float64(m*c.Costs)}
	}
	return c
}
