package designer

import (
	"slices"

	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// mutation is a small change. Those that matter more stand in the table more than once.
type mutation func(f *frame, g *Genome, r *num.Rand)

var mutations = []mutation{
	changePeriod, changePeriod, changePeriod,
	changeReading, addReading, dropReading,
	changePartition, changePartition,
	changeHorizon, changeHorizon,
	changeLabel,
	changeWidth,
	changeCaution, changeCaution,
	changeExits,
	changeExit, changeExit,
	changeNetwork,
	changeSide,
	changePause,
}

// multiframe are the mutations of a research with longer timeframes. Without them
// the table is the shorter one, whose draws stay as they are.
var multiframe = append(slices.Clone(mutations), changeFrame, changeFrame)

func (f *frame) mutate(g *Genome, r *num.Rand) {
	if len(g.Inputs) == 0 {
		g.Inputs = append(g.Inputs, f.anyGene())
	}
	table := mutations
	if len(f.brief.Longer) > 0 {
		table = multiframe
	}
	table = f.withContext(table)
	table[pick(r, len(table))](f, g, r)
}

func sign(r *num.Rand) int { return 1 - 2*pick(r, 2) }

func changePeriod(_ *frame, g *Genome, r *num.Rand) {
	x := &g.Inputs[pick(r, len(g.Inputs))]
	x.Period = step(periods, x.Period, sign(r)*(1+pick(r, 2)))
}

func changeReading(_ *frame, g *Genome, r *num.Rand) {
	x := &g.Inputs[pick(r, len(g.Inputs))]
	x.Reading = readings[pick(r, len(readings))].name
}

func addReading(f *frame, g *Genome, r *num.Rand) {
	if len(g.Inputs) >= f.mostInputs() {
		changeReading(f, g, r)
		return
	}
	g.Inputs = append(g.Inputs, Gene{
		Reading: readings[pick(r, len(readings))].name, Period: periods[pick(r, len(periods))], Partition: partitions[pick(r, len(partitions))],
		Frame: f.anyFrame(r),
	})
}

// changeFrame reads an input at other bars.
func changeFrame(f *frame, g *Genome, r *num.Rand) {
	g.Inputs[pick(r, len(g.Inputs))].Frame = f.anyFrame(r)
}

// anyFrame is one of the timeframes. Where there is one, nothing is drawn.
func (f *frame) anyFrame(r *num.Rand) int {
	if len(f.brief.Longer) == 0 {
		return 0
	}
	return pick(r, len(f.brief.Longer)+1)
}

func dropReading(f *frame, g *Genome, r *num.Rand) {
	if len(g.Inputs) == 1 {
		changePeriod(f, g, r)
		return
	}
	i := pick(r, len(g.Inputs))
	g.Inputs = slices.Delete(g.Inputs, i, i+1)
}

func changePartition(_ *frame, g *Genome, r *num.Rand) {
	g.Inputs[pick(r, len(g.Inputs))].Partition = partitions[pick(r, len(partitions))]
}

func changeHorizon(f *frame, g *Genome, r *num.Rand) {
	g.Horizon = step(f.horizons, g.Horizon, sign(r))
}

func changeLabel(_ *frame, g *Genome, r *num.Rand) {
	g.Label = drawn[pick(r, len(drawn))]
	if g.Label == strategy.Context {
		g.Width = 0.4
	}
}

func changeWidth(_ *frame, g *Genome, r *num.Rand) { g.Width = step(widths, g.Width, sign(r)) }

func changeCaution(_ *frame, g *Genome, r *num.Rand) { g.Caution += sign(r) }

func changeExits(_ *frame, g *Genome, r *num.Rand) {
	if pick(r, 2) == 0 {
		g.Stop = stops[pick(r, len(stops))]
	} else {
		g.Target = targets[pick(r, len(targets))]
	}
}

func changeNetwork(f *frame, g *Genome, r *num.Rand) {
	g.Hidden = slices.Clone(layers[pick(r, len(layers))])
	g.Model = f.models()[pick(r, len(f.models()))]
	g.Sequence = sequences[pick(r, len(sequences))]
	g.Epochs, g.Batch = epochs[pick(r, len(epochs))], batches[pick(r, len(batches))]
}

func changeExit(_ *frame, g *Genome, r *num.Rand) { g.Exit = exits[pick(r, len(exits))] }

func changeSide(_ *frame, g *Genome, r *num.Rand) {
	if pick(r, 2) == 0 {
		g.Short = !g.Short
	} else {
		g.Flip = !g.Flip
	}
	g.Size = sizes[pick(r, len(sizes))]
}

func changePause(_ *frame, g *Genome, r *num.Rand) { g.Pause = step(pauses, g.Pause, sign(r)) }

// cross makes a child of two designs: most inputs of the first and some of the
// second, and of each other group of genes that belong together, either's.
func cross(a, b Genome, r *num.Rand) Genome {
	child, other := a.clone(), b.clone()
	child.Inputs = slices.DeleteFunc(child.Inputs, func(Gene) bool { return pick(r, 5) == 0 })
	for _, x := range other.Inputs {
		if pick(r, 3) == 0 && len(child.Inputs) < mostInputs && !child.hasLike(x) {
			child.Inputs = append(child.Inputs, x)
		}
	}
	if len(child.Inputs) == 0 {
		child.Inputs = slices.Clone(a.Inputs)
	}
	if pick(r, 2) == 0 {
		child.Label, child.Horizon, child.Width = other.Label, other.Horizon, other.Width
	}
	if pick(r, 2) == 0 {
		child.Model, child.Hidden, child.Sequence = other.Model, other.Hidden, other.Sequence
		child.Epochs, child.Batch = other.Epochs, other.Batch
	}
	if pick(r, 2) == 0 {
		child.Caution, child.Pause = other.Caution, other.Pause
	}
	if pick(r, 2) == 0 {
		child.Short, child.Flip, child.Size = other.Short, other.Flip, other.Size
		child.Stop, child.Target, child.Exit = other.Stop, other.Target, other.Exit
	}
	return child
}

// siblings is how many designs of one generation are certain to differ.
const siblings = 64

// even are the rates between which a training hardly differs.
var even = rates[3:]

// mark makes designs of one generation differ although none knows the others:
// the fingerprint of a genome leaves the index as its remainder, and two indexes
// have two remainders. Only genes that hardly matter are turned to get there.
func (f *frame) mark(g Genome, index int, r *num.Rand) Genome {
	want := uint64(index % siblings)
	for try := 0; g.fingerprint()%siblings != want; try++ {
		g.Rate, g.Decay, g.Dropout = even[pick(r, len(even))], decays[pick(r, len(decays))], dropouts[pick(r, len(dropouts)/2+1)]
		if try > 8*siblings { // those three alone do not get there
			g.Epochs, g.Batch = epochs[pick(r, len(epochs))], batches[pick(r, len(batches))]
		}
		if try > 100*siblings {
			break
		}
	}
	return g
}
