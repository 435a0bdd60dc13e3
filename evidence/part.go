package evidence

import (
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
)

// Part is what a strategy did on one part of the data.
type Part struct {
	Returns     []float64        `json:"returns"`       // per bar, net of all costs
	Hold        []float64        `json:"hold"`          // of buy-and-hold over the same bars, net of the same costs
	BarsPerYear float64          `json:"bars_per_year"` // 0 where it is unknown
	Trades      []backtest.Trade `json:"trades"`        // closed
	MaxDrawdown float64          `json:"max_drawdown"`  // as a fraction of the peak
	Ruined      bool             `json:"ruined"`        // the account was used up; of a portfolio, every account
	Accounts    int              `json:"accounts"`      // one per symbol: that many positions can be open at once
	Time        []int64          `json:"-"`             // openings of the bars between which the returns are; for drawing
}

// PartOf takes what a verdict needs out of a backtest of these bars.
func PartOf(bars *market.Bars, r *backtest.Result) (Part, error) {
	if err := judgeable(bars, r); err != nil {
		return Part{}, err
	}
	hold, err := HoldReturns(bars, r.Config)
	if err != nil {
		return Part{}, err
	}
	return partOf(r, hold[:len(r.Equity)-1-r.Config.StartBar]), nil
}

// judgeable refuses bars that the backtest was not made on, and a backtest without a
// return.
func judgeable(bars *market.Bars, r *backtest.Result) error {
	n := len(r.Equity)
	if n == 0 || n > bars.Len() || len(r.Time) != n || bars.Time[0] != r.Time[0] || bars.Time[n-1] != r.Time[n-1] {
		return errors.New("the backtest was made on other bars than those it is to be judged with")
	}
	if start := r.Config.StartBar; start >= n-1 {
		return fmt.Errorf("a backtest of %d bars that begins to decide at bar %d has no return to judge", n, start)
	}
	return nil
}

// partOf is the part of one account, or of a sum of them.
func partOf(r *backtest.Result, hold []float64) Part {
	p := Part{
		Returns: Returns(r.Equity[r.Config.StartBar:]), Hold: hold, Trades: r.Trades,
		MaxDrawdown: r.Metrics.MaxDrawdownPct / 100, Ruined: r.Ended == backtest.OnRuin, Accounts: 1, Time: r.Time[r.Config.StartBar:],
	}
	if r.Metrics.BarsPerYear != nil {
		p.BarsPerYear = *r.Metrics.BarsPerYear
	}
	return p
}
