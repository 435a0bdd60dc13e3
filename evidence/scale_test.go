package evidence

import (
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// A Sharpe ratio has no unit: it is the same for returns of a millionth. What is
// so small that its square is nothing has no ratio.
func TestEstimateSharpe_DoesNotDependOnTheScale(t *testing.T) {
	returns := normals(500, 0.1, num.NewRand(3))
	scaled := func(by float64) Sharpe {
		x := make([]float64, len(returns))
		for i, v := range returns {
			x[i] = v * by
		}
		return EstimateSharpe(x, 0)
	}
	want := *scaled(1).PerBar
	for _, by := range []float64{1e-40, 1e-6, 1e-3, 1e3, 1e6} {
		if got := scaled(by); got.PerBar == nil {
			t.Errorf("returns of about %g: %s", by, got.Undefined)
		} else {
			near(t, "Sharpe ratio", *got.PerBar, want, 1e-9)
		}
	}
	if got := scaled(1e-100); got.PerBar != nil || got.Undefined == "" {
		t.Errorf("returns of about 1e-100 have the ratio %v", *got.PerBar)
	}
}

// A strategy that differs from the market by a ten-thousandth of its moves has an
// alpha, and one that is the market has none.
func TestVersus_TheSmallestAlphaOfItsOwn(t *testing.T) {
	r := num.NewRand(5)
	hold, own := normals(500, 0, r), normals(500, 1, r)
	returns := make([]float64, len(hold))
	for _, c := range []struct {
		share float64
		alpha bool
	}{{1e-4, true}, {0, false}} {
		for i := range hold {
			returns[i] = 1e-3 * (hold[i] + c.share*own[i])
		}
		scaled := make([]float64, len(hold))
		for i, v := range hold {
			scaled[i] = 1e-3 * v
		}
		got := Versus(returns, scaled, 0)
		if (got.AlphaZ != nil) != c.alpha || (got.Undefined == "") != c.alpha {
			t.Errorf("an own share of %g: alpha %v, %q; want an alpha: %v", c.share, got.AlphaZ, got.Undefined, c.alpha)
		}
	}
}

// A return too large to be written is no return.
func TestCompound_OfWhatIsTooLarge(t *testing.T) {
	near(t, "compound", compound([]float64{1e200, 1e200}), -1, 0)
}

// Two accounts have twice the bars in which a position can be held.
func TestJudge_ExposureIsOfAllAccounts(t *testing.T) {
	for accounts, bars := range map[int]float64{0: 3000, 1: 3000, 2: 6000, 4: 12_000} {
		c := strong() // 60 trades of 2 bars
		c.Test.Accounts = accounts
		near(t, "exposure", *Judge(c, Rules{}).Figures.Trades.Exposure, 120/bars, 1e-15)
	}
}
