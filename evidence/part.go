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
	Ruined      bool             `json:"ruined"`        // the account was used up
}

// PartOf takes what a verdict needs out of a backtest of these bars.
func PartOf(bars *market.Bars, r *backtest.Result) (Part, error) {
	n := len(r.Equity)
	if n == 0 || n > bars.Len() || len(r.Time) != n || bars.Time[0] != r.Time[0] || bars.Time[n-1] != r.Time[n-1] {
		return Part{}, errors.New("the backtest was made on other bars than those it is to be judged with")
	}
	start := r.Config.StartBar
	if start >= n-1 {
		return Part{}, fmt.Errorf("a backtest of %d bars that begins to decide at bar %d has no return to judge", n, start)
	}
	hold, err := HoldReturns(bars, r.Config)
	if err != nil {
		return Part{}, err
	}
	p := Part{
		Returns: Returns(r.Equity[start:]), Hold: hold[:n-1-start], Trades: r.Trades,
		MaxDrawdown: r.Metrics.MaxDrawdownPct / 100, Ruined: r.Ended == backtest.OnRuin,
	}
	if r.Metrics.BarsPerYear != nil {
		p.BarsPerYear = *r.Metrics.BarsPerYear
	}
	return p, nil
}
