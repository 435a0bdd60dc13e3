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

// singleRun is a run of research on one market, whose last part is the holdout.
// The first trials of a generation have an edge. The others go in and out at
// random.
type singleRun struct {
	trials, edges int     // in a generation
	generations   int     // of a run that lasts until a time; 0 means one generation of a run of a known size
	test, holdout int     // bars
	sharpe        float64 // annualized, of an edge after costs
	drift         float64 // annualized Sharpe ratio of the market itself
	bias          float64 // probability with which a new side goes with the drift instead of being random
}

// world is a market whose volatility comes in clusters and whose shocks have
// fat tails, as returns per bar in units of its long-run volatility.
func (w singleRun) world(r *num.Rand) (moves, sigma []float64) {
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
// average. Costs, drawdown, decay and trades pass their checks, so that only the
// statistics can stop a claim.
func (w singleRun) trial(moves, sigma []float64, sharpe float64, r *num.Rand) Part {
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

// claims judges the generations one after the other and says whether any of
// their looks claims an edge. The best finalist of a generation gets one look.
func (w singleRun) claims(r *num.Rand) bool {
	moves, sigma := w.world(r)
	looks := 0
	for g := range max(w.generations, 1) {
		finalist, edge := math.Inf(-1), 0.0
		for k := range w.trials {
			own := 0.0
			if k < w.edges {
				own = w.sharpe
			}
			c := Case{InSample: &goodInside, Trials: w.trials}
			if w.generations > 0 {
				c.Trials = OpenEndedTrials(0, w.trials, g)
			}
			c.Test = w.trial(moves[:w.test], sigma[:w.test], own, r)
			v := Judge(c, Rules{})
			if z := WeakerZ(v.Figures.SharpeZ, v.Figures.AlphaZ); v.Finalist && *z > finalist {
				finalist, edge = *z, own
			}
		}
		if math.IsInf(finalist, -1) {
			continue
		}
		if Confirm(w.trial(moves[w.test:], sigma[w.test:], edge, r), looks, Rules{}).Claim {
			return true
		}
		looks++
	}
	return false
}

// claimed counts the runs that claim an edge.
func (w singleRun) claimed(runs int, r *num.Rand) int {
	n := 0
	for range runs {
		n += number(w.claims(r))
	}
	return n
}

// On a market without an edge at most 2 % of the runs claim one: with one trial or
// thirty, or with fifty generations. None of them pays costs; with costs it is
// rarer still. Going with a market that drifts is not an edge.
func TestConfirm_AtMostTwoPercentOfRunsClaimFalsely(t *testing.T) {
	scale := 1
	if soak() {
		scale = 25
	}
	for _, c := range []struct {
		name string
		singleRun
		runs int
	}{
		{"one trial", singleRun{trials: 1}, 160},
		{"eight trials", singleRun{trials: 8}, 80},
		{"thirty trials", singleRun{trials: 30}, 40},
		{"eight mostly short, in a falling market", singleRun{trials: 8, drift: -6, bias: 0.5}, 80},
		{"eight mostly long, in a rising market", singleRun{trials: 8, drift: 6, bias: 0.5}, 80},
		{"fifty generations of two, until a time", singleRun{trials: 2, generations: 50}, 20},
		{"fifty generations of eight, until a time", singleRun{trials: 8, generations: 50}, 10},
	} {
		c.test, c.holdout = testBars, holdoutBars
		runs := scale * c.runs
		claimed := c.singleRun.claimed(runs, num.NewRand(40))
		low, high := binomialInterval(claimed, runs)
		t.Logf("%s: claimed in %d of %d runs: %.2f %% (95 %% interval %.2f to %.2f %%)",
			c.name, claimed, runs, percent(claimed, runs), 100*low, 100*high)
		if low > 0.02 {
			t.Errorf("%s: the lower end of the interval is above 2 %%", c.name)
		}
	}
}

// A Sharpe ratio of 3 a year after costs is claimed where there are enough bars
// to show it.
func TestConfirm_FindsAnEdgeThatIsThere(t *testing.T) {
	runs := 12
	if soak() {
		runs = 300
	}
	for _, c := range []struct {
		name string
		singleRun
		least float64
	}{
		{"ten months of test, one trial of eight has it", singleRun{trials: 8, edges: 1, test: 5000, holdout: 5000}, 0.4},
		{"ten months of test, three of eight", singleRun{trials: 8, edges: 3, test: 5000, holdout: 5000}, 0.5},
		{"twenty months of test, one of eight", singleRun{trials: 8, edges: 1, test: 10_000, holdout: 10_000}, 0.8},
		{"twenty months of test, one of thirty", singleRun{trials: 30, edges: 1, test: 10_000, holdout: 10_000}, 0.75},
	} {
		c.sharpe = 3
		claimed := c.singleRun.claimed(runs, num.NewRand(50))
		low, high := binomialInterval(claimed, runs)
		t.Logf("%s: claimed in %d of %d runs (95 %% interval %.0f to %.0f %%)", c.name, claimed, runs, 100*low, 100*high)
		if high < c.least {
			t.Errorf("%s: claimed in %d of %d runs only", c.name, claimed, runs)
		}
	}
}

// The same through the whole engine: bars, signals, fills, costs. The rule is
// the one that the edge was planted for, beside seven that are random.
func TestConfirm_OnSyntheticMarkets(t *testing.T) {
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
			var best Part
			highest := math.Inf(-1)
			for k := range 8 {
				signals := reverting(bars, market.SynthStretch)
				if k > 0 {
					signals = random(bars.Len(), r)
				}
				v, holdout := judged(t, bars, signals, 8)
				if k == 0 {
					sharpes += *v.Figures.Test.Sharpe.Annualized
				}
				if z := WeakerZ(v.Figures.SharpeZ, v.Figures.AlphaZ); v.Finalist && *z > highest {
					best, highest = holdout, *z
				}
			}
			if !math.IsInf(highest, -1) && Confirm(best, 0, Rules{}).Claim {
				claimed++
			}
		}
		t.Logf("%s: claimed on %d of %d markets; the rule's mean Sharpe ratio on the test part is %.1f", c.name, claimed, markets,
			sharpes/float64(markets))
		if claimed < c.least || claimed > c.most {
			t.Errorf("%s: claimed on %d of %d markets, want %d to %d", c.name, claimed, markets, c.least, c.most)
		}
	}
}

// judged backtests signals on the parts of the bars: 40 % in sample, 30 % test,
// 30 % holdout. It judges the test part and returns the holdout beside it.
func judged(t *testing.T, bars *market.Bars, signals []backtest.Signal, trials int) (Verdict, Part) {
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
	return Judge(Case{Test: parts[1], InSample: &in, Trials: trials}, Rules{}), parts[2]
}

// reverting is short while the price is more than stretch standard deviations
// above its mean of the last bars, long while it is as far below, and else flat.
// The planted edge rewards it. An opposite signal closes a position.
func reverting(bars *market.Bars, stretch float64) []backtest.Signal {
	signals := make([]backtest.Signal, bars.Len())
	side := backtest.Hold
	for i := market.SynthWindow - 1; i < len(signals); i++ {
		s, err := measure(bars.Close[i+1-market.SynthWindow : i+1])
		if err != nil {
			continue
		}
		want := backtest.Hold
		switch z := (bars.Close[i] - s.mean) / s.deviation; {
		case z > stretch:
			want = backtest.Sell
		case z < -stretch:
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
