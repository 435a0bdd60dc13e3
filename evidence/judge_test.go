package evidence

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/num"
)

// part is what a strategy with this Sharpe ratio per bar, unrelated to the
// market, may have done. Everything but the returns speaks for it.
func part(n int, edge float64, r *num.Rand) Part {
	p := Part{Returns: normals(n, edge, r), Hold: normals(n, 0, r), BarsPerYear: 6240, MaxDrawdown: 0.1}
	for i := range p.Returns {
		p.Returns[i] *= 1e-3
		p.Hold[i] *= 1e-3
	}
	for range 60 {
		p.Trades = append(p.Trades, backtest.Trade{Quantity: 1, EntryPrice: 1, ExitPrice: 1, ExitBar: 2, Gross: 5, Costs: 1, Net: 4})
	}
	return p
}

// strong is a case that nothing speaks against.
func strong() Case {
	r := num.NewRand(31)
	test, holdout := part(3000, 0.1, r), part(2000, 0.1, r)
	in := EstimateSharpe(normals(6000, 0.15, r), 6240)
	variance := 1.0 / 3000
	return Case{Test: test, Holdout: &holdout, InSample: &in, Trials: Trials{Count: 5, Planned: 8, SharpeVariance: &variance}}
}

func TestJudge_ClaimsAnEdgeWhenEveryCheckIsPassed(t *testing.T) {
	v := Judge(strong(), Rules{})
	if !v.Claim || v.Level != Promising || v.HoldoutDue {
		t.Fatalf("%+v", v)
	}
	if v.Figures.Trials != 8 || *v.Figures.Deflated < 0.99 || *v.Figures.LedgerDeflated < 0.99 || !strings.HasPrefix(v.Summary, "An edge is claimed") {
		t.Errorf("figures: %+v; %s", v.Figures, v.Summary)
	}
}

func TestJudge_EachCheckAloneWithholdsTheClaim(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Case)
		code   Code
		level  Level
	}{
		"the account was used up":            {func(c *Case) { c.Test.Ruined = true }, NotRuined, Poor},
		"the model collapsed":                {func(c *Case) { c.Collapsed = true }, NotCollapsed, Poor},
		"it hardly trades":                   {func(c *Case) { c.Test.Trades = c.Test.Trades[:29] }, EnoughTrades, Poor},
		"it loses":                           {func(c *Case) { negate(c.Test.Returns) }, PositiveSharpe, Poor},
		"it does not move":                   {func(c *Case) { clear(c.Test.Returns) }, PositiveSharpe, Poor},
		"it falls too deep":                  {func(c *Case) { c.Test.MaxDrawdown = 0.31 }, BoundedDrawdown, Neutral},
		"nobody knows how deep":              {func(c *Case) { c.Test.MaxDrawdown = math.NaN() }, BoundedDrawdown, Neutral},
		"dearer trading would eat it up":     {func(c *Case) { dearer(c.Test.Trades) }, SurvivesCosts, Neutral},
		"it was not charged":                 {func(c *Case) { free(c.Test.Trades) }, SurvivesCosts, Neutral},
		"little is left out of sample":       {func(c *Case) { *c.InSample.Annualized = 80 }, BoundedDecay, Neutral},
		"in sample is not known":             {func(c *Case) { c.InSample = nil }, BoundedDecay, Neutral},
		"holding was better":                 {func(c *Case) { raise(c.Test.Hold, 3e-4) }, BeatsHold, Neutral},
		"it is the market":                   {func(c *Case) { copy(c.Test.Hold, c.Test.Returns) }, BeatsLuck, Neutral},
		"it is short in a falling market":    {func(c *Case) { fall(&c.Test) }, BeatsLuck, Neutral},
		"so many were tried":                 {func(c *Case) { c.Trials.Count = 1 << 40 }, BeatsLuck, Neutral},
		"the holdout is sealed":              {func(c *Case) { c.Holdout = nil }, HoldoutEarns, Promising},
		"it does not trade on the holdout":   {func(c *Case) { c.Holdout.Trades = nil }, HoldoutTrades, Neutral},
		"it loses on the holdout":            {func(c *Case) { negate(c.Holdout.Returns) }, HoldoutEarns, Poor},
		"the holdout shows little":           {func(c *Case) { raise(c.Holdout.Returns, -0.7e-4) }, HoldoutConfirms, Neutral},
		"the holdout is only the market":     {func(c *Case) { copy(c.Holdout.Hold, c.Holdout.Returns) }, HoldoutConfirms, Neutral},
		"the returns are not numbers":        {func(c *Case) { c.Test.Returns[7] = math.NaN() }, PositiveSharpe, Poor},
		"buy-and-hold is of other bars":      {func(c *Case) { c.Test.Hold = c.Test.Hold[1:] }, BeatsLuck, Neutral},
		"the holdout's returns are infinite": {func(c *Case) { c.Holdout.Returns[7] = math.Inf(1) }, HoldoutEarns, Poor},
		"both together are too little": {func(c *Case) {
			c.Test.Returns, c.Test.Hold = c.Test.Returns[:300], c.Test.Hold[:300]
			raise(c.Holdout.Returns, -0.6e-4)
		}, BeyondChance, Neutral},
		"the part is as empty as it can be":    {func(c *Case) { *c = Case{} }, PositiveSharpe, Poor},
		"the holdout is as empty as it can be": {func(c *Case) { c.Holdout = &Part{} }, HoldoutEarns, Poor},
	} {
		t.Run(name, func(t *testing.T) {
			k := strong()
			c.change(&k)
			v := Judge(k, Rules{})
			i := slices.IndexFunc(v.Reasons, func(r Reason) bool { return r.Code == c.code })
			if v.Claim || v.Reasons[i].Passed || v.Level != c.level {
				t.Errorf("claim %v, level %s, %+v", v.Claim, v.Level, v.Reasons[i])
			}
			if v.HoldoutDue != (k.Holdout == nil && c.level == Promising) {
				t.Errorf("holdout due: %v", v.HoldoutDue)
			}
			for _, r := range v.Reasons {
				if r.Text == "" || strings.HasSuffix(r.Text, ": ") {
					t.Errorf("%s has no reason: %q", r.Code, r.Text)
				}
			}
			if _, err := json.Marshal(v); err != nil {
				t.Errorf("as JSON: %v", err)
			}
		})
	}
}

