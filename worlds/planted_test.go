package worlds

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// The drift of a bar is the strength in the direction of the lean, and nothing where
// there is no lean.
func TestKinds_MovesLeanAsTheRuleSays(t *testing.T) {
	const strength = 0.3
	for _, k := range Kinds {
		if k.Name == "trend" { // runs away at this strength, and is checked at a weaker one
			continue
		}
		k.leans(t, strength)
	}
	for _, k := range Kinds {
		if k.Name == "trend" {
			k.leans(t, 0.1)
		}
	}
}

func (k Kind) leans(t *testing.T, strength float64) {
	t.Helper()
	all := k.Make("K", 20_000, 4, strength)
	b, look := all[0], all[len(all)-1]
	var sum [2]float64 // of moves along the lean, and of moves without one
	var n [2]float64
	for i := lookBack - 1; i < b.Len()-1; i++ {
		move, lean := math.Log(b.Close[i+1]/b.Close[i])/volatility, k.lean(seen{look, i})
		at := 0
		if lean == 0 {
			at, lean = 1, 1
		}
		sum[at] += move * float64(lean)
		n[at]++
	}
	if n[0] < 300 {
		t.Fatalf("%s: only %.0f bars lean", k.Name, n[0])
	}
	// GARCH keeps the mean volatility a little below 1, where bars are volatile it is above.
	if got := sum[0] / n[0]; got < 0.6*strength || got > 2*strength {
		t.Errorf("%s: bars drift by %.3f volatilities along the lean, want about %g", k.Name, got, strength)
	}
	if got := sum[1] / max(n[1], 1); math.Abs(got) > 4/math.Sqrt(max(n[1], 1)) {
		t.Errorf("%s: bars without a lean drift by %.3f", k.Name, got)
	}
}

// The rule uses nothing that is not known when it decides.
func TestKinds_RulesDoNotLookAhead(t *testing.T) {
	const bars, cut = 1500, 1200
	for _, k := range Kinds {
		all := k.Make("K", bars, 4, 0.2)
		var first []*market.Bars
		for _, b := range all {
			first = append(first, b.Slice(0, cut))
		}
		for _, exit := range Exits {
			full, part := k.Rule(all).Signals(exit), k.Rule(first).Signals(exit)
			for i, s := range part {
				if s != full[i] {
					t.Fatalf("%s: the signal of bar %d changes with bars after %d", k.Name, i, cut)
				}
			}
		}
	}
}

// sharpe is the mean net Sharpe ratio of the better exit over some worlds.
func (k Kind) sharpe(t *testing.T, strength float64, worlds int) float64 {
	t.Helper()
	const bars = 20_000
	var sums [2]float64
	for seed := range worlds {
		rule := k.Rule(k.Make("K", bars, uint64(seed), strength))
		for e, exit := range Exits {
			part, err := rule.Trade(exit, lookBack, bars)
			if err != nil {
				t.Fatal(err)
			}
			sums[e] += *evidence.EstimateSharpe(part.Returns, part.BarsPerYear).Annualized
		}
	}
	return max(sums[0], sums[1]) / float64(worlds)
}

// The fourth strength of each kind is worth a net Sharpe ratio of about 5, and no
// strength is worth nothing: the costs.
func TestKinds_RulesEarnAboutTheSame(t *testing.T) {
	for _, k := range Kinds {
		if got := k.sharpe(t, k.Strengths[3], 6); got < 4 || got > 6.2 {
			t.Errorf("%s at %g: its rule has a net Sharpe ratio of %.2f, want about 5", k.Name, k.Strengths[3], got)
		}
		if got := k.sharpe(t, 0, 6); got > 0.6 {
			t.Errorf("%s without an edge: its rule has a net Sharpe ratio of %.2f", k.Name, got)
		}
	}
}

// A lead-lag edge is invisible on the follower alone.
func TestKinds_ALeadIsNotSeenOnTheFollower(t *testing.T) {
	k := Kinds[5]
	all := k.Make("K", 20_000, 4, 0.2)
	if len(all) != 2 || all[0].Symbol == all[1].Symbol {
		t.Fatalf("%d series", len(all))
	}
	alone := Kinds[1].Rule(all[:1]).Signals(AtOnce) // momentum of the follower itself
	right, n := 0, 0
	for i, s := range k.Rule(all).Signals(AtOnce) {
		if s != backtest.Hold {
			n++
			if alone[i] == s {
				right++
			}
		}
	}
	if share := float64(right) / float64(n); share > 0.4 {
		t.Errorf("%.2f of the signals are those of a rule that sees the follower only", share)
	}
	if num.Sum(moves(all[1])) == num.Sum(moves(all[0])) {
		t.Error("both symbols are the same")
	}
}
