package evidence

import (
	"errors"
	"fmt"
	"strings"
)

// Rules say what it takes to claim an edge. A field that is 0 means its default,
// which stands beside it; those are what the package's tests simulate.
//
// They are set so that of forty runs over markets without an edge at most one
// claims one, whatever the number of their researches and however these learn
// from each other. The claim rests on the holdout alone, which no search has
// seen: its p-value, times the [Openings] counted, is how often luck does as
// well. The test part only decides who may open it, and with the [Trials]
// counted, so that a search that learns nothing opens it by luck less than once
// in all.
type Rules struct {
	MinTrades      int     `json:"min_trades"`      // 30, on the test part
	HoldoutTrades  int     `json:"holdout_trades"`  // 10, on the holdout
	MaxDrawdown    float64 `json:"max_drawdown"`    // 0.30 of the peak
	CostMultiplier float64 `json:"cost_multiplier"` // 1.5: what is earned must survive costs so many times higher
	MinRetention   float64 `json:"min_retention"`   // 0.2 of the in-sample Sharpe ratio must be left on the test part
	MinDeflated    float64 `json:"min_deflated"`    // 0.5: on the test part the ratio must reach what the best of all trials has by luck
	MaxLuck        float64 `json:"max_luck"`        // 0.02 of such searches may do as well on the holdout by luck
}

func (r Rules) complete() Rules {
	set := func(x *float64, value float64) {
		if *x == 0 {
			*x = value
		}
	}
	if r.MinTrades == 0 {
		r.MinTrades = 30
	}
	if r.HoldoutTrades == 0 {
		r.HoldoutTrades = 10
	}
	set(&r.MaxDrawdown, 0.30)
	set(&r.CostMultiplier, 1.5)
	set(&r.MinRetention, 0.2)
	set(&r.MinDeflated, 0.5)
	set(&r.MaxLuck, 0.02)
	return r
}

// Validate says what is wrong with the rules, all of it in one error.
// Comparisons are written so that a NaN fails them.
func (r Rules) Validate() error {
	r = r.complete()
	var wrong []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	check(r.MinTrades > 0, "min_trades is %d; it must be above 0", r.MinTrades)
	check(r.HoldoutTrades > 0, "holdout_trades is %d; it must be above 0", r.HoldoutTrades)
	check(r.MaxDrawdown > 0 && r.MaxDrawdown <= 1, "max_drawdown is %v; it is a fraction above 0 and at most 1", r.MaxDrawdown)
	check(r.CostMultiplier >= 1 && r.CostMultiplier <= 100, "cost_multiplier is %v; it must be 1 to 100", r.CostMultiplier)
	check(r.MinRetention > 0 && r.MinRetention <= 1, "min_retention is %v; it is a fraction above 0 and at most 1", r.MinRetention)
	check(r.MinDeflated > 0 && r.MinDeflated < 1, "min_deflated is %v; it is a confidence between 0 and 1", r.MinDeflated)
	check(r.MaxLuck > 0 && r.MaxLuck < 1, "max_luck is %v; it is a probability between 0 and 1", r.MaxLuck)
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("verdict rules: " + strings.Join(wrong, "; "))
}
