package evidence

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// planted is a strategy whose true Sharpe ratio is known, on a market with
// clustered volatility and fat tails.
type planted struct {
	sharpe float64 // annualized, of the strategy
	bars   int
	drift  float64 // Sharpe ratio of the market
	long   float64 // probability with which a new side is long instead of random
}

// part draws the strategy once. Its mean and variance per bar follow from
//
//	return = side·move + |side|·edge,  move = sigma·z + drift
//
// with the probabilities of the sides and a mean of sigma² of 1.
func (p planted) part(r *num.Rand) Part {
	moves, _ := singleRun{test: p.bars}.world(r)
	drift := p.drift / math.Sqrt(yearBars)
	edge := p.edge(drift)
	out := Part{BarsPerYear: yearBars, Hold: moves, Returns: make([]float64, p.bars), Trades: goodTrades}
	side := p.side(r)
	for i := range moves {
		moves[i] += drift
		if r.Uint64n(10) == 0 {
			side = p.side(r)
		}
		out.Returns[i] = side*moves[i] + math.Abs(side)*edge
	}
	return out
}

func (p planted) side(r *num.Rand) float64 {
	if r.Float64() < p.long {
		return 1
	}
	return float64(r.Uint64n(3)) - 1
}

// edge solves for the edge per bar with a position that gives the strategy its
// Sharpe ratio.
func (p planted) edge(drift float64) float64 {
	in, net := p.long+(1-p.long)*2/3, p.long // shares of bars with a position, and of long less short ones
	from, to := -1.0, 1.0
	for range 60 {
		e := (from + to) / 2
		mean := net*drift + in*e
		square := in*(1+drift*drift+e*e) + 2*net*drift*e
		if mean/math.Sqrt(square-mean*mean) < p.sharpe/math.Sqrt(yearBars) {
			from = e
		} else {
			to = e
		}
	}
	return from
}

// estimates are those of the claims of a planted strategy.
type estimates struct {
	worlds, claims, covered, above int
	raw, shrunk                    float64 // sums of the errors, in standard errors of the ratio
}

func (p planted) estimates(t *testing.T, worlds, before int, seed uint64) estimates {
	t.Helper()
	e := estimates{worlds: worlds}
	for k := range worlds {
		c := Confirm(p.part(num.NewRand(num.Mix(seed, uint64(k)))), before, Rules{})
		if !c.Claim {
			continue
		}
		ratio := *c.Holdout.Sharpe.Annualized
		if !(0 <= *c.Low && *c.Low <= *c.Shrunk && *c.Shrunk <= ratio && ratio <= *c.High) {
			t.Fatalf("ratio %v, shrunk %v, interval %v to %v are out of order", ratio, *c.Shrunk, *c.Low, *c.High)
		}
		unit := math.Sqrt(yearBars / float64(p.bars))
		e.claims++
		e.covered += number(*c.Low <= p.sharpe && p.sharpe <= *c.High)
		e.above += number(*c.Shrunk > p.sharpe)
		e.raw += (ratio - p.sharpe) / unit
		e.shrunk += (*c.Shrunk - p.sharpe) / unit
	}
	return e
}

// Among the claims the 95 % interval covers the truth as often as it says, and
// the shrunk ratio is as often above the truth as below it. The measured ratio is
// too high, the more so the weaker the edge.
func TestConfirm_IntervalAndShrunkRatioOfClaims(t *testing.T) {
	scale := 1
	if soak() {
		scale = 15
	}
	cases := []struct {
		name string
		planted
		before, worlds int
	}{
		{"weak edge, first look", planted{sharpe: 1.5}, 0, 900},
		{"medium edge, first look", planted{sharpe: 2.5}, 0, 400},
		{"strong edge, first look", planted{sharpe: 4}, 0, 200},
		{"medium edge, third look", planted{sharpe: 2.5}, 2, 700},
		{"strong edge, tenth look", planted{sharpe: 4}, 9, 300},
		{"edge in a rising market, mostly long", planted{sharpe: 6, drift: 5, long: 0.8}, 0, 300},
		{"edge in a falling market, mostly long", planted{sharpe: 2.5, drift: -2, long: 0.5}, 0, 400},
	}
	var all estimates
	for i, c := range cases {
		c.bars = 2500
		e := c.estimates(t, scale*c.worlds, c.before, uint64(5000+i))
		n := float64(e.claims)
		coverage, above, raw, shrunk := float64(e.covered)/n, float64(e.above)/n, e.raw/n, e.shrunk/n
		t.Logf("%-38s %5d claims of %5d worlds: coverage %.3f, shrunk above the truth %.3f, mean error in standard errors: measured %+.2f, "+
			"shrunk %+.2f",
			c.name, e.claims, e.worlds, coverage, above, raw, shrunk)
		if noise := 3 * math.Sqrt(0.95*0.05/n); coverage < 0.945-noise || coverage > 0.98+noise {
			t.Errorf("%s: coverage %.3f", c.name, coverage)
		}
		if noise := 3 * 0.5 / math.Sqrt(n); math.Abs(above-0.5) > 0.03+noise {
			t.Errorf("%s: the shrunk ratio is above the truth in %.3f of the claims", c.name, above)
		}
		all.claims, all.covered, all.raw, all.shrunk = all.claims+e.claims, all.covered+e.covered, all.raw+raw, all.shrunk+shrunk
	}
	n := float64(len(cases))
	t.Logf("all cases: %d claims, coverage %.3f; mean error of the cases: measured %+.2f, shrunk %+.2f",
		all.claims, float64(all.covered)/float64(all.claims), all.raw/n, all.shrunk/n)
	if math.Abs(all.shrunk) > all.raw/3 {
		t.Errorf("the mean error of the shrunk ratio is %+.2f, that of the measured one %+.2f", all.shrunk/n, all.raw/n)
	}
}
