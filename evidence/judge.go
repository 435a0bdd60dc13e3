package evidence

import (
	"fmt"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/num"
)

// Case is the evidence on the test part of one strategy.
type Case struct {
	Test     Part    `json:"test"`      // the part on which the search measures its trials
	InSample *Sharpe `json:"in_sample"` // of the same strategy on the bars it was trained on; nil where it is unknown
	Trials   int     `json:"trials"`    // on the same market, this one included; below 1 counts as 1
	// Collapsed says that the model gives almost always the same answer.
	Collapsed bool `json:"collapsed"`
}

// multipliers are the multiples of the costs that a cost stress shows.
var multipliers = []float64{0, 0.5, 1, 1.5, 2, 3}

// Judge makes every check of the test part. A check that cannot be made fails.
// Judge never sees the holdout: [Confirm] does.
func Judge(c Case, rules Rules) Verdict {
	j := judge{c: c, rules: rules.WithDefaults()}
	j.measure()
	j.strategy()
	j.luck()
	j.v.Reasons = j.checks
	j.conclude()
	return j.v
}

type judge struct {
	checks

	c     Case
	rules Rules
	v     Verdict
}

// measure sets the figures that the checks read.
func (j *judge) measure() {
	test, f := &j.c.Test, &j.v.Figures
	f.Trials = max(j.c.Trials, 1)
	f.Test = Versus(test.Returns, test.Hold, test.BarsPerYear)
	f.Costs = CostsOf(test.Trades, multipliers...)
	f.Trades = TradesOf(test.Trades, len(test.Returns)*max(test.Accounts, 1))
	f.Decay = Decay{Undefined: "the in-sample Sharpe ratio is unknown"}
	s := &f.Test.Sharpe
	if j.c.InSample != nil {
		f.Decay = DecayOf(*j.c.InSample, *s)
	}
	f.SharpeZ, f.AlphaZ = s.Z, f.Test.AlphaZ
	if z := WeakerZ(f.SharpeZ, f.AlphaZ); z != nil {
		f.Deflated = num.Finite(Deflate(*z, f.Trials))
	}
	if s.PerBar != nil {
		e := *s.Error
		if s.AnnualizedError != nil {
			e = *s.AnnualizedError
		}
		f.ExpectedMax = num.Finite(e * BestByLuck(f.Trials))
		f.MinTrackRecord = MinTrackRecordLength(*s.PerBar, *s.Skew, *s.Kurtosis, 0, 0.95)
	}
}

// WeakerZ is the smaller of the two z-values that an edge needs. The Sharpe
// ratio's says that the strategy earns at its risk. Alpha's says that holding
// the market would not have earned the same. It is nil where one of them is.
func WeakerZ(sharpeZ, alphaZ *float64) *float64 {
	if sharpeZ == nil || alphaZ == nil {
		return nil
	}
	return num.Finite(min(*sharpeZ, *alphaZ))
}

func (j *judge) conclude() {
	v := &j.v
	v.Finalist = j.passed()
	switch {
	case v.Finalist:
		v.Level = Promising
	case !j.passed(NotRuined, NotCollapsed, EnoughTrades, PositiveSharpe):
		v.Level = Poor
	default:
		v.Level = Neutral
	}
	if v.Finalist {
		v.Summary = fmt.Sprintf("Finalist: every check on the test part passed (adjusted for %s).", text.Counted(v.Figures.Trials, "trial"))
		return
	}
	v.Summary = "No edge claimed: " + j.firstFailure() + "."
}
