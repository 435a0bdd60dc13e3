package evidence

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/num"
)

// Confirmation is the result of one look: one strategy on one holdout.
//
//	a finalist ──▶ P of its holdout ──× LookFactor──▶ Adjusted ──≤ MaxAdjustedP──▶ Claim
//	                                                     └─────────else──────────▶ no claim
type Confirmation struct {
	Claim    bool       `json:"claim"` // an edge is claimed: every check passed
	Summary  string     `json:"summary"`
	Reasons  []Reason   `json:"reasons"`    // every check, always in the same order
	Before   int        `json:"before"`     // looks at this market's holdout before this one
	Factor   int        `json:"cost"`       // see LookFactor
	P        *float64   `json:"p"`          // one-sided, of the weaker of the Sharpe and alpha z-values, against no edge
	Adjusted *float64   `json:"adjusted_p"` // P times Factor, at most 1
	Holdout  Comparison `json:"holdout"`
	// Low and High are a 95 % interval of the holdout's Sharpe ratio, annualized
	// where Holdout.Sharpe is. Shrunk estimates the same ratio without the bias
	// of having been selected. For a claim all three are conditional on passing:
	// see selection. A look that failed has the plain interval and no Shrunk.
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Shrunk *float64 `json:"shrunk"`
	Costs  Costs    `json:"costs"` // cost stress on the holdout
}

// Confirm judges the holdout of a finalist. before counts the looks at the same
// market's holdout before this one. A check that cannot be made fails.
func Confirm(holdout Part, before int, rules Rules) Confirmation {
	rules = rules.WithDefaults()
	c := Confirmation{
		Before: max(before, 0), Factor: LookFactor(before),
		Holdout: Versus(holdout.Returns, holdout.Hold, holdout.BarsPerYear),
		Costs:   CostsOf(holdout.Trades, multipliers...),
	}
	if z := WeakerZ(c.Holdout.Sharpe.Z, c.Holdout.AlphaZ); z != nil {
		p := NormCDF(-*z)
		c.P, c.Adjusted = num.Finite(p), num.Finite(min(float64(p*float64(c.Factor)), 1))
	}
	made := c.check(len(holdout.Trades), rules)
	c.Reasons, c.Claim = made, made.passed()
	if c.Claim {
		c.estimate(selectionOf(&holdout, &c.Holdout, rules.MaxAdjustedP/float64(c.Factor)), c.unit(holdout.BarsPerYear))
		c.Summary = fmt.Sprintf("Edge claimed (p = %s after adjustment for %s).", show(c.Adjusted), text.Counted(c.Before+1, "look"))
		return c
	}
	c.plainInterval(&holdout)
	c.Summary = "No edge claimed: " + made.firstFailure() + "."
	return c
}

func (c *Confirmation) check(trades int, rules Rules) checks {
	var made checks
	s := &c.Holdout.Sharpe
	made.check(HoldoutTrades, count(trades), float64(rules.HoldoutTrades), atLeast,
		fmt.Sprintf("%s on the holdout; at least %d are needed", text.Counted(trades, "trade"), rules.HoldoutTrades), "")
	made.check(HoldoutEarns, s.Ratio(), 0, above,
		fmt.Sprintf("the Sharpe ratio after costs is %s on the holdout; it must be above 0", show(s.Ratio())),
		"the holdout has no Sharpe ratio: "+s.Undefined)
	made.check(HoldoutConfirms, c.Adjusted, rules.MaxAdjustedP, atMost,
		fmt.Sprintf("p = %s on the holdout after adjustment for %s; at most %v is allowed",
			show(c.Adjusted), text.Counted(c.Before+1, "look"), rules.MaxAdjustedP),
		"the holdout has no p-value: "+c.Holdout.Undefined)
	return made
}

// estimate sets the interval and the shrunk ratio of a claim. Rounding does not
// move them past the measured ratio.
func (c *Confirmation) estimate(s selection, unit float64) {
	ratio := *c.Holdout.Sharpe.Ratio()
	c.Low, c.Shrunk = num.Finite(min(unit*s.low(), ratio)), num.Finite(min(unit*s.median(), ratio))
	c.High = num.Finite(max(unit*s.high(), ratio))
}

func (c *Confirmation) plainInterval(holdout *Part) {
	ratio := c.Holdout.Sharpe.Ratio()
	if ratio == nil {
		return
	}
	half := float64(c.unit(holdout.BarsPerYear) * intervalZ)
	c.Low, c.High = num.Finite(*ratio-half), num.Finite(*ratio+half)
}

// unit is the error behind the Sharpe ratio's z-value, annualized where the ratio is.
func (c *Confirmation) unit(barsPerYear float64) float64 {
	e := c.Holdout.Sharpe.cautiousError()
	if c.Holdout.Sharpe.Annualized != nil {
		e *= math.Sqrt(barsPerYear)
	}
	return e
}

// intervalZ is the z-value of each end of a plain 95 % interval.
const intervalZ = 1.959963984540054

// selection is a Sharpe ratio's z-value that was reported because it passed. It
// comes from a normal distribution around the true value, truncated below
// bound: values below it would not have been claimed. Its error is 1.
//
// All estimates invert that truncated distribution. Two limits apply, because
// a value just above its bound says little about the truth, and the inverted
// distribution then has no finite ends. No estimate is below 0: a claim is
// that the ratio is above 0, and MaxAdjustedP limits how often that is false. And
// the interval contains the value itself.
type selection struct {
	z     float64
	bound float64 // at most z, apart from rounding
}

// selectionOf is the selection of a claim that needed this p-value.
//
// A claim needs both z-values to reach the critical value. The two errors are
// correlated with √(1−R²), where R² is the share of the variance that the market
// explains. With the part of alpha's z-value that is independent of the Sharpe
// ratio's held fixed, alpha's condition is also a bound on the Sharpe ratio's
// z-value (Lee, Sun, Sun and Taylor 2016).
func selectionOf(holdout *Part, c *Comparison, p float64) selection {
	critical := -NormQuantile(p)
	z := *c.Sharpe.Z
	bound := critical
	if own := ownShare(holdout, c); own > 0 {
		bound = max(bound, z-(*c.AlphaZ-critical)/own)
	}
	return selection{z: z, bound: bound}
}

// ownShare is √(1−R²) of the regression on the market.
func ownShare(p *Part, c *Comparison) float64 {
	s, errReturns := measure(p.Returns)
	m, errHold := measure(p.Hold)
	if errReturns != nil || errHold != nil {
		return 0
	}
	explained := *c.Beta * m.deviation / s.deviation
	return math.Sqrt(max(1-float64(explained*explained), 0))
}

// reaches is the probability that a claim has at least this z-value, given the true value. It rises with truth.
func (s selection) reaches(truth float64) float64 { return tailRatio(s.z-truth, s.bound-truth) }

// solve finds the truth between from and to for which the z-value is reached
// with this probability. Without one there it is the nearer end.
func (s selection) solve(probability, from, to float64) float64 {
	if s.reaches(from) >= probability {
		return from
	}
	for range 60 { // halves the width to less than the precision of to
		middle := from + float64((to-from)/2)
		if s.reaches(middle) < probability {
			from = middle
		} else {
			to = middle
		}
	}
	return to
}

func (s selection) low() float64    { return s.solve(0.025, 0, s.z) }
func (s selection) median() float64 { return s.solve(0.5, 0, s.z) }
func (s selection) high() float64   { return s.solve(0.975, s.z, s.z+2) }
