package evidence

import (
	"fmt"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
)

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
