package evidence

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// confirmed is a holdout that passes every check.
func confirmed() Part { return part(2000, 0.1, num.NewRand(32)) }

func TestConfirm_ClaimsAnEdgeWhenEveryCheckPassed(t *testing.T) {
	c := Confirm(confirmed(), 2, Rules{})
	if !c.Claim || c.Before != 2 || c.Factor != 12 || *c.Adjusted != 12**c.P || len(c.Costs.Curve) != 6 || c.Costs.Gross != 300 {
		t.Fatalf("%+v", c)
	}
	if want := "Edge claimed (p = " + show(c.Adjusted) + " after adjustment for 3 looks)."; c.Summary != want {
		t.Errorf("summary %q, want %q", c.Summary, want)
	}
	if z := *WeakerZ(c.Holdout.Sharpe.Z, c.Holdout.AlphaZ); *c.P != NormCDF(-z) {
		t.Errorf("p = %v of the weaker z-value %v", *c.P, z)
	}
	if got := Confirm(confirmed(), 0, Rules{}).Summary; !strings.HasSuffix(got, "after adjustment for 1 look).") {
		t.Errorf("the first look: %q", got)
	}
}

func TestConfirm_EachCheckAloneStopsAClaim(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Part)
		before int
		code   Code
	}{
		"it hardly trades":                  {func(p *Part) { p.Trades = p.Trades[:9] }, 0, HoldoutTrades},
		"it does not trade":                 {func(p *Part) { p.Trades = nil }, 0, HoldoutTrades},
		"it loses":                          {func(p *Part) { negate(p.Returns) }, 0, HoldoutEarns},
		"it does not move":                  {func(p *Part) { clear(p.Returns) }, 0, HoldoutEarns},
		"it earns little":                   {func(p *Part) { raise(p.Returns, -0.7e-4) }, 0, HoldoutConfirms},
		"it is the market":                  {func(p *Part) { copy(p.Hold, p.Returns) }, 0, HoldoutConfirms},
		"it is short in a falling market":   {fall, 0, HoldoutConfirms},
		"a return is infinite":              {func(p *Part) { p.Returns[7] = math.Inf(1) }, 0, HoldoutEarns},
		"a return is not a number":          {func(p *Part) { p.Returns[7] = math.NaN() }, 0, HoldoutEarns},
		"buy-and-hold is of other bars":     {func(p *Part) { p.Hold = p.Hold[1:] }, 0, HoldoutConfirms},
		"the part is as empty as can be":    {func(p *Part) { *p = Part{} }, 0, HoldoutEarns},
		"a million looks came before it":    {func(*Part) {}, 1 << 20, HoldoutConfirms},
		"more looks than an int can square": {func(*Part) {}, math.MaxInt, HoldoutConfirms},
	} {
		t.Run(name, func(t *testing.T) {
			p := confirmed()
			c.change(&p)
			got := Confirm(p, c.before, Rules{})
			i := slices.IndexFunc(got.Reasons, func(r Reason) bool { return r.Code == c.code })
			if got.Claim || got.Reasons[i].Passed || got.Shrunk != nil {
				t.Errorf("%+v", got)
			}
			j := slices.IndexFunc(got.Reasons, func(r Reason) bool { return !r.Passed })
			if want := "No edge claimed: " + got.Reasons[j].Text + "."; got.Summary != want {
				t.Errorf("summary %q, want %q", got.Summary, want)
			}
			if s := &got.Holdout.Sharpe; s.Z != nil {
				half := 1.959963984540054 * *s.Annualized / *s.Z
				near(t, "low end of the plain interval", *got.Low, *s.Annualized-half, 1e-9)
				near(t, "high end of the plain interval", *got.High, *s.Annualized+half, 1e-9)
			} else if got.Low != nil || got.High != nil {
				t.Error("a holdout without a Sharpe ratio has an interval")
			}
			wellFormed(t, got, got.Reasons)
		})
	}
}

func TestConfirm_ListsEveryCheckInTheSameOrder(t *testing.T) {
	for _, p := range []Part{{}, confirmed()} {
		var got []Code
		for _, r := range Confirm(p, 0, Rules{}).Reasons {
			got = append(got, r.Code)
		}
		if want := []Code{HoldoutTrades, HoldoutEarns, HoldoutConfirms}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestLookFactor_AllLooksShareOne(t *testing.T) {
	for before, want := range []int{2, 6, 12, 20, 30} {
		if got := LookFactor(before); got != want {
			t.Errorf("after %d looks the next pays %d, want %d", before, got, want)
		}
	}
	shares := 0.0
	for before := range 100_000 {
		shares += 1 / float64(LookFactor(before))
	}
	if shares > 1 {
		t.Errorf("the shares sum to %v, which is above 1", shares)
	}
	near(t, "the shares of a hundred thousand looks", shares, 1, 1e-4)
	if LookFactor(-1) != 2 || LookFactor(math.MaxInt) < LookFactor(1<<30) {
		t.Errorf("out of range: %d and %d", LookFactor(-1), LookFactor(math.MaxInt))
	}
}
