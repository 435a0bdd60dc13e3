package designer_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// demoEdge is the strength of the planted edge at which an oracle that trades
// it to the bar has a Sharpe ratio of about 3 after half a basis point a side.
const demoEdge = 0.10

var halfABasisPoint = instrument.Costs{Commission: 0.00005}

// research trains a proposal and trades it on the test part.
func research(t *testing.T, p designer.Proposal, b *market.Bars, seed uint64) designer.Outcome {
	t.Helper()
	s, _, err := strategy.Parse([]byte(p.Strategy), p.Name)
	if err != nil {
		t.Fatal(err)
	}
	data := train.Series{Symbol: b.Symbol, Bars: []*market.Bars{b}}
	ds, _, err := train.Prepare(s, []train.Series{data}, train.Options{})
	if err != nil {
		return designer.Outcome{Failed: true, Reasons: []designer.Refusal{{Code: "label_mix"}}}
	}
	run, err := train.Start(ds, s, seed, neural.Best())
	if err != nil {
		t.Fatal(err)
	}
	for !run.Done() {
		if err := run.Epoch(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	model, figures, err := run.Finish()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := train.NewPlan(model, data, strategy.Span{Start: time.Unix(ds.Split.Test, 0).UTC()}, backtest.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := backtest.Backtest(plan.Bars, plan.Signals.Signal, plan.Config)
	if err != nil {
		t.Fatal(err)
	}
	m := result.Metrics
	return designer.Outcome{
		Sharpe: m.Sharpe, Trades: m.TotalTrades, Collapsed: figures.Test.Collapsed, Drawdown: m.MaxDrawdownPct / 100,
	}
}

// sharpesOf runs generations of eight in a market, and gives every net Sharpe
// ratio in order.
func sharpesOf(t *testing.T, edge float64, bars int, seed uint64, generations int) []float64 {
	t.Helper()
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: bars, Seed: seed, Edge: edge})
	return searched(t, b, "Find something that works on EURUSD.", fmt.Sprintf("edge %.2f market %d", edge, seed), seed, generations)
}

// searched runs the search on bars.
func searched(t *testing.T, b *market.Bars, goal, title string, seed uint64, generations int) []float64 {
	t.Helper()
	brief := designer.Chosen{}.Read(goal,
		designer.Known{Series: []designer.KnownSeries{{Symbol: "EURUSD", Timeframe: market.H1, Bars: b.Len()}}})
	var err error
	if brief.Stats, err = designer.Measure(b); err != nil {
		t.Fatal(err)
	}
	var past []designer.Experiment
	var out []float64
	for g := range generations {
		var tried []designer.Experiment
		for i := range 8 {
			p, err := designer.Design(brief, seed, g, i, past, halfABasisPoint)
			if err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			o := research(t, p, b, num.Mix(seed, uint64(8*g+i)))
			sharpe := 0.0 // without a trade it is 0
			if o.Sharpe != nil {
				sharpe = *o.Sharpe
			}
			t.Logf("%s: generation %d.%d %-28s %-15s h %3d: net Sharpe %5.2f, %4d trades, collapsed %v, %v", title, g, i,
				p.Name, p.Genome.Label, p.Genome.Horizon, sharpe, o.Trades, o.Collapsed, time.Since(started).Round(time.Millisecond))
			out = append(out, sharpe)
			tried = append(tried, designer.Experiment{Generation: g, Index: i, Key: p.Key, Genome: &p.Genome, Outcome: o})
		}
		past = append(past, tried...)
	}
	return out
}

// TestDesign_FindsAPlantedEdgeInTwoGenerations runs sixteen designs in markets
// whose seeds were chosen beforehand.
func TestDesign_FindsAPlantedEdgeInTwoGenerations(t *testing.T) {
	for _, seed := range []uint64{1, 2} {
		sharpes := sharpesOf(t, demoEdge, 20_000, seed, 2)
		if best := slices.Max(sharpes); best < 1.3 {
			t.Errorf("market %d: the best of %d designs has a net Sharpe ratio of %.2f out of sample, want 1.3 or more", seed, len(sharpes), best)
		}
		if m := mean(sharpes); m < 0.4 {
			t.Errorf("market %d: designs have a mean net Sharpe ratio of %.2f; the edge is not what they live on", seed, m)
		}
	}
}

// TestDesign_FindsNothingWhereThereIsNothing is the same without an edge. Of
// sixteen Sharpe ratios over a bit more than a year, chance gives the best
// about 1.6.
func TestDesign_FindsNothingWhereThereIsNothing(t *testing.T) {
	for _, seed := range []uint64{1, 2} {
		sharpes := sharpesOf(t, 0, 20_000, seed, 2)
		if m := mean(sharpes); m > 0.3 {
			t.Errorf("market %d: designs earn a mean net Sharpe ratio of %.2f where there is nothing to earn", seed, m)
		}
		if best := slices.Max(sharpes); best > 2 {
			t.Errorf("market %d: a design earns %.2f where there is nothing to earn", seed, best)
		}
	}
}

func mean(x []float64) float64 { return num.Sum(x) / float64(len(x)) }

func BenchmarkMeasure(b *testing.B) {
	bars := market.Synth(market.SynthConfig{Bars: 20000, Seed: 1})
	for b.Loop() {
		if _, err := designer.Measure(bars); err != nil {
			b.Fatal(err)
		}
	}
}
