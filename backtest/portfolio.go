package backtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// Portfolio is one account per symbol. Each begins with the same share of the
// capital, trades its own symbol, and is never rebalanced.
//
//	account 1   ──●──●──●──────●──●──▶   its own bars
//	account 2   ──●─────●──●──●──●──▶
//	Sum           ●──●──●──●──●──●──▶   the union of the bar times
//
// An account without a bar at a time keeps its last equity. The portfolio is judged on the sum.
type Portfolio struct {
	Timeframe market.Timeframe
	Accounts  []Account

	// Sum has the union of the accounts' bar times, the sum of their equities and all
	// their trades. The bars of its trades count in the union. Its Config has the
	// whole capital and the costs of the dearest account. It has no Position: units of
	// different symbols do not add up. Of one account it is the account's own result.
	Sum *Result
}

// Account is what one symbol of a portfolio did.
type Account struct {
	Symbol string
	*Result
}

// Share is the configuration of one of n accounts that divide the capital.
func (c Config) Share(n int) Config {
	if n > 1 {
		c.InitialCapital = cmp.Or(c.InitialCapital, defCapital) / float64(n)
	}
	return c
}

// Combine makes a portfolio of accounts whose bars have the same timeframe. The
// accounts must begin with the same capital.
func Combine(tf market.Timeframe, accounts []Account) (*Portfolio, error) {
	if err := checkAccounts(accounts); err != nil {
		return nil, err
	}
	p := &Portfolio{Timeframe: tf, Accounts: accounts}
	if len(accounts) == 1 {
		p.Sum = accounts[0].Result
		return p, nil
	}
	var err error
	p.Sum, err = sum(tf, accounts)
	return p, err
}

func checkAccounts(accounts []Account) error {
	if len(accounts) == 0 {
		return errors.New("a portfolio needs at least one account")
	}
	first := accounts[0]
	for i, a := range accounts {
		switch {
		case len(a.Time) == 0 || len(a.Time) != len(a.Equity):
			return fmt.Errorf("the account of %s has %d bars and %d equities", a.Symbol, len(a.Time), len(a.Equity))
		case a.Config.InitialCapital != first.Config.InitialCapital:
			return fmt.Errorf("the account of %s begins with %v and that of %s with %v: each must have the same share of the capital",
				a.Symbol, a.Config.InitialCapital, first.Symbol, first.Config.InitialCapital)
		case slices.ContainsFunc(accounts[:i], func(b Account) bool { return b.Symbol == a.Symbol }):
			return fmt.Errorf("the portfolio has two accounts of %s", a.Symbol)
		}
	}
	return nil
}

// sum adds the accounts up and measures the sum.
func sum(tf market.Timeframe, accounts []Account) (*Result, error) {
	r := &Result{Config: sumConfig(accounts), Ended: OnRuin}
	r.Time, r.Equity = union(accounts)
	r.Config.StartBar = firstDecision(r.Time, accounts)
	var err error
	if r.Trades, err = allTrades(r.Time, accounts); err != nil {
		return nil, err
	}
	for _, a := range accounts {
		if a.Ended != OnRuin { // as long as one account is left, the portfolio is
			r.Ended = a.Ended
		}
	}
	perYear := BarsPerYear(&market.Bars{Timeframe: tf, Time: r.Time[allPresent(r.Time, accounts):]})
	if r.Metrics, err = Measure(r.Equity[r.Config.StartBar:], r.Trades, perYear); err != nil {
		return nil, err
	}
	r.Metrics.addAccounts(accounts)
	return r, nil
}

// sumConfig is the first account's with the whole capital and the dearest costs.
func sumConfig(accounts []Account) Config {
	c := accounts[0].Config
	c.InitialCapital = 0
	dearest := accounts[0].Config
	for _, a := range accounts {
		c.InitialCapital += a.Config.InitialCapital
		if a.Config.perSide() > dearest.perSide() {
			dearest = a.Config
		}
	}
	c.Commission, c.Slippage, c.Spread = dearest.Commission, dearest.Slippage, dearest.Spread
	return c
}

// perSide is what an entry or an exit costs, as a rate of its value.
func (c Config) perSide() float64 { return c.Commission + c.friction() }

// union merges the bar times of the accounts and adds up their equities. Before
// its first bar an account has its capital, after its last bar what is left.
func union(accounts []Account) (times []int64, equity []float64) {
	longest := 0
	next, last := make([]int, len(accounts)), make([]float64, len(accounts))
	for k, a := range accounts {
		longest, last[k] = max(longest, len(a.Time)), a.Config.InitialCapital
	}
	times, equity = make([]int64, 0, longest), make([]float64, 0, longest)
	for {
		at, found := int64(0), false
		for k, a := range accounts {
			if i := next[k]; i < len(a.Time) && (!found || a.Time[i] < at) {
				at, found = a.Time[i], true
			}
		}
		if !found {
			return times, equity
		}
		total := 0.0
		for k, a := range accounts {
			if i := next[k]; i < len(a.Time) && a.Time[i] == at {
				last[k], next[k] = a.Equity[i], i+1
			}
			total += last[k]
		}
		times, equity = append(times, at), append(equity, total)
	}
}

// firstDecision is the bar of the union at which the first account could decide.
func firstDecision(times []int64, accounts []Account) int {
	first := len(times) - 1
	for _, a := range accounts {
		at, _ := slices.BinarySearch(times, a.Time[min(a.Config.StartBar, len(a.Time)-1)])
		first = min(first, at)
	}
	return first
}

// allPresent is the first bar of the union at which every account has had a bar.
// Bars in a year are counted from there on: before, some symbols have no data.
func allPresent(times []int64, accounts []Account) int {
	first := 0
	for _, a := range accounts {
		at, _ := slices.BinarySearch(times, a.Time[0])
		first = max(first, at)
	}
	return first
}

// allTrades are the trades of all accounts in the order of their exits, those of
// one bar in the order of the accounts.
func allTrades(times []int64, accounts []Account) ([]Trade, error) {
	all := []Trade{}
	for _, a := range accounts {
		for _, t := range a.Trades {
			entry, known := slices.BinarySearch(times, t.EntryTime)
			exit, also := slices.BinarySearch(times, t.ExitTime)
			if !known || !also {
				return nil, fmt.Errorf("a trade of %s is at a time at which there is no bar", a.Symbol)
			}
			t.Symbol, t.EntryBar, t.ExitBar = a.Symbol, int32(entry), int32(exit)
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b Trade) int { return cmp.Compare(a.ExitTime, b.ExitTime) })
	return all, nil
}

// addAccounts sets the figures that are made of the accounts' own: bars with a
// position count in the bars of their account, and each symbol is bought and held
// with its share of the capital.
func (m *Metrics) addAccounts(accounts []Account) {
	var exposure, hold, holdPct float64
	exposed, held := true, true
	for _, a := range accounts {
		m.UnfilledOrders += a.Metrics.UnfilledOrders
		exposed = add(&exposure, a.Metrics.Exposure) && exposed
		held = add(&hold, a.Metrics.BuyAndHoldReturn) && add(&holdPct, a.Metrics.BuyAndHoldReturnPct) && held
	}
	n := float64(len(accounts))
	m.Exposure = nil
	if exposed {
		m.Exposure = num.Finite(exposure / n)
	}
	if held {
		m.BuyAndHoldReturn, m.BuyAndHoldReturnPct = num.Finite(hold), num.Finite(holdPct/n)
	}
}

// add adds a figure to a sum and says whether there was one.
func add(to *float64, x *float64) bool {
	if x == nil {
		return false
	}
	*to += *x
	return true
}
