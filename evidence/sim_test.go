package evidence

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// yearBars is how many hourly bars a currency has in a year.
const yearBars = 6240

func soak() bool { return os.Getenv("KTRDR_SOAK") == "1" }

// night is a run of research on one market, of which the last part is the
// holdout. The first few of its trials have an edge, of that Sharpe ratio over a
// year, net; the others go in and out at random.
type night struct {
	trials, edges int // in a generation
	generations   int // 0 means one, of a run whose size is known; else it lasts until nobody knows when
	climbs        bool
	test, holdout int // bars
	sharpe        float64
	drift         float64 // Sharpe ratio of the market itself over a year
	bias          float64 // how much likelier than by chance a trial goes with the drift
}

// world is a market whose volatility comes in clusters and whose shocks have
// fat tails, as returns per bar in units of its long-run volatility.
func (w night) world(r *num.Rand) (moves, sigma []float64) {
	n := w.test + w.holdout
	moves, sigma = make([]float64, n), make([]float64, n)
	variance := 1.0
	for i := range moves {
		z := r.Norm()
		if r.Uint64n(25) == 0 {
			z *= 3
		}
		z /= math.Sqrt(1 + 8.0/25)
		sigma[i] = math.Sqrt(variance)
		moves[i] = sigma[i] * (z + w.drift/math.Sqrt(yearBars))
		variance = 0.02 + variance*(0.92+0.06*z*z)
	}
	return moves, sigma
}

// trial is a strategy that goes long, short or flat at random, for ten bars on
// average. All that is not statistics is given away: costs, drawdown, decay and
// trades are fine, so that only the statistics can withhold a claim.
func (w night) trial(moves, sigma []float64, sharpe float64, r *num.Rand) Part {
	p := Part{BarsPerYear: yearBars, Hold: moves, Returns: make([]float64, len(moves)), Trades: goodTrades}
	edge := sharpe / math.Sqrt(yearBars) * math.Sqrt(1.5) // two bars of three have a position
	side := 0.0
	for i, m := range moves {
		switch {
		case r.Uint64n(10) > 0:
		case r.Float64() < w.bias:
			side = math.Copysign(1, w.drift)
		default:
			side = float64(r.Uint64n(3)) - 1
		}
		p.Returns[i] = side*m + math.Abs(side)*edge*sigma[i]
	}
	return p
}

var (
	goodTrades = slices.Repeat([]backtest.Trade{{Quantity: 1, EntryPrice: 1, ExitPrice: 1, Gross: 9, Costs: 1, Net: 8}}, 60)
	little     = 1e-9 // a ratio in sample of which everything is left
	goodInside = Sharpe{PerBar: &little, Annualized: &little, Error: &little}
)

// claims judges the generations one after the other and says whether any trial
// claims an edge. Each that is due opens the holdout.
func (w night) claims(r *num.Rand) bool {
	moves, sigma := w.world(r)
	known, best := 0, climber{}
	for g := range max(w.generations, 1) {
		opened, bred := 0, best
		for k := range w.trials {
			own := 0.0
			if k < w.edges {
				own = w.sharpe
			}
			c := Case{InSample: &goodInside, Trials: Trials{Planned: w.trials}, Openings: Openings{Known: known, Own: OwnOpenings(w.trials, g*w.trials), Last: w.generations == 0}}
			if w.generations > 0 {
				c.Trials.Planned = Spend(0, w.trials, g)
			}
			if g > 0 {
				c.Openings.Known = max(known, 1)
			}
			if w.climbs {
				child := best.child(w.test, r)
				if c.Test = child.trade(moves[:w.test]); child.reached > bred.reached {
					bred = child
				}
			} else {
				c.Test = w.trial(moves[:w.test], sigma[:w.test], own, r)
			}
			if !Judge(c, Rules{}).HoldoutDue {
				continue
			}
			opened++
			p := w.trial(moves[w.test:], sigma[w.test:], own, r)
			c.Holdout = &p
			if Judge(c, Rules{}).Claim {
				return true
			}
		}
		known, best = known+opened, bred
	}
	return false
}

