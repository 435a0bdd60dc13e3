package evidence

import "fmt"

// Case is everything that a verdict is made from.
type Case struct {
	Test     Part     `json:"test"`      // the part on which the search measured its trials
	Holdout  *Part    `json:"holdout"`   // the part that nobody has seen; nil while it is sealed
	InSample *Sharpe  `json:"in_sample"` // of the same strategy on the data it was made with
	Trials   Trials   `json:"trials"`
	Openings Openings `json:"openings"`
	// Collapsed says that the model gives almost always the same answer.
	Collapsed bool `json:"collapsed"`
}

// Judge weighs a case. It claims an edge only if every check is passed, and a
// check that cannot be made is not. It is asked twice: without the holdout, and
// again with it if the first verdict says that it is due.
func Judge(c Case, rules Rules) Verdict {
	j := judge{c: c, rules: rules.complete()}
	j.measure()
	j.strategy()
	j.luck()
	j.holdout()
	j.conclude()
	return j.v
}

// judge is a verdict being made.
type judge struct {
	c     Case
	rules Rules
	v     Verdict
}

// measure sets the figures that the checks read.
func (j *judge) measure() {
	test, f := &j.c.Test, &j.v.Figures
	f.Trials, f.Openings = j.c.Trials.counted(), j.c.Openings.counted()
	f.Test = Versus(test.Returns, test.Hold, test.BarsPerYear)
	f.Costs = CostsOf(test.Trades, 0, 0.5, 1, 1.5, 2, 3)
	f.Trades = TradesOf(test.Trades, len(test.Returns))
	f.Decay = Decay{Undefined: "the Sharpe ratio in sample is not known"}
	s := &f.Test.Sharpe
	if j.c.InSample != nil {
		f.Decay = DecayOf(*j.c.InSample, *s)
	}
	if z := weaker(&f.Test); z != nil {
		f.Deflated = figure(NormCDF(*z - expectedMax(f.Trials)))
	}
	if s.PerBar != nil {
		e := *s.Error
		if s.AnnualizedError != nil {
			e = *s.AnnualizedError
		}
		f.ExpectedMax = figure(e * expectedMax(f.Trials))
		f.MinTrackRecord = MinTrackRecordLength(*s.PerBar, *s.Skew, *s.Kurtosis, 0, 0.95)
	}
	if j.c.Holdout == nil {
		return
	}
	h := Versus(j.c.Holdout.Returns, j.c.Holdout.Hold, j.c.Holdout.BarsPerYear)
	f.Holdout = &h
	if z := weaker(&h); z != nil {
		p := NormCDF(-*z)
		f.HoldoutP, f.Luck = figure(p), figure(min(float64(p*float64(f.Openings)), 1))
	}
}

// weaker is the smaller of the two z values that an edge needs: money earned at
// a risk, and money that holding the market would not have earned. An edge is
// as sure as the less sure of them.
func weaker(c *Comparison) *float64 {
	if c.Sharpe.Z == nil || c.AlphaZ == nil {
		return nil
	}
	return figure(min(*c.Sharpe.Z, *c.AlphaZ))
}

// conclude draws the level and the claim from the checks.
func (j *judge) conclude() {
	v := &j.v
	sealed := j.c.Holdout == nil
	tested := v.passed(NotRuined, NotCollapsed, EnoughTrades, PositiveSharpe, BoundedDrawdown, SurvivesCosts, BoundedDecay, BeatsHold, BeatsLuck)
	v.Claim = v.passed()
	v.HoldoutDue = tested && sealed
	switch {
	case !v.passed(NotRuined, NotCollapsed, EnoughTrades, PositiveSharpe), !sealed && !v.passed(HoldoutEarns):
		v.Level = Poor
	case v.Claim, v.HoldoutDue:
		v.Level = Promising
	default:
		v.Level = Neutral
	}
	switch {
	case v.Claim:
		v.Summary = fmt.Sprintf("An edge is claimed: luck alone would do this well on the holdout in %s of 100 such searches, with %d openings counted, and %d trials before it.",
			share(*v.Figures.Luck), v.Figures.Openings, v.Figures.Trials)
	case v.HoldoutDue:
		v.Summary = "No edge is claimed yet: the test part speaks for one, and the holdout has not been opened."
	default:
		v.Summary = "No edge is claimed: " + v.firstFailure() + "."
	}
}

func (v *Verdict) firstFailure() string {
	for i := range v.Reasons {
		if !v.Reasons[i].Passed {
			return v.Reasons[i].Text
		}
	}
	return ""
}

// share writes a probability as so many of a hundred.
func share(p float64) string {
	if p > 0.1 {
		return fmt.Sprintf("%.0f", 100*p)
	}
	return fmt.Sprintf("%.2g", 100*p)
}
