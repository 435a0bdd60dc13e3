package evidence

import (
	"math"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/num"
)

// Curve is what the equity curve of a backtest shows beyond its figures: when it was
// earned, how long the account was under water, and how far the Sharpe ratio could be off.
type Curve struct {
	Years     []Year     `json:"years"`
	Drawdowns []Drawdown `json:"drawdowns"` // at most five, the deepest first
	// Sharpe is of this curve alone: strategies that were tried before it are not
	// counted. It is per bar where the number of bars in a year is unknown.
	Sharpe Interval `json:"sharpe_ratio"`
}

// deepest is how many drawdowns a Curve shows.
const deepest = 5

// CurveOf reads the curve of a backtest from the first bar that could decide on.
// It takes n^(2/3) steps for each resample of n bars. The seed is that of the
// resamples: the same one gives the same interval.
func CurveOf(r *backtest.Result, seed uint64) (Curve, error) {
	first := min(r.Config.StartBar, len(r.Equity))
	times, equity := r.Time[first:], r.Equity[first:]
	years, err := Monthly(times, equity)
	if err != nil {
		return Curve{}, err
	}
	falls, err := Drawdowns(times, equity, deepest)
	if err != nil {
		return Curve{}, err
	}
	c := Curve{Years: years, Drawdowns: falls, Sharpe: Bootstrap{}.Sharpe(Returns(equity), num.NewRand(seed))}
	if n := r.Metrics.BarsPerYear; n != nil {
		c.Sharpe = c.Sharpe.times(math.Sqrt(*n))
		c.Sharpe.PerYear = true
	}
	return c, nil
}
