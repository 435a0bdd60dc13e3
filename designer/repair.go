package designer

import (
	"cmp"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/strategy"
)

// frame is what every design of a research must keep to.
type frame struct {
	brief    *Brief
	cost     instrument.Costs
	horizons []int // allowed ones, never empty
	pause    int   // least bars between trades
	room     int   // bars that a label may look ahead; 0 where it is unknown
}

// shareOfTest is the part of the bars that strategies are judged on: large,
// since a verdict needs more proof than a small network needs examples.
const (
	shareOfTrain      = 0.5
	shareOfValidation = 0.15
	shareOfTest       = 0.35
)

// newFrame works out the horizons: those of the style, not below what costs
// demand, not above what leaves room for enough trades. Costs win over both, but
// not over the validation part: samples whose label looks past its end are left
// out, and some must be left.
func newFrame(b *Brief, cost instrument.Costs) *frame {
	f := &frame{brief: b, cost: cost}
	floor := leastHorizon(b.Stats.Volatility, cost)
	low, high := max(b.Style.horizons()[0], floor), b.Style.horizons()[1]
	if trades := max(b.MinTrades, leastTrades); b.Stats.Bars > 0 {
		high = min(high, int(shareOfTest*float64(b.Stats.Bars))/trades)
	}
	for _, h := range horizons {
		if h >= low && h <= high {
			f.horizons = append(f.horizons, h)
		}
	}
	if f.horizons == nil {
		i, _ := slices.BinarySearch(horizons, floor)
		f.horizons = []int{horizons[min(i, len(horizons)-1)]}
	}
	if f.room = int(shareOfValidation*float64(b.Stats.Bars)) / 5; f.room > 0 {
		fits := slices.DeleteFunc(slices.Clone(f.horizons), func(h int) bool { return h > f.room })
		if f.horizons = fits; len(fits) == 0 {
			i, _ := slices.BinarySearch(horizons, f.room+1)
			f.horizons = []int{horizons[max(i-1, 0)]}
		}
	}
	if floor > 1 {
		f.pause = floor / 2
	}
	return f
}

// leastTrades is how many trades a design should be able to make in the test
// part, wished or not: fewer prove nothing.
const leastTrades = 30

// repair brings a genome within the ladders, the market and the brief. What it
// returns is written to a valid strategy, and repairing it again changes nothing.
func (f *frame) repair(g Genome) Genome {
	g = g.clone()
	f.repairInputs(&g)
	f.repairModel(&g)
	if !slices.Contains(labels, g.Label) {
		g.Label = strategy.TripleBarrier
	}
	g.Horizon = nearest(f.horizons, g.Horizon)
	if g.Width = snap(widths, g.Width); g.Label == strategy.ForwardReturn {
		g.Width = widths[0] // a return has no barriers
	}
	if g.Label == strategy.Zigzag && f.room > 0 && swing(&g) > f.room {
		g.Label = strategy.TripleBarrier
	}
	g.Caution = min(max(g.Caution, 0), len(confidences)-1)
	g.Pause = nearest(pauses, g.Pause)
	for _, p := range pauses {
		if g.Pause < f.pause && p > g.Pause {
			g.Pause = p
		}
	}
	g.Stop, g.Target = snap(stops, g.Stop), snap(targets, g.Target)
	g.Exit, g.Size = snap(exits, g.Exit), snap(sizes, g.Size)
	f.repairRisk(&g)
	if !slices.Contains(Families, g.Idea) {
		g.Idea = Reversion
		if r, ok := find(g.Inputs[0].Reading); ok {
			g.Idea = r.family
		}
	}
	return g
}

// swing is about how many bars a zigzag label looks ahead at most: a swing of
// twice the width takes four times its square, and a slow one twice as long.
func swing(g *Genome) int { return int(8 * g.Width * g.Width * float64(g.Horizon)) }

// repairRisk keeps to what the brief says about shorts and losses.
func (f *frame) repairRisk(g *Genome) {
	if f.brief.LongOnly {
		g.Short = false
	}
	if !g.Short {
		g.Flip = false
	}
	// A position of the whole equity loses about a fifth in a bad year of a currency; less of it loses less.
	if d := f.brief.MaxDrawdown; d > 0 {
		most := sizes[0]
		for _, s := range sizes {
			if s <= 5*d {
				most = s
			}
		}
		g.Size = min(g.Size, most)
		if g.Stop == 0 && d <= 0.1 {
			g.Stop = stops[len(stops)-1]
		}
	}
	const usualStop, usualTarget = 3, 1.5 // in volatilities over the horizon
	stop := f.brief.Stop
	stop.Use = stop.Use || f.brief.Risk > 0
	g.Stop, g.Target = stop.hold(g.Stop, usualStop), f.brief.Target.hold(g.Target, usualTarget)
	if f.brief.Risk > 0 {
		g.Size = sizes[len(sizes)-1] // the stop decides
	}
}

