package designer

import (
	"cmp"
	"slices"

	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

type archetype struct {
	name     string
	idea     Family
	readings []input
	label    strategy.LabelSource
	horizon  int
	target   float64
	exit     float64
	caution  int // as in a genome; 0 is read as 1, the usual one
	context  int // of its readings, as in a gene
}

// input is one of an archetype's, at the bars at which decisions are made.
type input struct {
	reading   string
	period    int
	partition Partition
}

// archetypes are the first generation, in this order. One reading is enough to see
// a simple effect, and a small network learns it from fewer bars than it needs for
// three; the window, the horizon and the exit are what an effect differs by, so these
// are spread. Which way to trade, the network learns: the same design finds that
// stretched prices come back, and that they move on.
//
// Triple barriers stand behind. Their third class is rare, and weighing it like the
// others leaves a network that trades on noise.
var archetypes = []archetype{
	{
		name: "stretched prices come back", idea: Reversion, label: strategy.Context, horizon: 8,
		readings: []input{{"distance", 48, Tails}},
	},
	{name: "trends continue", idea: Trend, label: strategy.Context, horizon: 12, readings: []input{{"ema_distance", 96, Thirds}}},
	{name: "what moved moves on", idea: Momentum, label: strategy.Context, horizon: 4, readings: []input{{"roc", 12, Tails}}},
	{
		name: "the hour of the day decides", idea: Calendar, label: strategy.ForwardReturn, horizon: 4, exit: 0.5,
		readings: []input{{"hour", 0, Each}},
	},
	{
		name: "turmoil overshoots", idea: Volatility, label: strategy.ForwardReturn, horizon: 4, exit: 0.5,
		readings: []input{{"atr", 24, Raw}, {"distance", 48, Raw}},
	},
	{
		name: "short swings overshoot", idea: Reversion, label: strategy.Context, horizon: 6, exit: 1,
		readings: []input{{"rsi", 12, Tails}},
	},
	{
		name: "the place in the range decides", idea: Breakout, label: strategy.Context, horizon: 16,
		readings: []input{{"williams", 96, Thirds}},
	},
	{
		name: "the distance from the mean of days decides", idea: Trend, label: strategy.Context, horizon: 24, exit: 1,
		readings: []input{{"distance", 96, Thirds}, {"aroon", 96, Raw}},
	},
	{
		name: "bursts in turmoil move on", idea: Momentum, label: strategy.ForwardReturn, horizon: 4, exit: 0.5,
		readings: []input{{"atr", 24, Raw}, {"roc", 12, Raw}},
	},
	{
		name: "oscillators turn at their extremes", idea: Reversion, label: strategy.Context, horizon: 8, target: 1,
		readings: []input{{"stochastic", 48, Tails}, {"bandwidth", 24, Raw}},
	},
	{
		name: "volume tells who means it", idea: Volume, label: strategy.Context, horizon: 8,
		readings: []input{{"mfi", 24, Thirds}, {"volume_ratio", 24, Raw}},
	},
	{
		name: "narrow ranges break", idea: Breakout, label: strategy.Context, horizon: 24,
		readings: []input{{"squeeze", 24, Thirds}, {"williams", 48, Tails}},
	},
	{
		name: "sessions trade in their own way", idea: Calendar, label: strategy.Context, horizon: 4,
		readings: []input{{"session", 0, Raw}, {"since_open", 8, Thirds}, {"roc", 8, Thirds}},
	},
	{
		name: "calm and turmoil want different trades", idea: Volatility, label: strategy.Context, horizon: 16, exit: 1,
		readings: []input{{"bandwidth", 36, Thirds}, {"fisher", 36, Thirds}},
	},
	{
		name: "direction is what the moves agree on", idea: Trend, label: strategy.Context, horizon: 24,
		readings: []input{{"plus_di", 24, Raw}, {"minus_di", 24, Raw}},
	},
	{
		name: "days of the week differ", idea: Calendar, label: strategy.Context, horizon: 12,
		readings: []input{{"weekday", 0, Each}, {"hour", 0, Raw}},
	},
	{name: "buying and selling press", idea: Volume, label: strategy.Context, horizon: 16, readings: []input{{"cmf", 48, Thirds}}},
	{
		name: "barriers tell who wins", idea: Reversion, label: strategy.TripleBarrier, horizon: 12,
		readings: []input{{"cci", 24, Thirds}, {"rsi", 24, Raw}},
	},
}

// mostWishes is how many of the first designs a brief without a family may claim:
// the others tell whether the wish was a good idea.
const mostWishes = 4

// wishes are the designs that a brief asks for: of the readings that it names, and
// the archetypes of its families.
func wishes(b *Brief, all []archetype) (list []archetype) {
	if len(b.Context) > 0 {
		list = append(list, leads...)
	}
	if len(b.Readings) > 0 {
		list = append(list, archetypeOf(b, b.Readings, strategy.Context, 8), archetypeOf(b, b.Readings, strategy.ForwardReturn, 12))
	}
	for _, f := range b.Families {
		for _, a := range all {
			if a.idea == f {
				list = append(list, a)
			}
		}
	}
	return list
}

// archetypeOf makes one of the readings that a brief names; the second of them
// gets a companion, so that the two are not alike.
func archetypeOf(b *Brief, names []string, source strategy.LabelSource, horizon int) archetype {
	a := archetype{name: "what the goal names", idea: Reversion, label: source, horizon: horizon}
	for i, name := range names[:min(len(names), mostInputs-1)] {
		r, ok := find(name)
		if !ok {
			continue
		}
		if i == 0 {
			a.idea = r.family
		}
		a.readings = append(a.readings, input{name, 24, Tails})
	}
	if source == strategy.ForwardReturn {
		a.name += ", with its volatility"
		a.readings = append(a.readings, input{"bandwidth", 36, Raw})
	}
	if len(b.Families) > 0 {
		a.idea = b.Families[0]
	}
	return a
}

// first is the design of generation 0 at an index: the archetype of that
// index, and beyond them any archetype, changed the more.
func (f *frame) first(m *memory, index int, r *num.Rand) (Genome, string) {
	list := f.beginnings(m)
	if len(f.brief.Families) > 0 {
		return f.firstOf(list, index, r)
	}
	wished := wishes(f.brief, list)
	return f.begin(append(wished[:min(len(wished), mostWishes)], list...), index, index, r)
}

// beginnings are the first designs: hints and archetypes in turn. An archetype may find
// an edge that the bars before the test part do not show.
func (f *frame) beginnings(m *memory) (list []archetype) {
	rest := m.known.ordered(archetypes)
	for i := range f.brief.Hints {
		list = append(list, f.fromHint(i))
		if len(rest) > 0 {
			list, rest = append(list, rest[0]), rest[1:]
		}
	}
	return append(list, rest...)
}

// begin is the design of a list at a place.
func (f *frame) begin(list []archetype, place, index int, r *num.Rand) (Genome, string) {
	strength, a := 0, archetype{}
	if place < len(list) {
		a = list[place]
	} else {
		a = list[pick(r, len(list))]
		strength = 4
	}
	g := f.seed(a, index, r)
	f.lead(&g, index)
	for range strength {
		f.mutate(&g, r)
	}
	return f.repair(g), a.name
}

// seed makes the genome of an archetype. The first designs of a run have its windows;
// those of a larger generation are spread around them.
func (f *frame) seed(a archetype, index int, r *num.Rand) Genome {
	shift := 0
	if index >= len(archetypes) {
		shift = pick(r, 5) - 2
	}
	g := Genome{
		Idea: a.idea, Label: a.label, Horizon: a.horizon, Width: 0.75, Model: f.models()[index%len(f.models())],
		Hidden: slices.Clone(layers[2]), Sequence: 8, Dropout: 0.1, Rate: 0.003, Decay: 0.0001, Epochs: 15, Batch: 256,
		Caution: 1, Short: true, Flip: true, Target: a.target, Exit: a.exit, Size: 0.5,
	}
	if a.label == strategy.Context {
		g.Width = 0.4 // about a third of the moves end above it, and a third below its negative
	}
	g.Caution = cmp.Or(a.caution, g.Caution)
	for _, x := range a.readings {
		g.Inputs = append(g.Inputs, Gene{
			Reading: x.reading, Period: step(periods, x.period, shift), Partition: x.partition, Context: a.context,
		})
	}
	f.lengthen(&g, index, r)
	return g
}

// lengthen gives two designs of three an input of a longer timeframe, where the
// brief names one: one of their own inputs, read at longer bars as well. The third
// shows whether that helps.
func (f *frame) lengthen(g *Genome, index int, r *num.Rand) {
	if len(f.brief.Longer) == 0 || index%3 == 2 || len(g.Inputs) == 0 {
		return
	}
	i, to := pick(r, len(g.Inputs)), 1+pick(r, len(f.brief.Longer))
	if len(g.Inputs) >= f.mostInputs() {
		g.Inputs[i].Frame = to
		return
	}
	x := g.Inputs[i]
	x.Frame = to
	g.Inputs = append(g.Inputs, x)
}

func pick(r *num.Rand, n int) int { return int(r.Uint64n(uint64(n))) }

// step goes a number of rungs up or down a ladder, not beyond its ends.
func step[T int | float64](ladder []T, from T, by int) T {
	i := slices.Index(ladder, nearest(ladder, from))
	return ladder[min(max(i+by, 0), len(ladder)-1)]
}

// A goal that names a family ("trend") gets it in at least half of its designs:
// those with an even index. The others show whether the wish was a good idea.

// due says whether the design at an index must be of a family that the brief names.
func (f *frame) due(index int) bool { return len(f.brief.Families) > 0 && index%2 == 0 }

// firstOf is the first design at an index for a brief that names families: of those
// where it is due, and else of the others.
func (f *frame) firstOf(all []archetype, index int, r *num.Rand) (Genome, string) {
	list := wishes(f.brief, all)
	if !f.due(index) {
		list = slices.DeleteFunc(slices.Clone(all), func(a archetype) bool { return slices.Contains(f.brief.Families, a.idea) })
		if len(list) == 0 {
			list = all
		}
	}
	return f.begin(list, index/2, index, r)
}

// stranger is the place of an archetype whose family was tried the least, of three
// drawn at random. It is due where the index is.
func (f *frame) stranger(m *memory, index int, r *num.Rand) int {
	list, best := f.beginnings(m), -1
	for range 3 {
		at := pick(r, len(list))
		if best < 0 || m.known.families[list[at].idea].weight < m.known.families[list[best].idea].weight {
			best = at
		}
	}
	if len(f.brief.Families) > 0 {
		best = 2*best + index%2
	}
	return best
}

// shifted is a place further on, so that generations begin with different ones.
func (f *frame) shifted(index, by int) int {
	if len(f.brief.Families) > 0 {
		by *= 2
	}
	return index + by
}

// ofFamily leaves the parents of the named families where such a design is due.
func (f *frame) ofFamily(pool []known, index int) []known {
	if !f.due(index) {
		return pool
	}
	return slices.DeleteFunc(slices.Clone(pool), func(k known) bool { return !slices.Contains(f.brief.Families, k.genome.Idea) })
}

// keepFamily gives a design that is due a reading of its family, if it has lost all
// of them: the name alone is no trend.
func (f *frame) keepFamily(g Genome, index int, r *num.Rand) Genome {
	own := func(x Gene) bool {
		r, _ := find(x.Reading)
		return r.family == g.Idea || g.Idea == LeadLag && x.Context > 0
	}
	if !f.due(index) || slices.ContainsFunc(g.Inputs, own) {
		return g
	}
	var list []Gene
	for _, x := range readings {
		if one := (Gene{Reading: x.name, Period: 24, Partition: Thirds}); x.family == g.Idea && f.allowed(one) {
			list = append(list, one)
		}
	}
	if g.Idea == LeadLag && len(f.brief.Context) > 0 {
		list = append(list, Gene{Reading: leadReadings[0].name, Period: 24, Partition: Raw, Context: 1})
	}
	if len(list) == 0 {
		return g
	}
	if x := list[pick(r, len(list))]; len(g.Inputs) < f.mostInputs() {
		g.Inputs = append(g.Inputs, x)
	} else {
		g.Inputs[len(g.Inputs)-1] = x
	}
	return f.repair(g)
}
