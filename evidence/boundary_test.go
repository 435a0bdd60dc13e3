package evidence

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// passes says whether a check passed.
func passes(reasons []Reason, code Code) bool {
	return reasons[slices.IndexFunc(reasons, func(r Reason) bool { return r.Code == code })].Passed
}

func up(x float64) float64   { return math.Nextafter(x, math.Inf(1)) }
func down(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

// A limit that is met exactly passes where the rule says "at least" or "at most",
// and fails where it says "above".
func TestJudge_LimitsMetExactly(t *testing.T) {
	first := Judge(strong(), Rules{})
	retention, deflated := *first.Figures.Decay.Retention, *first.Figures.Deflated
	gross := func(times float64) func(*Case) {
		return func(c *Case) {
			for k := range c.Test.Trades {
				c.Test.Trades[k].Gross, c.Test.Trades[k].Costs = 2*times, 2
			}
		}
	}
	for _, c := range []struct {
		name   string
		code   Code
		change func(*Case)
		rules  Rules
		want   bool
	}{
		{"30 trades of 30", EnoughTrades, func(c *Case) { c.Test.Trades = c.Test.Trades[:30] }, Rules{}, true},
		{"29 trades of 30", EnoughTrades, func(c *Case) { c.Test.Trades = c.Test.Trades[:29] }, Rules{}, false},
		{"a Sharpe ratio of 0", PositiveSharpe, func(c *Case) { zero(c.Test.Returns) }, Rules{}, false},
		{"a Sharpe ratio above 0", PositiveSharpe, func(c *Case) { zero(c.Test.Returns); raise(c.Test.Returns, 1e-12) }, Rules{}, true},
		{"a drawdown of 30 %", BoundedDrawdown, func(c *Case) { c.Test.MaxDrawdown = 0.3 }, Rules{}, true},
		{"a drawdown above 30 %", BoundedDrawdown, func(c *Case) { c.Test.MaxDrawdown = up(0.3) }, Rules{}, false},
		{"a profit of 1.5 times the costs", SurvivesCosts, gross(1.5), Rules{}, false},
		{"a profit above 1.5 times the costs", SurvivesCosts, gross(1.5 + 1e-12), Rules{}, true},
		{"retention as needed", BoundedDecay, func(*Case) {}, Rules{MinRetention: retention}, true},
		{"retention below", BoundedDecay, func(*Case) {}, Rules{MinRetention: up(retention)}, false},
		{"as good as buy-and-hold", BeatsHold, func(c *Case) { copy(c.Test.Hold, c.Test.Returns) }, Rules{}, false},
		{"deflated as needed", BeatsLuck, func(*Case) {}, Rules{MinDeflated: deflated}, true},
		{"deflated below", BeatsLuck, func(*Case) {}, Rules{MinDeflated: up(deflated)}, false},
	} {
		k := strong()
		c.change(&k)
		v := Judge(k, c.rules)
		if got := passes(v.Reasons, c.code); got != c.want {
			t.Errorf("%s: passed %v, want %v", c.name, got, c.want)
		}
		if v.Finalist != (c.want && c.code != PositiveSharpe) { // so small a Sharpe ratio fails the later checks
			t.Errorf("%s: finalist %v, want %v", c.name, v.Finalist, c.want)
		}
	}
}

// zero makes returns whose mean is exactly 0.
func zero(x []float64) {
	for i := range x {
		x[i] = 1e-3 * float64(1-2*(i%2))
	}
}

func TestConfirm_LimitsMetExactly(t *testing.T) {
	first := Confirm(confirmed(), 3, Rules{})
	for _, c := range []struct {
		name   string
		code   Code
		change func(*Part)
		rules  Rules
		want   bool
	}{
		{"10 trades of 10", HoldoutTrades, func(p *Part) { p.Trades = p.Trades[:10] }, Rules{}, true},
		{"9 trades of 10", HoldoutTrades, func(p *Part) { p.Trades = p.Trades[:9] }, Rules{}, false},
		{"a Sharpe ratio of 0", HoldoutEarns, func(p *Part) { zero(p.Returns) }, Rules{}, false},
		{"an adjusted p as allowed", HoldoutConfirms, func(*Part) {}, Rules{MaxAdjustedP: *first.Adjusted}, true},
		{"an adjusted p above", HoldoutConfirms, func(*Part) {}, Rules{MaxAdjustedP: down(*first.Adjusted)}, false},
	} {
		p := confirmed()
		c.change(&p)
		got := Confirm(p, 3, c.rules)
		if passes(got.Reasons, c.code) != c.want || got.Claim != c.want || (got.Shrunk != nil) != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}

	exact := Confirm(confirmed(), 3, Rules{MaxAdjustedP: *first.Adjusted})
	if ratio := *exact.Holdout.Sharpe.Annualized; *exact.Low != 0 || *exact.Shrunk != 0 || *exact.High < ratio || *exact.High > 1.001*ratio {
		t.Errorf("a claim at its limit: %v to %v, shrunk %v; want 0 to %v, shrunk 0", *exact.Low, *exact.High, *exact.Shrunk, ratio)
	}
	got, want := Confirm(confirmed(), -5, Rules{}), Confirm(confirmed(), 0, Rules{})
	if got.Before != 0 || *got.Adjusted != *want.Adjusted || got.Factor != 2 {
		t.Errorf("a negative number of looks: %+v", got)
	}
	lost := confirmed()
	negate(lost.Returns)
	if got := Confirm(lost, 0, Rules{}); *got.Adjusted != 1 || *got.P <= 0.5 {
		t.Errorf("an adjusted p-value of %v from %v, want 1", *got.Adjusted, *got.P)
	}
}

// The p-value takes the weaker of the two z-values, whichever that is.
func TestConfirm_TakesTheWeakerZ(t *testing.T) {
	alphaWeaker, sharpeWeaker := planted{sharpe: 6, drift: 5, long: 0.9, bars: 2500}, planted{sharpe: 4, drift: -4, long: 0.7, bars: 2500}
	for name, p := range map[string]planted{"alpha": alphaWeaker, "Sharpe": sharpeWeaker} {
		c := Confirm(p.part(num.NewRand(8)), 0, Rules{})
		s, a := *c.Holdout.Sharpe.Z, *c.Holdout.AlphaZ
		if (a < s) != (name == "alpha") {
			t.Fatalf("%s is not the weaker: %v and %v", name, s, a)
		}
		if *c.P != NormCDF(-min(s, a)) {
			t.Errorf("%s: p = %v of z-values %v and %v", name, *c.P, s, a)
		}
	}
	one, two := 1.0, 2.0
	if *WeakerZ(&one, &two) != 1 || *WeakerZ(&two, &one) != 1 || WeakerZ(nil, &one) != nil || WeakerZ(&one, nil) != nil {
		t.Error("WeakerZ is not the smaller, or is not nil where one is")
	}
}

// A holdout with the largest ratios a float64 can tell has finite estimates.
func TestConfirm_ExtremeRatiosStayFinite(t *testing.T) {
	for _, edge := range []float64{1, 10, 1e3, 1e6} {
		for _, year := range []float64{0, 6240} {
			p := part(2000, edge, num.NewRand(9))
			p.BarsPerYear = year
			c := Confirm(p, 0, Rules{})
			ratio := c.Holdout.Sharpe.Ratio()
			if !c.Claim || c.Low == nil || c.High == nil || c.Shrunk == nil || *c.Low > *c.Shrunk || *c.Shrunk > *ratio || *c.High < *ratio {
				t.Fatalf("edge %v: %+v", edge, c)
			}
			if *c.Low < 0.9**ratio || *c.High > 1.1**ratio {
				t.Errorf("edge %v: %v to %v around %v", edge, *c.Low, *c.High, *ratio)
			}
			wellFormed(t, c, c.Reasons)
		}
	}
}

// Without a year the estimates are per bar, and a year scales them.
func TestConfirm_EstimatesAreInTheUnitOfTheRatio(t *testing.T) {
	p := confirmed()
	year := Confirm(p, 0, Rules{})
	p.BarsPerYear = 0
	bar := Confirm(p, 0, Rules{})
	for name, x := range map[string][2]*float64{
		"low": {year.Low, bar.Low}, "high": {year.High, bar.High}, "shrunk": {year.Shrunk, bar.Shrunk},
	} {
		near(t, name, *x[0], *x[1]*math.Sqrt(6240), 1e-12**x[0])
	}
}

func TestSelection_InvertsTheTruncatedNormal(t *testing.T) {
	r := num.NewRand(10)
	for range 300 {
		bound := 1 + 5*r.Float64()
		s := selection{z: bound + 3*r.Float64(), bound: bound}
		low, median, high := s.low(), s.median(), s.high()
		if !(0 <= low && low <= median && median <= s.z && s.z <= high && high < s.z+1.96) {
			t.Fatalf("%+v: %v, %v, %v are out of order", s, low, median, high)
		}
		for _, c := range []struct{ truth, at, end float64 }{{low, 0.025, 0}, {median, 0.5, 0}, {high, 0.975, s.z}} {
			if c.truth == c.end {
				if s.reaches(c.truth) < c.at {
					t.Fatalf("%+v: the estimate for %v stops at %v too early", s, c.at, c.end)
				}
				continue
			}
			near(t, fmt.Sprintf("%+v: probability at the estimate for %v", s, c.at), s.reaches(c.truth), c.at, 1e-9)
		}
	}
	plain := selection{z: 10, bound: -30} // no truncation
	near(t, "low end without truncation", plain.low(), 10-intervalZ, 1e-9)
	near(t, "median without truncation", plain.median(), 10, 1e-9)
	near(t, "high end without truncation", plain.high(), 10+intervalZ, 1e-9)
	if s := (selection{z: 3, bound: 3}); s.low() != 0 || s.median() != 0 || s.high() != 3 {
		t.Errorf("at its bound: %v, %v, %v, want 0, 0, 3", s.low(), s.median(), s.high())
	}
}

func TestTailRatio_IsExactFarOut(t *testing.T) {
	for b := -5.0; b < 20; b += 0.173 {
		for a := b; a < b+6; a += 0.31 {
			want := NormCDF(-a) / NormCDF(-b)
			near(t, fmt.Sprintf("tailRatio(%v, %v)", a, b), tailRatio(a, b), want, 1e-11*want)
		}
	}
	// Q(x) ≈ φ(x)/x·(1−1/x²): far out the ratio is known to the fourth power of 1/x.
	for _, x := range []float64{50, 500, 5000} {
		a := x + 1/x
		want := math.Exp((x-a)*(x+a)/2) * (x / a) * (1 - 1/(a*a)) / (1 - 1/(x*x))
		near(t, fmt.Sprint("far out at ", x), tailRatio(a, x), want, 10/(x*x*x*x))
	}
	if got := tailRatio(1e9, 5); got != 0 {
		t.Errorf("tailRatio(1e9, 5) = %v, want 0", got)
	}
}

// The market explains a known share of a strategy's variance.
func TestOwnShare_IsTheUnexplainedPart(t *testing.T) {
	r := num.NewRand(11)
	p := Part{Hold: normals(200_000, 0, r), Returns: normals(200_000, 0, r)}
	for i := range p.Returns {
		p.Returns[i] = 0.6*p.Returns[i] + 0.8*p.Hold[i]
		p.Hold[i] *= 4 // the market moves more than the strategy
	}
	c := Versus(p.Returns, p.Hold, 0)
	near(t, "own share", ownShare(&p, &c), 0.6, 0.01)
}

// The bound is the z-value at which the claim would have failed: by the Sharpe
// ratio itself, or by an alpha that falls with it.
func TestSelectionOf_TakesTheConditionThatFailsFirst(t *testing.T) {
	p := planted{sharpe: 6, drift: 5, long: 0.9, bars: 2500}.part(num.NewRand(8))
	c := Versus(p.Returns, p.Hold, 0)
	own, level := ownShare(&p, &c), NormCDF(0.2-*c.AlphaZ) // alpha passes by 0.2
	critical := -NormQuantile(level)
	got := selectionOf(&p, &c, level)
	if want := *c.Sharpe.Z - (*c.AlphaZ-critical)/own; own > 0.9 || want < critical || want > *c.Sharpe.Z {
		t.Fatalf("the example shows nothing: own share %v, bound %v", own, want)
	} else if got.z != *c.Sharpe.Z || got.bound != want {
		t.Errorf("%+v, want the bound %v", got, want)
	}
	p = planted{sharpe: 4, drift: -4, long: 0.7, bars: 2500}.part(num.NewRand(8))
	c = Versus(p.Returns, p.Hold, 0)
	if got, want := selectionOf(&p, &c, 0.01), -NormQuantile(0.01); got.bound != want {
		t.Errorf("alpha is the stronger, and the bound is %v, want %v", got.bound, want)
	}
}
