package evidence

import (
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/num"
)

type checks []Reason

// check adds a reason. A nil value fails the check, and the text then is undefined.
func (c *checks) check(code Code, value *float64, limit float64, ok func(value, limit float64) bool, text, undefined string) {
	r := Reason{Code: code, Text: text, Value: value, Limit: num.Finite(limit)}
	if value == nil {
		r.Text = undefined
	} else {
		r.Passed = ok(*value, limit)
	}
	*c = append(*c, r)
}

// not adds a check that something is not so.
func (c *checks) not(code Code, is bool, bad, good string) {
	value, text := 0.0, good
	if is {
		value, text = 1, bad
	}
	c.check(code, &value, 0, atMost, text, "")
}

// passed says whether the named checks passed; without names, whether all did.
func (c checks) passed(codes ...Code) bool {
	return !slices.ContainsFunc(c, func(r Reason) bool {
		return !r.Passed && (len(codes) == 0 || slices.Contains(codes, r.Code))
	})
}

func (c checks) firstFailure() string {
	if i := slices.IndexFunc(c, func(r Reason) bool { return !r.Passed }); i >= 0 {
		return c[i].Text
	}
	return ""
}

func atLeast(value, limit float64) bool { return value >= limit }
func atMost(value, limit float64) bool  { return value <= limit }
func above(value, limit float64) bool   { return value > limit }

// strategy makes the checks that do not depend on the number of trials.
func (j *judge) strategy() {
	test, f, r := &j.c.Test, &j.v.Figures, &j.rules
	j.not(NotRuined, test.Ruined, "the account lost all its capital", "the account kept its capital")
	j.not(NotCollapsed, j.c.Collapsed, "the model gives almost always the same answer", "the model gives different answers")
	j.check(EnoughTrades, count(len(test.Trades)), float64(r.MinTrades), atLeast,
		fmt.Sprintf("%s on the test part; at least %d are needed", text.Counted(len(test.Trades), "trade"), r.MinTrades), "")

	s := &f.Test.Sharpe
	j.check(PositiveSharpe, s.Ratio(), 0, above,
		fmt.Sprintf("the Sharpe ratio after costs is %s on the test part; it must be above 0", show(s.Ratio())),
		"the test part has no Sharpe ratio: "+s.Undefined)
	j.check(BoundedDrawdown, num.Finite(test.MaxDrawdown), r.MaxDrawdown, atMost,
		fmt.Sprintf("the maximum drawdown is %.1f %%; at most %.1f %% is allowed", 100*test.MaxDrawdown, 100*r.MaxDrawdown),
		"the maximum drawdown is unknown")

	j.check(SurvivesCosts, f.Costs.BreakEven, r.CostMultiplier, above,
		fmt.Sprintf("the gross profit is %s times the costs; it must be above %v times", show(f.Costs.BreakEven), r.CostMultiplier),
		"no costs were charged, so the break-even costs are unknown")
	retained := f.Decay.Retention
	j.check(BoundedDecay, retained, r.MinRetention, atLeast,
		fmt.Sprintf("the test part keeps %s of the in-sample Sharpe ratio; at least %v is needed", show(retained), r.MinRetention),
		"the decay from in-sample to the test part is unknown: "+f.Decay.Undefined)
}

// luck compares the test part with buy-and-hold and with the best of all trials by luck.
func (j *judge) luck() {
	f, r := &j.v.Figures, &j.rules
	s, h := f.Test.Sharpe.Ratio(), f.Test.HoldSharpe.Ratio()
	compared, limit := s, 0.0
	if h == nil {
		compared = nil
	} else {
		limit = *h
	}
	j.check(BeatsHold, compared, limit, above,
		fmt.Sprintf("the Sharpe ratio is %s on the test part; it must be above buy-and-hold's %s", show(s), show(h)),
		"buy-and-hold cannot be compared: "+f.Test.Undefined)
	j.check(BeatsLuck, f.Deflated, r.MinDeflated, atLeast,
		fmt.Sprintf("the deflated Sharpe ratio is %s on the test part (adjusted for %s); at least %v is needed",
			show(f.Deflated), text.Counted(f.Trials, "trial"), r.MinDeflated),
		"the deflated Sharpe ratio is unknown: "+f.Test.Undefined)
}

func count(n int) *float64 { return num.Finite(float64(n)) }

func show(x *float64) string {
	if x == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.3g", *x)
}
