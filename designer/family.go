package designer

import (
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// A goal that names a family ("trend") gets it in at least half of its designs:
// those with an even index. The others show whether the wish was a good idea.

// due says whether the design at an index must be of a family that the brief names.
func (f *frame) due(index int) bool { return len(f.brief.Families) > 0 && index%2 == 0 }

// firstOf is the first design at an index for a brief that names families: of those
// where it is due, and else of the others.
func (f *frame) firstOf(index int, r *num.Rand) (Genome, string) {
	list := wishes(f.brief)
	if !f.due(index) {
		list = slices.DeleteFunc(slices.Clone(archetypes), func(a archetype) bool { return slices.Contains(f.brief.Families, a.idea) })
		if len(list) == 0 {
			list = archetypes
		}
	}
	return f.begin(list, index/2, index, r)
}

// any is the place of some archetype. It is due where the index is.
func (f *frame) any(index int, r *num.Rand) int {
	at := pick(r, len(archetypes))
	if len(f.brief.Families) > 0 {
		at = 2*at + index%2
	}
	return at
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
	own := func(x Gene) bool { r, _ := find(x.Reading); return r.family == g.Idea }
	if !f.due(index) || slices.ContainsFunc(g.Inputs, own) {
		return g
	}
	var list []Gene
	for _, x := range readings {
		if one := (Gene{Reading: x.name, Period: 24, Partition: Thirds}); x.family == g.Idea && f.allowed(one) {
			list = append(list, one)
		}
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
