package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Rules are the limits of the checks. A field that is 0 means its default, which
// stands beside it. The package's tests simulate the defaults.
//
// On a market without an edge all looks of all runs together claim one with a
// probability of at most MaxAdjustedP, for any number of looks and any search. A claim
// rests on the holdout alone. The search never sees the holdout, so its p-value
// is valid for one look. Each look multiplies it by [LookFactor], and the shares
// 1/2 + 1/6 + 1/12 + … of MaxAdjustedP sum to 1. The test part only decides which
// strategies are finalists, adjusted for the trials.
type Rules struct {
	MinTrades      int     `json:"min_trades"`      // 30, on the test part
	HoldoutTrades  int     `json:"holdout_trades"`  // 10, on the holdout
	MaxDrawdown    float64 `json:"max_drawdown"`    // 0.30 of the peak
	CostMultiplier float64 `json:"cost_multiplier"` // 1.5: the gross profit must be above this multiple of the costs
	MinRetention   float64 `json:"min_retention"`   // 0.2 of the in-sample Sharpe ratio must be left on the test part
	MinDeflated    float64 `json:"min_deflated"`    // 0.5: see Deflate; on the test part
	MaxAdjustedP   float64 `json:"max_luck"`        // 0.02: the largest adjusted p-value of a claim; of all looks at one market together
}

// WithDefaults returns the rules with every default filled in.
func (r Rules) WithDefaults() Rules {
	r.MinTrades = cmp.Or(r.MinTrades, 30)
	r.HoldoutTrades = cmp.Or(r.HoldoutTrades, 10)
	r.MaxDrawdown = cmp.Or(r.MaxDrawdown, 0.30)
	r.CostMultiplier = cmp.Or(r.CostMultiplier, 1.5)
	r.MinRetention = cmp.Or(r.MinRetention, 0.2)
	r.MinDeflated = cmp.Or(r.MinDeflated, 0.5)
	r.MaxAdjustedP = cmp.Or(r.MaxAdjustedP, 0.02)
	return r
}

// Validate says what is wrong with the rules, all of it in one error.
// Comparisons are written so that a NaN fails them.
func (r Rules) Validate() error {
	r = r.WithDefaults()
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
	check(r.MaxAdjustedP > 0 && r.MaxAdjustedP < 1, "max_luck is %v; it is a probability between 0 and 1", r.MaxAdjustedP)
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("verdict rules: " + strings.Join(wrong, "; "))
}

// OpenEndedTrials is the number of trials counted against each research of a
// generation in a run that lasts until a time, so that its final size is not
// known. before counts the trials made before the run. Generations count from 0.
//
// Luck alone makes one of n trials a finalist with a probability of about 1/n.
// A generation of s researches counted as s(g+1)(g+2) trials therefore has
// 1/((g+1)(g+2)) finalists by luck, and
//
//	1/(1·2) + 1/(2·3) + 1/(3·4) + … = 1
//
// All generations together have as many finalists by luck as one run of a known size.
func OpenEndedTrials(before, size, generation int) int {
	return before + size*(generation+1)*(generation+2)
}

// LookFactor is the factor by which the p-value of a look is multiplied. before
// counts the looks at the same market's holdout before this one: the looks of
// all runs, and those made by hand.
//
// A look that pays (before+1)(before+2) may claim falsely with a probability of
// at most MaxAdjustedP/((before+1)(before+2)). The shares 1/2 + 1/6 + 1/12 + … sum to
// 1, so all looks at one market together stay within MaxAdjustedP. This holds for any
// number of looks, any number of runs, and any search between them.
func LookFactor(before int) int {
	const most = 1<<31 - 3 // keeps the product within 64 bits
	before = min(max(before, 0), most)
	return (before + 1) * (before + 2)
}
