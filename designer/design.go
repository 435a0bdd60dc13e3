package designer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// Proposal is a strategy worth trying, and why.
type Proposal struct {
	Name       string `json:"name"`
	Strategy   string `json:"strategy"` // YAML, with everything spelled out
	Key        string `json:"key"`      // identifies what the strategy means, whatever its name
	Genome     Genome `json:"genome"`
	Hypothesis string `json:"hypothesis"` // what would be true if it worked
	Notes      string `json:"notes"`      // where the design comes from

	From   string   `json:"from,omitempty"`   // source of the experiment that it is a child of
	Lesson []string `json:"lesson,omitempty"` // codes of what that one taught it
}

type origin struct {
	notes []string
	from  string
	codes []string // of the lesson
}

// How parents are chosen.
const (
	stagnantAfter = 3 // generations without a better design, until half of the next ones are strangers
	rivals        = 6 // that a parent must beat
	rarely        = 8 // one design in eight is a stranger
)

const mostAttempts = 200

// Design proposes the strategy at a place of a run: the index'th of a
// generation. past holds the experiments that the generation may know, in any
// order: those of earlier generations of the run, no two of which share a
// place, and those of earlier runs.
//
// The same arguments give the same proposal. Its key differs from all of past, and up
// to 64 designs of one generation differ from each other. It refuses a brief
// without a market, and costs that are no rates.
func Design(b Brief, seed uint64, generation, index int, past []Experiment, cost instrument.Costs) (Proposal, error) {
	if err := checkPlace(&b, generation, index, cost); err != nil {
		return Proposal{}, err
	}
	f := newFrame(&b, cost)
	r := num.NewRand(num.Mix(seed, 0x64657369676e, uint64(generation), uint64(index)))
	m := f.recall(past)
	g, from := f.breed(&m, generation, index, r)
	for attempt := range mostAttempts {
		g = f.mark(f.keepFamily(f.repair(g), index, r), index, r)
		s, key, err := f.write(&g, f.hypothesis(&g))
		if err != nil {
			return Proposal{}, err
		}
		if !m.keys[key] {
			return Proposal{
				Name: s.Name, Strategy: string(s.YAML()), Key: key, Genome: g,
				Hypothesis: f.hypothesis(&g), Notes: f.annotate(from.notes, attempt), From: from.from, Lesson: from.codes,
			}, nil
		}
		for range 1 + attempt/8 { // the longer it takes, the further from where it began
			f.mutate(&g, r)
		}
	}
	return Proposal{}, fmt.Errorf("no design of generation %d at index %d that memory does not have was found in %d attempts: widen the goal",
		generation, index, mostAttempts)
}

func checkPlace(b *Brief, generation, index int, cost instrument.Costs) error {
	if generation < 0 || index < 0 {
		return fmt.Errorf("generation %d, index %d: both count from 0", generation, index)
	}
	if len(b.Symbols) == 0 || b.Timeframe == "" {
		return errors.New("the goal names no data to research: import some bars, or make a synthetic market")
	}
	if _, err := market.ParseTimeframe(string(b.Timeframe)); err != nil {
		return fmt.Errorf("the goal's timeframe: %w", err)
	}
	for _, m := range b.Models {
		if m != strategy.MLP && m != strategy.LSTM && m != strategy.GRU {
			return fmt.Errorf("the goal wants a network of the kind %q; there is mlp, lstm and gru", m)
		}
	}
	if err := errors.Join(b.Stats.check(), b.checkLonger(), b.checkContext()); err != nil {
		return err
	}
	return cost.Validate()
}