// climber is a strategy that a search fits to the test part: its positions in
// blocks of ten bars, and what they earned there. On the holdout it is as random
// as any, and each child anew: the worst that could be bred.
type climber struct {
	sides   []float64
	reached float64 // Sharpe ratio
}

// child has a fifth of its parent's positions changed. The first parent has none.
func (c climber) child(bars int, r *num.Rand) climber {
	sides := make([]float64, (bars+9)/10)
	for i := range sides {
		if c.sides == nil || r.Uint64n(5) == 0 {
			sides[i] = float64(r.Uint64n(3)) - 1
		} else {
			sides[i] = c.sides[i]
		}
	}
	return climber{sides: sides}
}

func (c *climber) trade(moves []float64) Part {
	p := Part{BarsPerYear: yearBars, Hold: moves, Returns: make([]float64, len(moves)), Trades: goodTrades}
	for i, m := range moves {
		p.Returns[i] = c.sides[i/10] * m
	}
	if s := EstimateSharpe(p.Returns, yearBars); s.PerBar != nil {
		c.reached = *s.PerBar
	}
	return p
}

// share is in how many of the nights an edge is claimed.
func (w night) share(runs int, r *num.Rand) float64 {
	n := 0
	for range runs {
		if w.claims(r) {
			n++
		}
	}
	return float64(n) / float64(runs)
}

// On a market without an edge no run may claim one more often than in 2.5 % of
// the nights, whether it makes one trial or thirty, or fifty generations, and
// though it learns the test part by heart; even though none of them pays costs:
// with costs it is rarer still. A market that drifts is none to those who go
// with it.
func TestJudge_SeldomClaimsAnEdgeThatIsNotThere(t *testing.T) {
	runs := 400
	if soak() {
		runs = 4000
	}
	for _, c := range []struct {
		name string
		night
	}{
		{"one trial", night{trials: 1}},
		{"eight trials", night{trials: 8}},
		{"thirty trials", night{trials: 30}},
		{"eight that like to be short, in a falling market", night{trials: 8, drift: -6, bias: 0.5}},
		{"eight that like to be long, in a rising market", night{trials: 8, drift: 6, bias: 0.5}},
		{"fifty generations of two, until a time", night{trials: 2, generations: 50}},
		{"fifty generations of eight, until a time", night{trials: 8, generations: 50}},
		{"a search that climbs the test part for 12 generations", night{trials: 8, generations: 12, climbs: true}},
		{"a search that climbs the test part for 25 generations", night{trials: 8, generations: 25, climbs: true}},
	} {
		c.test, c.holdout = 600, 400
		got := c.share(max(runs*8/(c.trials*max(c.generations, 1)+7), runs/10), num.NewRand(40))
		t.Logf("%s: claimed in %.2f %% of the nights", c.name, 100*got)
		if got > 0.025 {
			t.Errorf("%s: an edge that is not there is claimed in %.2f %% of the nights", c.name, 100*got)
		}
	}
}

// An edge worth a Sharpe ratio of 3 a year, net of costs, is claimed where there
// are bars enough to show it.
func TestJudge_FindsAnEdgeThatIsThere(t *testing.T) {
	runs := 60
	if soak() {
		runs = 300
	}
	for _, c := range []struct {
		name string
		night
		least float64
	}{
		{"ten months of test, one trial of eight has it", night{trials: 8, edges: 1, test: 5000, holdout: 5000}, 0.5},
		{"ten months of test, three of eight", night{trials: 8, edges: 3, test: 5000, holdout: 5000}, 0.85},
		{"twenty months of test, one of eight", night{trials: 8, edges: 1, test: 10_000, holdout: 10_000}, 0.85},
		{"twenty months of test, one of thirty", night{trials: 30, edges: 1, test: 10_000, holdout: 10_000}, 0.85},
	} {
		c.sharpe = 3
		got := c.share(runs, num.NewRand(50))
		t.Logf("%s: a Sharpe ratio of 3 is claimed in %.0f %% of the nights", c.name, 100*got)
		if got < c.least {
			t.Errorf("%s: claimed in %.0f %% of the nights only", c.name, 100*got)
		}
	}
}

