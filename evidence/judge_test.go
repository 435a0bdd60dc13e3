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
	return Case{Test: test, Holdout: &holdout, InSample: &in, Trials: Trials{Count: 5, Planned: 8}, Openings: Openings{Known: 1, Own: 8}}
}

func TestJudge_ClaimsAnEdgeWhenEveryCheckIsPassed(t *testing.T) {
	v := Judge(strong(), Rules{})
	if !v.Claim || v.Level != Promising || v.HoldoutDue {
		t.Fatalf("%+v", v)
	}
	if v.Figures.Trials != 8 || v.Figures.Openings != 20 || *v.Figures.Deflated < 0.99 || *v.Figures.Luck != 20**v.Figures.HoldoutP || !strings.HasPrefix(v.Summary, "An edge is claimed") {
		t.Errorf("figures: %+v; %s", v.Figures, v.Summary)
	}
}

func TestJudge_EachCheckAloneWithholdsTheClaim(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Case)
		code   Code
		level  Level
	}{
		"the account was used up":              {func(c *Case) { c.Test.Ruined = true }, NotRuined, Poor},
		"the model collapsed":                  {func(c *Case) { c.Collapsed = true }, NotCollapsed, Poor},
		"it hardly trades":                     {func(c *Case) { c.Test.Trades = c.Test.Trades[:29] }, EnoughTrades, Poor},
		"it loses":                             {func(c *Case) { negate(c.Test.Returns) }, PositiveSharpe, Poor},
		"it does not move":                     {func(c *Case) { clear(c.Test.Returns) }, PositiveSharpe, Poor},
		"it falls too deep":                    {func(c *Case) { c.Test.MaxDrawdown = 0.31 }, BoundedDrawdown, Neutral},
		"nobody knows how deep":                {func(c *Case) { c.Test.MaxDrawdown = math.NaN() }, BoundedDrawdown, Neutral},
		"dearer trading would eat it up":       {func(c *Case) { dearer(c.Test.Trades) }, SurvivesCosts, Neutral},
		"it was not charged":                   {func(c *Case) { free(c.Test.Trades) }, SurvivesCosts, Neutral},
		"little is left out of sample":         {func(c *Case) { *c.InSample.Annualized = 80 }, BoundedDecay, Neutral},
		"in sample is not known":               {func(c *Case) { c.InSample = nil }, BoundedDecay, Neutral},
		"holding was better":                   {func(c *Case) { raise(c.Test.Hold, 3e-4) }, BeatsHold, Neutral},
		"it is the market":                     {func(c *Case) { copy(c.Test.Hold, c.Test.Returns) }, BeatsLuck, Neutral},
		"it is short in a falling market":      {func(c *Case) { fall(&c.Test) }, BeatsLuck, Neutral},
		"so many were tried":                   {func(c *Case) { c.Trials.Count = 1 << 40 }, BeatsLuck, Neutral},
		"the holdout is sealed":                {func(c *Case) { c.Holdout = nil }, HoldoutEarns, Promising},
		"it does not trade on the holdout":     {func(c *Case) { c.Holdout.Trades = nil }, HoldoutTrades, Neutral},
		"it loses on the holdout":              {func(c *Case) { negate(c.Holdout.Returns) }, HoldoutEarns, Poor},
		"the holdout shows little":             {func(c *Case) { raise(c.Holdout.Returns, -0.7e-4) }, HoldoutConfirms, Neutral},
		"the holdout is only the market":       {func(c *Case) { copy(c.Holdout.Hold, c.Holdout.Returns) }, HoldoutConfirms, Neutral},
		"the returns are not numbers":          {func(c *Case) { c.Test.Returns[7] = math.NaN() }, PositiveSharpe, Poor},
		"buy-and-hold is of other bars":        {func(c *Case) { c.Test.Hold = c.Test.Hold[1:] }, BeatsLuck, Neutral},
		"the holdout's returns are infinite":   {func(c *Case) { c.Holdout.Returns[7] = math.Inf(1) }, HoldoutEarns, Poor},
		"the holdout was opened so often":      {func(c *Case) { c.Openings.Known = 1 << 20 }, HoldoutConfirms, Neutral},
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

func TestJudge_MoreTrialsAndOpeningsNeverHelp(t *testing.T) {
	c := strong()
	last := Judge(c, Rules{})
	for _, n := range []int{9, 20, 100, 1000, 100_000} {
		c.Trials.Count, c.Openings.Known = n, n
		v := Judge(c, Rules{})
		if *v.Figures.Deflated > *last.Figures.Deflated || *v.Figures.Luck < *last.Figures.Luck || v.Claim && !last.Claim {
			t.Fatalf("%d trials and openings: luck %v after %v", n, *v.Figures.Luck, *last.Figures.Luck)
		}
		last = v
	}
	if last.Claim {
		t.Error("an edge is claimed after a hundred thousand openings")
	}
}

// However many generations there are, of whatever size, and however many of
// their researches open the holdout: what they take of the level is one at most.
func TestOpenings_AllTogetherTakeNoMoreThanOne(t *testing.T) {
	r := num.NewRand(71)
	for range 200 {
		known, taken := 0, 0.0
		for range 100 {
			own := 1 + int(r.Uint64n(12))
			happen := int(r.Uint64n(uint64(own + 1)))
			taken += float64(happen) / float64(Openings{Known: known, Own: own}.counted())
			known += happen
		}
		taken += 12 / float64(Openings{Known: known, Own: 12, Last: true}.counted())
		if taken > 1 {
			t.Fatalf("%d openings take %v of the level", known, taken)
		}
	}
	if first, only := (Openings{}).counted(), (Openings{Last: true}).counted(); first != 2 || only != 1 {
		t.Errorf("a first opening counts as %d and an only one as %d, want 2 and 1", first, only)
	}
}

func TestSpend_AllGenerationsTakeNoMoreThanOne(t *testing.T) {
	taken := 0.0
	for g := range 10_000 {
		taken += 8 / float64(Spend(0, 8, g))
	}
	near(t, "taken by ten thousand generations", taken, 1, 1e-3)
	if got := Spend(30, 8, 2); got != 30+8*12 {
		t.Errorf("the third generation of 8 after 30 trials counts as %d, want 126", got)
	}
}

func TestJudge_ListsEveryCheckInTheSameOrder(t *testing.T) {
	want := []Code{
		NotRuined, NotCollapsed, EnoughTrades, PositiveSharpe, BoundedDrawdown, SurvivesCosts, BoundedDecay,
		BeatsHold, BeatsLuck, HoldoutTrades, HoldoutEarns, HoldoutConfirms,
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
	err := Rules{MinTrades: -1, HoldoutTrades: -1, MaxDrawdown: 2, CostMultiplier: 0.5, MinRetention: -1, MinDeflated: 1, MaxLuck: math.NaN()}.Validate()
	if err == nil || strings.Count(err.Error(), ";") != 13 {
		t.Errorf("%v", err)
	}
}