// fall makes the market fall for as long as the part lasts, and the returns
// those of who is short in it now and then.
func fall(p *Part) {
	raise(p.Hold, -1e-4)
	for i, v := range p.Hold {
		p.Returns[i] = 0
		if i/10%2 == 0 {
			p.Returns[i] = -v
		}
	}
}

func negate(x []float64) {
	for i := range x {
		x[i] = -x[i]
	}
}

func raise(x []float64, by float64) {
	for i := range x {
		x[i] += by
	}
}

func dearer(trades []backtest.Trade) {
	for k := range trades {
		trades[k].Costs = 4
	}
}

func free(trades []backtest.Trade) {
	for k := range trades {
		trades[k].Costs = 0
	}
}

func TestJudge_MoreTrialsNeverHelp(t *testing.T) {
	c := strong()
	last := Judge(c, Rules{})
	for _, trials := range []int{9, 20, 100, 1000, 100_000} {
		c.Trials.Count = trials
		v := Judge(c, Rules{})
		if *v.Figures.Deflated > *last.Figures.Deflated || *v.Figures.CombinedP < *last.Figures.CombinedP || v.Claim && !last.Claim {
			t.Fatalf("%d trials: %+v after %+v", trials, v.Figures, last.Figures)
		}
		last = v
	}
}

func TestJudge_ListsEveryCheckInTheSameOrder(t *testing.T) {
	want := []Code{
		NotRuined, NotCollapsed, EnoughTrades, PositiveSharpe, BoundedDrawdown, SurvivesCosts, BoundedDecay,
		BeatsHold, BeatsLuck, HoldoutTrades, HoldoutEarns, HoldoutConfirms, BeyondChance,
	}
	for _, c := range []Case{{}, strong()} {
		var got []Code
		for _, r := range Judge(c, Rules{}).Reasons {
			got = append(got, r.Code)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestRules_ThatMakeNoSenseAreNamed(t *testing.T) {
	if err := (Rules{}).Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	err := Rules{MinTrades: -1, HoldoutTrades: -1, MaxDrawdown: 2, CostMultiplier: 0.5, MinRetention: -1, MinDeflated: 1, MinHoldout: math.NaN(), MaxCombinedP: 1}.Validate()
	if err == nil || strings.Count(err.Error(), ";") != 15 {
		t.Errorf("%v", err)
	}
}

func TestCombine_IsTheTestOverAllBars(t *testing.T) {
	p := func(z float64) float64 { return NormCDF(-z) }
	near(t, "equal parts", combine(p(2), 100, p(2), 100), p(4/math.Sqrt2), 1e-12)
	near(t, "a part without bars", combine(p(2), 100, p(3), 0), p(2), 1e-12)
	if combine(1, 10, 1e-9, 10) != 1 || combine(0, 10, 0.5, 10) != 0 {
		t.Error("certainty is not kept")
	}
}