// breed makes the genome: a new one in the first generation, but for children of
// earlier runs, and now and then later; else a child of the archive.
func (f *frame) breed(m *memory, generation, index int, r *num.Rand) (Genome, origin) {
	fresh := func(at int, why string) (Genome, origin) {
		g, name := f.first(m, at, r)
		return g, origin{notes: []string{fmt.Sprintf("%s: %s.", why, name)}}
	}
	if generation == 0 {
		// Every second one starts from earlier runs, also when each run is a
		// single research; the others keep the beginning wide.
		earlier := slices.DeleteFunc(slices.Clone(m.parents), func(k known) bool { return !k.Earlier })
		if earlier = f.ofFamily(earlier, index); (index+len(earlier))%2 == 1 && len(earlier) > 0 {
			return f.child(elites(earlier), r)
		}
		return fresh(index, "A beginning")
	}
	pool := elites(f.ofFamily(m.parents, index))
	switch {
	case len(pool) == 0:
		return fresh(f.shifted(index, generation), "A beginning, as there is nothing to learn from yet")
	case m.stagnant(generation) && index%4 > 1:
		return fresh(f.stranger(m, index, r), fmt.Sprintf("No better design for %d generations: a stranger", stagnantAfter))
	case pick(r, rarely) == 0:
		return fresh(f.stranger(m, index, r), "A stranger, so that the designs do not grow alike")
	}
	return f.child(pool, r)
}

// child makes a design of one or two parents that won their tournaments.
func (f *frame) child(pool []elite, r *num.Rand) (Genome, origin) {
	a := tournament(pool, r)
	g := a.genome.clone()
	from := origin{from: a.Source, notes: []string{fmt.Sprintf("From %s (score %.2f), the best of its cell: %s.", a.label(), a.score, a.cell)}}
	if b := tournament(pool, r); pick(r, 2) == 0 && b.genome.fingerprint() != a.genome.fingerprint() {
		g = cross(a.genome, b.genome, r)
		from.notes = append(from.notes, fmt.Sprintf("Crossed with %s (score %.2f).", b.label(), b.score))
	}
	if l := a.lesson(); l != nil && pick(r, 10) < 7 {
		l.apply(f, &g, r)
		from.codes = l.codes
		from.notes = append(from.notes, fmt.Sprintf("Lesson: %s.", l.why))
	}
	n := 1 + pick(r, 2)
	for range n {
		f.mutate(&g, r)
	}
	from.notes = append(from.notes, fmt.Sprintf("Mutated in %d place(s).", n))
	return g, from
}

func (k *known) label() string {
	return fmt.Sprintf("generation %d, index %d (%s)", k.Generation, k.Index, k.genome.Idea)
}

// tournament is the most rewarded of a few drawn at random; of equals the earliest.
func tournament(pool []elite, r *num.Rand) *elite {
	best := &pool[pick(r, len(pool))]
	for range rivals - 1 {
		if k := &pool[pick(r, len(pool))]; k.reward > best.reward {
			best = k
		}
	}
	return best
}

// stagnant says that the best design of the run is generations old.
func (m *memory) stagnant(generation int) bool {
	best, at := 0.0, -1
	for _, k := range m.parents {
		if !k.Earlier && (at < 0 || k.score > best) {
			best, at = k.score, k.Generation
		}
	}
	return at >= 0 && generation-1-at >= stagnantAfter
}

func (f *frame) hypothesis(g *Genome) string {
	names := make([]string, len(g.Inputs))
	for i, x := range g.Inputs {
		names[i] = fmt.Sprintf("%s over %d", x.Reading, x.Period)
		if r, _ := find(x.Reading); r.clock != nil {
			names[i] = "the " + r.title()
		}
		if x.Context > 0 {
			names[i] += " of " + f.brief.Context[x.Context-1]
		}
		if x.Frame > 0 {
			names[i] += fmt.Sprintf(" bars of %s", f.timeframe(x.Frame))
		}
	}
	sides := "buys and sells short"
	if !g.Short {
		sides = "only buys"
	}
	return fmt.Sprintf("%s: what %s says about the next %d bars of %s %s is worth more than it costs; the strategy %s.",
		strings.ToUpper(string(g.Idea[:1]))+string(g.Idea[1:]), strings.Join(names, ", "), g.Horizon,
		strings.Join(f.brief.Symbols, ", "), f.brief.Timeframe, sides)
}

// annotate adds what limited the design.
func (f *frame) annotate(notes []string, attempts int) string {
	if floor := leastHorizon(f.brief.Stats.Volatility, f.cost); floor > 1 {
		notes = append(notes, fmt.Sprintf("At %.3g %% a side, horizons below %d bars do not pay.", 100*f.cost.PerSide(), floor))
	}
	if attempts > 0 {
		notes = append(notes, fmt.Sprintf("Changed %d time(s) more, as memory had it already.", attempts))
	}
	return strings.Join(notes, " ")
}