// The same through the whole engine: bars, signals, fills, costs. The rule is
// the one that the edge was planted for, beside seven that are random.
func TestJudge_OnSyntheticMarkets(t *testing.T) {
	markets := 2
	if soak() {
		markets = 20
	}
	for _, c := range []struct {
		name        string
		edge        float64
		least, most int
	}{
		{"with a planted edge", 0.16, markets * 8 / 10, markets},
		{"without an edge", 0, 0, markets / 20},
	} {
		claimed, sharpes := 0, 0.0
		for seed := range markets {
			bars := market.Synth(market.SynthConfig{Bars: 16_000, Seed: uint64(100 + seed), Edge: c.edge})
			r := num.NewRand(uint64(seed))
			for k := range 8 {
				signals := reverting(bars)
				if k > 0 {
					signals = random(bars.Len(), r)
				}
				v := judged(t, bars, signals, Trials{Count: k + 1, Planned: 8}, Openings{Own: OwnOpenings(8, 0), Last: true})
				if k == 0 {
					sharpes += *v.Figures.Test.Sharpe.Annualized
				}
				if v.Claim {
					claimed++
					break
				}
			}
		}
		t.Logf("%s: claimed on %d of %d markets; the rule's mean Sharpe ratio on the test part is %.1f", c.name, claimed, markets, sharpes/float64(markets))
		if claimed < c.least || claimed > c.most {
			t.Errorf("%s: claimed on %d of %d markets, want %d to %d", c.name, claimed, markets, c.least, c.most)
		}
	}
}

// judged backtests signals on the parts of the bars: 40 % in sample, 30 % test,
// 30 % holdout.
func judged(t *testing.T, bars *market.Bars, signals []backtest.Signal, trials Trials, openings Openings) Verdict {
	t.Helper()
	cfg := backtest.Config{Spread: 1e-5, AllowShort: true, PositionSize: 0.9}
	n := bars.Len()
	cuts := []int{0, n * 4 / 10, n * 7 / 10, n}
	var parts [3]Part
	for k := range parts {
		b := bars.Slice(cuts[k], cuts[k+1])
		result, err := backtest.Backtest(b, signals[cuts[k]:cuts[k+1]], cfg)
		if err != nil {
			t.Fatal(err)
		}
		if parts[k], err = PartOf(b, result); err != nil {
			t.Fatal(err)
		}
	}
	in := EstimateSharpe(parts[0].Returns, parts[0].BarsPerYear)
	c := Case{Test: parts[1], InSample: &in, Trials: trials, Openings: openings}
	v := Judge(c, Rules{})
	if v.HoldoutDue {
		c.Holdout = &parts[2]
		v = Judge(c, Rules{})
	}
	return v
}

// reverting is short while the price is stretched upwards, long while it is
// stretched downwards, and else flat, as the planted edge wants it. An opposite
// signal closes.
func reverting(bars *market.Bars) []backtest.Signal {
	signals := make([]backtest.Signal, bars.Len())
	side := backtest.Hold
	for i := market.SynthWindow - 1; i < len(signals); i++ {
		s, err := measure(bars.Close[i+1-market.SynthWindow : i+1])
		if err != nil {
			continue
		}
		want := backtest.Hold
		switch z := (bars.Close[i] - s.mean) / s.deviation; {
		case z > market.SynthStretch:
			want = backtest.Sell
		case z < -market.SynthStretch:
			want = backtest.Buy
		}
		switch {
		case side == want:
		case side != backtest.Hold:
			signals[i], side = -side, backtest.Hold
		default:
			signals[i], side = want, want
		}
	}
	return signals
}

func random(n int, r *num.Rand) []backtest.Signal {
	signals := make([]backtest.Signal, n)
	for i := range signals {
		if r.Uint64n(20) == 0 {
			signals[i] = backtest.Signal(r.Uint64n(2))*2 - 1
		}
	}
	return signals
}
