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

// strong is a case that passes every check.
func strong() Case {
	r := num.NewRand(31)
	test := part(3000, 0.1, r)
	in := EstimateSharpe(normals(6000, 0.15, r), 6240)
	return Case{Test: test, InSample: &in, Trials: 8}
}

func TestJudge_IsAFinalistWhenEveryCheckPassed(t *testing.T) {
	v := Judge(strong(), Rules{})
	if !v.Finalist || v.Level != Promising || v.Summary != "Finalist: every check on the test part passed (adjusted for 8 trials)." {
		t.Fatalf("%+v", v)
	}
	f := &v.Figures
	if f.Trials != 8 || *f.SharpeZ != *f.Test.Sharpe.Z || *f.AlphaZ != *f.Test.AlphaZ {
		t.Errorf("figures: %+v", f)
	}
	if want := Deflate(*WeakerZ(f.SharpeZ, f.AlphaZ), 8); *f.Deflated != want || want < 0.99 {
		t.Errorf("deflated: %v, want %v", *f.Deflated, want)
	}
}

func TestJudge_EachCheckAloneStopsAFinalist(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Case)
		code   Code
		level  Level
	}{
		"the account was used up":           {func(c *Case) { c.Test.Ruined = true }, NotRuined, Poor},
		"the model collapsed":               {func(c *Case) { c.Collapsed = true }, NotCollapsed, Poor},
		"it hardly trades":                  {func(c *Case) { c.Test.Trades = c.Test.Trades[:29] }, EnoughTrades, Poor},
		"it loses":                          {func(c *Case) { negate(c.Test.Returns) }, PositiveSharpe, Poor},
		"it does not move":                  {func(c *Case) { clear(c.Test.Returns) }, PositiveSharpe, Poor},
		"it falls too deep":                 {func(c *Case) { c.Test.MaxDrawdown = 0.31 }, BoundedDrawdown, Neutral},
		"the drawdown is unknown":           {func(c *Case) { c.Test.MaxDrawdown = math.NaN() }, BoundedDrawdown, Neutral},
		"dearer trading would eat it up":    {func(c *Case) { dearer(c.Test.Trades) }, SurvivesCosts, Neutral},
		"it was not charged":                {func(c *Case) { free(c.Test.Trades) }, SurvivesCosts, Neutral},
		"little is left out of sample":      {func(c *Case) { *c.InSample.Annualized = 80 }, BoundedDecay, Neutral},
		"in sample is not known":            {func(c *Case) { c.InSample = nil }, BoundedDecay, Neutral},
		"holding was better":                {func(c *Case) { raise(c.Test.Hold, 3e-4) }, BeatsHold, Neutral},
		"it is the market":                  {func(c *Case) { copy(c.Test.Hold, c.Test.Returns) }, BeatsLuck, Neutral},
		"it is short in a falling market":   {func(c *Case) { fall(&c.Test) }, BeatsLuck, Neutral},
		"2^40 were tried":                   {func(c *Case) { c.Trials = 1 << 40 }, BeatsLuck, Neutral},
		"the returns are not numbers":       {func(c *Case) { c.Test.Returns[7] = math.NaN() }, PositiveSharpe, Poor},
		"buy-and-hold is of other bars":     {func(c *Case) { c.Test.Hold = c.Test.Hold[1:] }, BeatsLuck, Neutral},
		"the part is as empty as it can be": {func(c *Case) { *c = Case{} }, PositiveSharpe, Poor},
	} {
		t.Run(name, func(t *testing.T) {
			k := strong()
			c.change(&k)
			v := Judge(k, Rules{})
			i := slices.IndexFunc(v.Reasons, func(r Reason) bool { return r.Code == c.code })
			if v.Finalist || v.Reasons[i].Passed || v.Level != c.level {
				t.Errorf("finalist %v, level %s, %+v", v.Finalist, v.Level, v.Reasons[i])
			}
			j := slices.IndexFunc(v.Reasons, func(r Reason) bool { return !r.Passed })
			if want := "No edge claimed: " + v.Reasons[j].Text + "."; v.Summary != want {
				t.Errorf("summary %q, want %q", v.Summary, want)
			}
			wellFormed(t, v, v.Reasons)
		})
	}
}

// wellFormed checks that every reason has a text and that all of it can be
// written as JSON.
func wellFormed(t *testing.T, v any, reasons []Reason) {
	t.Helper()
	for _, r := range reasons {
		if r.Text == "" || strings.HasSuffix(r.Text, ": ") || r.Limit == nil {
			t.Errorf("%s has no reason or no limit: %+v", r.Code, r)
		}
	}
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("as JSON: %v", err)
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
	for _, n := range []int{9, 20, 100, 1000, 100_000} {
		c.Trials = n
		v := Judge(c, Rules{})
		if *v.Figures.Deflated >= *last.Figures.Deflated || v.Figures.Trials != n || *v.Figures.ExpectedMax <= *last.Figures.ExpectedMax {
			t.Fatalf("%d trials: deflated %v after %v", n, *v.Figures.Deflated, *last.Figures.Deflated)
		}
		last = v
	}
	for _, n := range []int{-3, 0} {
		if c.Trials = n; Judge(c, Rules{}).Figures.Trials != 1 {
			t.Errorf("%d trials do not count as 1", n)
		}
	}
}

func TestOpenEndedTrials_AllGenerationsShareOneTrial(t *testing.T) {
	shares := 0.0
	for g := range 10_000 {
		shares += 8 / float64(OpenEndedTrials(0, 8, g))
	}
	near(t, "the shares of ten thousand generations", shares, 1, 1e-3)
	if got := OpenEndedTrials(30, 8, 2); got != 30+8*12 {
		t.Errorf("the third generation of 8 after 30 trials counts as %d, want 126", got)
	}
}

func TestJudge_ListsEveryCheckInTheSameOrder(t *testing.T) {
	want := []Code{
		NotRuined, NotCollapsed, EnoughTrades, PositiveSharpe, BoundedDrawdown, SurvivesCosts, BoundedDecay,
		BeatsHold, BeatsLuck,
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
	err := Rules{
		MinTrades: -1, HoldoutTrades: -1, MaxDrawdown: 2, CostMultiplier: 0.5, MinRetention: -1, MinDeflated: 1,
		MaxAdjustedP: math.NaN(),
	}.Validate()
	if err == nil || strings.Count(err.Error(), ";") != 13 {
		t.Errorf("%v", err)
	}
}