// repairInputs keeps readings that the market has values of and the brief does
// not mind, and puts one in when none is left.
func (f *frame) repairInputs(g *Genome) {
	kept := g.Inputs[:0]
	for _, x := range g.Inputs {
		r, known := find(x.Reading)
		if r.clock != nil {
			x.Frame = 0 // the calendar of longer bars is the same
		}
		if is, exists := f.inContext(&x); is && (!exists || r.clock != nil) {
			continue
		}
		x.Period = nearest(periods, x.Period)
		f.repairFrame(&x)
		if known {
			x.Period = r.window(x.Period)
		}
		if !known || !f.allowed(x) {
			continue
		}
		if r.raw || x.Partition != Each && !slices.Contains(partitions, x.Partition) {
			x.Partition = Raw
		}
		x.Partition = r.partition(x.Partition)
		kept = append(kept, x)
	}
	slices.SortStableFunc(kept, func(a, b Gene) int {
		return cmp.Or(cmp.Compare(a.Reading, b.Reading), cmp.Compare(a.Frame, b.Frame), cmp.Compare(a.Context, b.Context),
			cmp.Compare(a.Period, b.Period))
	})
	g.Inputs = slices.CompactFunc(kept, func(a, b Gene) bool { return a.Reading == b.Reading && a.Frame == b.Frame && a.Context == b.Context })
	if most := f.mostInputs(); len(g.Inputs) > most {
		g.Inputs = f.preferred(g.Inputs, most)
	}
	if len(g.Inputs) == 0 {
		g.Inputs = []Gene{f.anyGene()}
	}
}

// preferred keeps as many inputs as are allowed, wished ones first.
func (f *frame) preferred(list []Gene, most int) []Gene {
	wished := func(x Gene) bool { return slices.Contains(f.brief.Readings, x.Reading) }
	out := make([]Gene, 0, most)
	for _, want := range []bool{true, false} {
		for _, x := range list {
			if len(out) < most && wished(x) == want {
				out = append(out, x)
			}
		}
	}
	slices.SortFunc(out, func(a, b Gene) int {
		return cmp.Or(cmp.Compare(a.Reading, b.Reading), cmp.Compare(a.Frame, b.Frame), cmp.Compare(a.Context, b.Context))
	})
	return out
}

// anyGene is the first reading that is allowed; of a market in which none is, the first that has values.
func (f *frame) anyGene() Gene {
	for _, c := range f.brief.Stats.Columns {
		x := Gene{Reading: c.Name, Period: c.Period, Partition: Raw}
		if _, known := find(c.Name); known && f.allowed(x) {
			return x
		}
	}
	c := f.brief.Stats.Columns[0]
	return Gene{Reading: c.Name, Period: c.Period, Partition: Raw}
}

// allowed says that the market has values of the input, and the brief nothing against it.
func (f *frame) allowed(x Gene) bool {
	r, known := find(x.Reading)
	if !known || slices.Contains(f.brief.AvoidReadings, x.Reading) || slices.Contains(f.brief.AvoidFamilies, r.family) {
		return false
	}
	_, measured := f.statsOf(x).column(x.Reading, r.window(x.Period))
	return measured
}

func (f *frame) mostInputs() int {
	if f.brief.Simple {
		return simpleInputs
	}
	return mostInputs
}

// repairModel keeps the network small and of a kind the brief allows. Genes
// that the kind does not use are zero, so that one design is one genome.
func (f *frame) repairModel(g *Genome) {
	if !slices.Contains(f.models(), g.Model) {
		g.Model = f.models()[0]
	}
	if !slices.ContainsFunc(layers, func(l []int) bool { return slices.Equal(l, g.Hidden) }) {
		g.Hidden = slices.Clone(layers[2])
	}
	if f.brief.Simple && len(g.Hidden) > 1 {
		g.Hidden = slices.Clone(layers[0])
	}
	g.Sequence = nearest(sequences, g.Sequence)
	if g.Model == strategy.MLP {
		g.Sequence = 0
	} else {
		g.Hidden = []int{min(g.Hidden[0], 16)}
	}
	g.Dropout, g.Rate, g.Decay = snap(dropouts, g.Dropout), snap(rates, g.Rate), snap(decays, g.Decay)
	g.Epochs, g.Batch = nearest(epochs, g.Epochs), nearest(batches, g.Batch)
}

// models are the kinds of network that designs may use, the best first: those wished for,
// else the quickest. A recurrent one costs many times as much and is not used unasked.
func (f *frame) models() []strategy.ModelType {
	if len(f.brief.Models) > 0 {
		return f.brief.Models
	}
	return []strategy.ModelType{strategy.MLP}
}

// snap is nearest for numbers that may be none.
func snap(ladder []float64, x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ladder[len(ladder)/2]
	}
	return nearest(ladder, x)
}

// worthwhile is how many round trips a typical move must pay for. What a model
// foresees is a small part of a move; where the whole move hardly covers the
// cost, no part of it does.
const worthwhile = 3

// leastHorizon is the shortest horizon, in bars, over which a market of this
// volatility moves enough to be worth a trade: moves grow with the root of time.
func leastHorizon(volatility float64, cost instrument.Costs) int {
	need := worthwhile * 2 * cost.PerSide() / volatility
	h := math.Ceil(float64(need * need))
	return int(min(max(h, 1), float64(horizons[len(horizons)-1])))
}
