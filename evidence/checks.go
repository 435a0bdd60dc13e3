package evidence

import "fmt"

// check notes a reason. A value that does not exist passes nothing, and the
// text then says why instead.
func (j *judge) check(code Code, value *float64, limit float64, ok func(value, limit float64) bool, text, undefined string) {
	r := Reason{Code: code, Text: text, Value: value, Limit: figure(limit)}
	if value == nil {
		r.Text = undefined
	} else {
		r.Passed = ok(*value, limit)
	}
	j.v.Reasons = append(j.v.Reasons, r)
}

func atLeast(value, limit float64) bool { return value >= limit }
func atMost(value, limit float64) bool  { return value <= limit }
func above(value, limit float64) bool   { return value > limit }

// strategy checks what the strategy did on the test part, luck aside.
func (j *judge) strategy() {
	test, f, r := &j.c.Test, &j.v.Figures, &j.rules
	j.check(NotRuined, flag(test.Ruined), 0, atMost, say(test.Ruined, "the account was used up", "the account survived"), "")
	j.check(NotCollapsed, flag(j.c.Collapsed), 0, atMost, say(j.c.Collapsed, "the model gives almost always the same answer", "the model gives different answers"), "")
	j.check(EnoughTrades, count(len(test.Trades)), float64(r.MinTrades), atLeast,
		fmt.Sprintf("%d trades on the test part, where %d are needed", len(test.Trades), r.MinTrades), "")

	s := &f.Test.Sharpe
	j.check(PositiveSharpe, s.Ratio(), 0, above,
		fmt.Sprintf("the Sharpe ratio net of costs is %s on the test part", show(s.Ratio())), "there is no Sharpe ratio: "+s.Undefined)
	j.check(BoundedDrawdown, figure(test.MaxDrawdown), r.MaxDrawdown, atMost,
		fmt.Sprintf("the deepest fall is %.1f %% of the peak, where %.1f %% are allowed", 100*test.MaxDrawdown, 100*r.MaxDrawdown), "the drawdown is not known")

	j.check(SurvivesCosts, f.Costs.BreakEven, r.CostMultiplier, above,
		fmt.Sprintf("the earnings bear %s times the costs, where %v are needed", show(f.Costs.BreakEven), r.CostMultiplier),
		"no costs were charged, so it is not known which it would survive")
	retained := f.Decay.Retention
	j.check(BoundedDecay, retained, r.MinRetention, atLeast,
		fmt.Sprintf("%s of the in-sample Sharpe ratio is left out of sample, where %v are needed", show(retained), r.MinRetention),
		"decay cannot be told: "+f.Decay.Undefined)
}

// luck checks the test part against the market and against the other trials.
func (j *judge) luck() {
	f, r := &j.v.Figures, &j.rules
	s, h := f.Test.Sharpe.Ratio(), f.Test.HoldSharpe.Ratio()
	var over *float64
	if s != nil && h != nil {
		over = figure(*s - *h)
	}
	j.check(BeatsHold, over, 0, above,
		fmt.Sprintf("the Sharpe ratio is %s and that of buy-and-hold is %s", show(s), show(h)), "it cannot be compared with buy-and-hold: "+f.Test.Undefined)
	j.check(BeatsLuck, f.Deflated, r.MinDeflated, atLeast,
		fmt.Sprintf("with %d trials counted, the confidence that the test part shows more than luck is %s, where %v is needed", f.Trials, show(f.Deflated), r.MinDeflated),
		"luck cannot be told apart: "+f.Test.Undefined)
}

// holdout checks whether what was seen on the test part comes again.
func (j *judge) holdout() {
	f, r := &j.v.Figures, &j.rules
	why := "the holdout is sealed"
	var trades, sharpe *float64
	luck := "unknown"
	if j.c.Holdout != nil {
		trades, sharpe = count(len(j.c.Holdout.Trades)), f.Holdout.Sharpe.Ratio()
		why = "the holdout cannot be measured: " + f.Holdout.Undefined
	}
	if f.Luck != nil {
		luck = share(*f.Luck)
	}
	j.check(HoldoutTrades, trades, float64(r.HoldoutTrades), atLeast,
		fmt.Sprintf("%s trades on the holdout, where %d are needed", show(trades), r.HoldoutTrades), why)
	j.check(HoldoutEarns, sharpe, 0, above,
		fmt.Sprintf("the Sharpe ratio net of costs is %s on the holdout", show(sharpe)), why)
	j.check(HoldoutConfirms, f.Luck, r.MaxLuck, atMost,
		fmt.Sprintf("luck alone would do as well on the holdout in %s of 100 such searches, with %d openings counted, where %s are allowed", luck, f.Openings, share(r.MaxLuck)), why)
}

func count(n int) *float64 { return figure(float64(n)) }

func flag(b bool) *float64 {
	if b {
		return count(1)
	}
	return count(0)
}

func say(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

// show writes a figure for people.
func show(x *float64) string {
	if x == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.3g", *x)
}
