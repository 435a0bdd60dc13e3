package evidence

import (
	"fmt"
	"math"
)

// Case is everything that a verdict is made from.
type Case struct {
	Test     Part    `json:"test"`      // the part on which the search measured its trials
	Holdout  *Part   `json:"holdout"`   // the part that nobody has seen; nil while it is sealed
	InSample *Sharpe `json:"in_sample"` // of the same strategy on the data it was made with
	Trials   Trials  `json:"trials"`
	// Collapsed says that the model gives almost always the same answer.
	Collapsed bool `json:"collapsed"`
}

// Trials is how often luck was tried on this data.
type Trials struct {
	Count int `json:"count"` // every one in the ledger so far, this one included

	// Planned is how many the ledger will hold when the run ends, where that is
	// known. The larger of the two counts: who judges the first of thirty as if
	// it were alone, the second as one of two, and so on, is wrong more often
	// than each of these verdicts says.
	Planned int `json:"planned"`

	// SharpeVariance is that of the trials' Sharpe ratios per bar; nil where it
	// is unknown.
	SharpeVariance *float64 `json:"sharpe_variance"`
}

func (t Trials) counted() int { return max(t.Count, t.Planned, 1) }

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
	z     *float64 // of the test part: the weaker of its Sharpe ratio's and its alpha's
	sealZ *float64 // the same of the holdout
}

// measure sets the figures that the checks read.
func (j *judge) measure() {
	test, f := &j.c.Test, &j.v.Figures
	f.Trials = j.c.Trials.counted()
	f.Test = Versus(test.Returns, test.Hold, test.BarsPerYear)
	f.Costs = CostsOf(test.Trades, 0, 0.5, 1, 1.5, 2, 3)
	f.Trades = TradesOf(test.Trades, len(test.Returns))
	f.Decay = Decay{Undefined: "the Sharpe ratio in sample is not known"}
	s := &f.Test.Sharpe
	if j.c.InSample != nil {
		f.Decay = DecayOf(*j.c.InSample, *s)
	}
	j.z = weaker(&f.Test)
	if j.z != nil {
		f.Deflated = figure(NormCDF(*j.z - expectedMax(f.Trials)))
		f.AdjustedP = figure(min(float64(NormCDF(-*j.z)*float64(f.Trials)), 1))
	}
	if s.PerBar != nil {
		e := *s.Error
		if s.AnnualizedError != nil {
			e = *s.AnnualizedError
		}
		f.ExpectedMax = figure(e * expectedMax(f.Trials))
		f.MinTrackRecord = MinTrackRecordLength(*s.PerBar, *s.Skew, *s.Kurtosis, 0, 0.95)
		if v := j.c.Trials.SharpeVariance; v != nil && *v >= 0 {
			f.LedgerDeflated = figure(DeflatedSharpe(*s.PerBar, s.Bars, *s.Skew, *s.Kurtosis, f.Trials, *v))
		}
	}
	if j.c.Holdout == nil {
		return
	}
	h := Versus(j.c.Holdout.Returns, j.c.Holdout.Hold, j.c.Holdout.BarsPerYear)
	f.Holdout, j.sealZ = &h, weaker(&h)
	if j.sealZ == nil {
		return
	}
	f.HoldoutP = figure(NormCDF(-*j.sealZ))
	if f.AdjustedP != nil {
		f.CombinedP = figure(combine(*f.AdjustedP, len(test.Returns), *f.HoldoutP, len(j.c.Holdout.Returns)))
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

// combine makes one p-value of two independent ones, each weighed by its number
// of bars (Stouffer's method): what a test over all the bars would have given.
func combine(p float64, n int, q float64, m int) float64 {
	a, b := -NormQuantile(p), -NormQuantile(q)
	if math.IsInf(min(a, b), -1) {
		return 1
	}
	if math.IsInf(max(a, b), 1) {
		return 0
	}
	whole := float64(n + m)
	return NormCDF(-float64(a*math.Sqrt(float64(n)/whole)) - float64(b*math.Sqrt(float64(m)/whole)))
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
		v.Summary = fmt.Sprintf("An edge is claimed: with %d trials counted, chance explains this with a probability of %.2g.", v.Figures.Trials, *v.Figures.CombinedP)
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
