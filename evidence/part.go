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

// judgeable refuses bars that the backtest was not made on, and a backtest without a return.
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

// PartOfPortfolio takes what a verdict needs out of a portfolio: the returns of
// its sum, and of buying and holding every symbol with the same share of the
// capital, never rebalanced, at the same costs. Both have one return for each bar
// of the union. bars are those of the accounts, in their order.
func PartOfPortfolio(bars []*market.Bars, p *backtest.Portfolio) (Part, error) {
	if len(bars) != len(p.Accounts) {
		return Part{}, fmt.Errorf("a portfolio of %d accounts cannot be judged with the bars of %d symbols", len(p.Accounts), len(bars))
	}
	for i, b := range bars {
		if err := judgeable(b, p.Accounts[i].Result); err != nil {
			return Part{}, fmt.Errorf("%s: %w", b.Symbol, err)
		}
	}
	if len(bars) == 1 {
		return PartOf(bars[0], p.Sum)
	}
	start := p.Sum.Config.StartBar
	hold, err := holdPortfolio(bars, p.Accounts, p.Sum.Time[start:])
	if err != nil {
		return Part{}, err
	}
	part := partOf(p.Sum, Returns(hold))
	part.Accounts = len(p.Accounts)
	return part, nil
}

// holdPortfolio is what one unit of money in each symbol comes to, added up at each of the
// times: cash until a symbol is bought, and its last value at a time at which it has no bar.
func holdPortfolio(bars []*market.Bars, accounts []backtest.Account, times []int64) ([]float64, error) {
	total := make([]float64, len(times))
	for k, b := range bars {
		returns, err := HoldReturns(b, accounts[k].Config)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Symbol, err)
		}
		next, value := accounts[k].Config.StartBar+1, 1.0 // the first bar with a return
		bought := next
		for i, at := range times {
			for ; next < b.Len() && b.Time[next] <= at; next++ {
				value *= 1 + returns[next-bought]
			}
			total[i] += value
		}
	}
	return total, nil
}
