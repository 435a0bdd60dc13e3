package evidence

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// tried is a strategy of a world: its z-value on the test part where it is a
// finalist, and its look as if it were the first.
type tried struct {
	finalist bool
	z        float64
	look     Confirmation
	holdout  Part
}

// generationsOf judges 24 strategies on a market with a planted edge, as three
// generations of eight of one run. Three of every eight trade the edge, each with
// its own threshold; the others are random.
func generationsOf(t *testing.T, edge float64, seed uint64) [3][8]tried {
	t.Helper()
	bars := market.Synth(market.SynthConfig{Bars: 16_000, Seed: seed, Edge: edge})
	r := num.NewRand(num.Mix(seed, 7))
	var out [3][8]tried
	for g := range out {
		for k := range out[g] {
			signals := random(bars.Len(), r)
			if k < 3 {
				signals = reverting(bars, market.SynthStretch+0.1*float64(k-1)+0.03*float64(g-1))
			}
			v, holdout := judged(t, bars, signals, 24)
			out[g][k] = tried{finalist: v.Finalist, holdout: holdout, look: Confirm(holdout, 0, Rules{})}
			if z := WeakerZ(v.Figures.SharpeZ, v.Figures.AlphaZ); z != nil {
				out[g][k].z = *z
			}
		}
	}
	return out
}

// best is the finalist of a generation that gets the look, or nil.
func best(generation []tried) *tried {
	var b *tried
	for k := range generation {
		if c := &generation[k]; c.finalist && (b == nil || c.z > b.z) {
			b = c
		}
	}
	return b
}

// newClaims says whether a run of generations claims an edge by Confirm: one look
// for each generation.
func newClaims(generations [][8]tried) bool {
	looks := 0
	for g := range generations {
		if b := best(generations[g][:]); b != nil {
			if Confirm(b.holdout, looks, Rules{}).Claim {
				return true
			}
			looks++
		}
	}
	return false
}

// oldRule is the rule before looks were reserved: every finalist of a generation
// is opened.
//
//	first generation:  its looks count as one: (k+1)(k+2), or k+1 if it is the last
//	a later one of s:  (k+1)(k+s+1), or (k+1)s if it is the last
type oldRule struct {
	bestOnly bool    // only the best finalist of a generation is opened
	level    float64 // largest adjusted p-value
}

func (o oldRule) claims(generations [][8]tried) bool {
	known := 0
	for g := range generations {
		own, before := len(generations[g]), max(known, 1)
		if g == 0 {
			own, before = 1, 0
		}
		factor := (before + 1) * (before + own + 1)
		if g == len(generations)-1 {
			factor = (before + 1) * own
		}
		for k := range generations[g] {
			c := &generations[g][k]
			if !c.finalist || o.bestOnly && c != best(generations[g][:]) {
				continue
			}
			known++
			if holdoutPasses(c.look) && *c.look.P*float64(factor) <= o.level {
				return true
			}
		}
	}
	return false
}

// holdoutPasses says whether the checks pass that do not depend on the number of
// looks.
func holdoutPasses(c Confirmation) bool {
	return c.P != nil && checks(c.Reasons).passed(HoldoutTrades, HoldoutEarns)
}

// The new rule loses against the old one what one look for each generation and
// the factor 2 explain, and nothing else: it claims wherever the old rule does
// that opens the best finalist only, at half the level. The old rule was false
// too often; see TestConfirm_RunGroupsShowABrokenLedger.
func TestConfirm_PowerBesideTheOldRule(t *testing.T) {
	worlds, strengths := 4, []float64{0.1, 0.2}
	if soak() {
		worlds, strengths = 120, []float64{0.04, 0.08, 0.12, 0.16, 0.2}
	}
	old, oneLook, oracle := oldRule{level: 0.02}, oldRule{level: 0.02, bestOnly: true}, oldRule{level: 0.01, bestOnly: true}
	t.Logf("%5s  %-21s  %6s  %4s  %9s  %15s  %4s", "edge", "run", "worlds", "old", "best only", "and half level", "new")
	for _, edge := range strengths {
		var count [2][4]int
		for k := range worlds {
			all := generationsOf(t, edge, uint64(3000+k))
			for i, run := range [][][8]tried{all[:1], all[:]} {
				got := [4]bool{old.claims(run), oneLook.claims(run), oracle.claims(run), newClaims(run)}
				for c, claimed := range got {
					count[i][c] += number(claimed)
				}
				if got[2] && !got[3] {
					t.Errorf("edge %v, world %d, %d generations: the new rule loses more than one look and the factor 2 explain", edge, k, len(run))
				}
				if len(run) == 1 && got[2] != got[3] {
					t.Errorf("edge %v, world %d: a run of one generation: the best finalist at half the level claims %v, the new rule %v", edge, k,
						got[2], got[3])
				}
			}
		}
		for i, name := range []string{"8 in 1 generation", "24 in 3 generations"} {
			c := count[i]
			t.Logf("%5v  %-21s  %6d  %4d  %9d  %15d  %4d", edge, name, worlds, c[0], c[1], c[2], c[3])
		}
		if edge == 0.2 && count[0][3] < worlds*8/10 {
			t.Errorf("the demo's edge is claimed in %d of %d worlds only", count[0][3], worlds)
		}
	}
}

// The same in worlds without costs and with weaker edges, of which many more can
// be made: how often one look claims an edge is what normal theory says.
func TestConfirm_PowerOfOneLookIsTheExpected(t *testing.T) {
	worlds := 150
	if soak() {
		worlds = 4000
	}
	for _, c := range []struct {
		sharpe float64
		before int
	}{{1.5, 0}, {3, 0}, {4.5, 0}, {3, 1}, {4.5, 2}, {4.5, 10}} {
		p := planted{sharpe: c.sharpe, bars: 4000}
		claimed := 0
		for k := range worlds {
			claimed += number(Confirm(p.part(num.NewRand(num.Mix(4000, uint64(k)))), c.before, Rules{}).Claim)
		}
		z := c.sharpe * math.Sqrt(float64(p.bars)/yearBars)
		want := NormCDF(z + NormQuantile(0.02/float64(LookFactor(c.before))))
		got := float64(claimed) / float64(worlds)
		t.Logf("Sharpe %v over %d bars after %d looks: claimed in %.3f of %d worlds, expected at most %.3f", c.sharpe, p.bars, c.before, got,
			worlds, want)
		noise := 3 * math.Sqrt(want*(1-want)/float64(worlds))
		if got > want+noise || got < want-0.08-noise {
			t.Errorf("claimed in %.3f, want %.3f or up to 0.08 less", got, want)
		}
	}
}
