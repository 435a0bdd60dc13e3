package evidence

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// Returns are those of an equity curve from one close to the next. What is not above zero cannot earn a return.
func Returns(equity []float64) []float64 {
	if len(equity) < 2 {
		return nil
	}
	r := make([]float64, len(equity)-1)
	for i := range r {
		if from := equity[i]; from > 0 {
			r[i] = (equity[i+1] - from) / from
		}
	}
	return r
}

// HoldReturns are the returns per bar of who buys everything at the first open
// that a signal could have had and sells it at the last close, at the costs of
// c. They fit bar for bar those of a backtest of the same bars.
func HoldReturns(bars *market.Bars, c backtest.Config) ([]float64, error) {
	first, last := c.StartBar+1, bars.Len()-1
	if c.StartBar < 0 || first > last {
		return nil, fmt.Errorf("buy and hold: %d bars leave no return after start bar %d", bars.Len(), c.StartBar)
	}
	friction := c.Slippage + float64(c.Spread/2)
	r := make([]float64, last-first+1)
	before := bars.Open[first] * (1 + friction) * (1 + c.Commission)
	for i := first; i <= last; i++ {
		now := bars.Close[i]
		if i == last {
			now *= (1 - friction) * (1 - c.Commission)
		}
		r[i-first] = now/before - 1
		if c.CarryLong != 0 && i > first { // of the value at the close before
			r[i-first] -= c.CarryFor(backtest.Long, bars.Time[i]-bars.Time[i-1])
		}
		before = bars.Close[i]
	}
	return r, nil
}

// Comparison sets a strategy beside buy-and-hold over the same bars.
type Comparison struct {
	Sharpe     Sharpe   `json:"sharpe"`
	HoldSharpe Sharpe   `json:"hold_sharpe"`
	Return     float64  `json:"return"`      // compound, over the whole span
	HoldReturn float64  `json:"hold_return"` // the same
	Beta       *float64 `json:"beta"`
	Alpha      *float64 `json:"alpha"`               // per bar: what is left of the mean return without the market's part
	AlphaZ     *float64 `json:"alpha_z"`             // Alpha over its error
	Undefined  string   `json:"undefined,omitempty"` // why there is no alpha
}

// Versus compares returns with those of buy-and-hold. Alpha is what a
// regression on the market leaves: a strategy that is only long in a rising
// market, or only short in a falling one, has a Sharpe ratio but no alpha.
func Versus(returns, hold []float64, barsPerYear float64) Comparison {
	c := Comparison{
		Sharpe: EstimateSharpe(returns, barsPerYear), HoldSharpe: EstimateSharpe(hold, barsPerYear),
		Return: compound(returns), HoldReturn: compound(hold),
	}
	s, err := measure(returns)
	switch {
	case len(returns) != len(hold):
		c.Undefined = fmt.Sprintf("%d returns do not fit %d of buy-and-hold", len(returns), len(hold))
		return c
	case err != nil:
		c.Undefined = err.Error()
		return c
	}
	m, err := measure(hold)
	if err != nil {
		c.Undefined = "buy-and-hold: " + err.Error()
		return c
	}
	c.regress(s, m)
	return c
}

func (c *Comparison) regress(s, m sample) {
	spread, cross := m.deviation*m.deviation*(m.n-1), 0.0
	for i, v := range s.x {
		cross += float64((v - s.mean) * (m.x[i] - m.mean))
	}
	beta := cross / spread
	alpha := s.mean - float64(beta*m.mean)
	c.Beta, c.Alpha = num.Finite(beta), num.Finite(alpha)
	left, squares := make([]float64, len(s.x)), 0.0
	for i, v := range s.x {
		left[i] = v - alpha - float64(beta*m.x[i])
		squares += float64(left[i] * left[i])
	}
	own := math.Sqrt(squares / (s.n - 2))
	if !(own > noise*s.deviation) {
		c.Undefined = "the strategy moves with the market and no other way, so it has no alpha of its own"
		return
	}
	e := own * math.Sqrt(1/s.n+float64(m.mean*m.mean/spread)) * math.Sqrt(max(LongRun(left), 1))
	c.AlphaZ = num.Finite(alpha / e)
}

// compound is the return over all bars; a series that is not finite has none and gives -1, the worst.
func compound(returns []float64) float64 {
	logs := make([]float64, len(returns))
	for i, v := range returns {
		if !(v > -1) || math.IsInf(v, 0) {
			return -1
		}
		logs[i] = num.Log(1 + v)
	}
	total := num.Exp(num.Sum(logs)) - 1
	if math.IsNaN(total) || math.IsInf(total, 0) {
		return -1
	}
	return total
}
