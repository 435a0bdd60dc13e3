package designer

import (
	"cmp"
	"slices"
)

// knowledge is what earlier experiments say of families and readings: the mean score
// of those that had them, drawn towards 0 where they are few.
type knowledge struct {
	families map[Family]tally
	readings map[string]tally
}

type tally struct{ sum, weight float64 }

// Of an experiment on another market half is believed. Doubt is how many experiments
// of score 0 are added to each mean.
const (
	elsewhere = 0.5
	doubt     = 4
)

func (t tally) add(score, weight float64) tally {
	return tally{t.sum + float64(score*weight), t.weight + weight}
}

func (t tally) mean() float64 { return t.sum / (t.weight + doubt) }

func (m *memory) learn() {
	m.known = knowledge{map[Family]tally{}, map[string]tally{}}
	for i := range m.parents { // in their order: sums of numbers depend on it
		k := &m.parents[i]
		if k.Outcome.Sharpe == nil {
			continue // it was never measured
		}
		weight, score := 1.0, max(-2, min(2, k.score))
		if k.Elsewhere {
			weight = elsewhere
		}
		m.known.families[k.genome.Idea] = m.known.families[k.genome.Idea].add(score, weight)
		for _, x := range k.genome.Inputs {
			m.known.readings[x.Reading] = m.known.readings[x.Reading].add(score, weight)
		}
	}
}

// worth is what is expected of an archetype.
func (k knowledge) worth(a *archetype) float64 {
	sum := 0.0
	for _, x := range a.readings {
		sum += k.readings[x.reading].mean()
	}
	return k.families[a.idea].mean() + sum/float64(max(1, len(a.readings)))
}

// ordered is a list of archetypes, those first of which more is expected. Without
// earlier experiments it stays as it is.
func (k knowledge) ordered(list []archetype) []archetype {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b archetype) int { return cmp.Compare(k.worth(&b), k.worth(&a)) })
	return list
}
