package designer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// The search keeps its experiments as an archive over behaviour (MAP-Elites,
// Mouret and Clune 2015). Only the best of each cell has children:
//
//	experiments ──cellOf──▶ family × bars held × exposure ──best──▶ elites
//	elites ──score + originality──▶ tournament ──▶ parents
//
// One hill would keep the designs that earn most today, which soon are all alike.
type cell struct {
	family  Family
	held    int // rung of heldRungs
	exposed int // rung of exposedRungs
}

// The upper ends of the rungs of behaviour: mean bars held, and share of the bars with a position.
var (
	heldRungs    = []float64{6, 18, 54, 162}
	exposedRungs = []float64{0.35, 0.75}
)

// cellOf is where an experiment belongs. One that memory has no behaviour of, because
// an earlier version wrote it or it never traded, belongs where its genome says.
func cellOf(g *Genome, o *Outcome) cell {
	held, exposed := float64(g.Horizon), 1.0
	if g.Exit > 0 {
		exposed = 0.5
	}
	if b := o.Behaviour; b != nil {
		held, exposed = b.Held, b.Exposure
	}
	return cell{g.family(), rung(heldRungs, held), rung(exposedRungs, exposed)}
}

// family is the one that most of its readings belong to; its idea, where no other has more.
func (g *Genome) family() Family {
	count := map[Family]int{}
	best := g.Idea
	for _, x := range g.Inputs {
		if r, ok := find(x.Reading); x.Context > 0 {
			count[LeadLag]++
		} else if ok {
			count[r.family]++
		}
	}
	for _, f := range Families {
		if count[f] > count[best] {
			best = f
		}
	}
	return best
}

// rung is the first whose upper end is above x; NaN is on the last.
func rung(ends []float64, x float64) int {
	for i, end := range ends {
		if x < end {
			return i
		}
	}
	return len(ends)
}

func (c cell) String() string {
	span := func(ends []float64, i int, unit float64) string {
		switch i {
		case 0:
			return fmt.Sprintf("less than %.0f", unit*ends[0])
		case len(ends):
			return fmt.Sprintf("%.0f or more", unit*ends[i-1])
		}
		return fmt.Sprintf("%.0f to %.0f", unit*ends[i-1], unit*ends[i])
	}
	return fmt.Sprintf("%s, held %s bars, a position at %s %% of the bars", c.family, span(heldRungs, c.held, 1),
		span(exposedRungs, c.exposed, 100))
}

// elite is the best experiment of a cell.
type elite struct {
	*known
	cell   cell
	reward float64
}

// originality is what the most original elite gains over one that is like a better one.
const originality = 0.3

// fewestElites is how many have children at least. Of more cells the better half has.
const fewestElites = 4

// elites are the best of each cell that have children, the most rewarded first.
func elites(parents []known) []elite {
	best := map[cell]*known{}
	var cells []cell // in the order of parents, which says nothing of a map
	for i := range parents {
		k := &parents[i]
		c := cellOf(&k.genome, &k.Outcome)
		if best[c] == nil {
			cells = append(cells, c)
		}
		if best[c] == nil || k.score > best[c].score {
			best[c] = k
		}
	}
	list := make([]elite, len(cells))
	for i, c := range cells {
		list[i] = elite{best[c], c, best[c].score}
	}
	byReward := func(a, b elite) int { return cmp.Compare(b.reward, a.reward) }
	slices.SortStableFunc(list, byReward)
	for i := range list {
		alike := 0.0
		for j := range i {
			alike = max(alike, list[i].alike(&list[j]))
		}
		list[i].reward += float64(originality * (1 - alike))
	}
	slices.SortStableFunc(list, byReward)
	return list[:max(min(fewestElites, len(list)), len(list)/2)]
}

// alike says from 0 to 1 how alike two elites behave: the correlation of what they
// earned over the same days, and else what their cells have in common.
func (e *elite) alike(other *elite) float64 {
	if a, b := e.Outcome.Behaviour, other.Outcome.Behaviour; a != nil && b != nil && e.Elsewhere == other.Elsewhere {
		if r, ok := a.Path.correlation(b.Path); ok {
			return max(0, r)
		}
	}
	same := 0.0
	if e.cell.family == other.cell.family {
		same += 0.5
	}
	if e.cell.held == other.cell.held {
		same += 0.25
	}
	if e.cell.exposed == other.cell.exposed {
		same += 0.25
	}
	return same
}

// Behaviour is how a strategy traded on its test part.
type Behaviour struct {
	Held     float64 `json:"bars_held"` // mean of its trades
	Exposure float64 `json:"exposure"`  // share of the bars with a position
	Path     Path    `json:"path,omitzero"`
}

// Path is the shape of what a strategy earned: sums of its daily returns over equal
// stretches of days, in hundredths of the largest. Two paths of the same days tell how
// two strategies hang together.
type Path struct {
	First string `json:"first"` // the first day
	Days  int    `json:"days"`
	Sums  []int8 `json:"sums"`
}

// stretches is how many sums a path has.
const stretches = 40

// PathOf makes the path of daily returns; the zero path of fewer than 40 days, or of
// none with a gain or a loss.
func PathOf(first string, returns []float64) Path {
	if len(returns) < stretches {
		return Path{}
	}
	var sums [stretches]float64
	largest := 0.0
	for i, x := range returns {
		k := i * stretches / len(returns)
		sums[k] += x
	}
	for _, x := range sums {
		largest = max(largest, math.Abs(x))
	}
	if !(largest > 0) || math.IsInf(largest, 0) {
		return Path{}
	}
	p := Path{First: first, Days: len(returns), Sums: make([]int8, stretches)}
	for i, x := range sums {
		p.Sums[i] = int8(math.Round(100 * x / largest))
	}
	return p
}

// correlation is that of the sums of two paths of the same days.
func (p Path) correlation(q Path) (float64, bool) {
	if p.First != q.First || p.Days != q.Days || len(p.Sums) != len(q.Sums) || len(p.Sums) < 2 {
		return 0, false
	}
	n := int64(len(p.Sums))
	var x, y, xx, yy, xy int64
	for i, a := range p.Sums {
		a, b := int64(a), int64(q.Sums[i])
		x, y, xx, yy, xy = x+a, y+b, xx+a*a, yy+b*b, xy+a*b
	}
	spread := math.Sqrt(float64(n*xx-x*x)) * math.Sqrt(float64(n*yy-y*y))
	if !(spread > 0) {
		return 0, false
	}
	return float64(n*xy-x*y) / spread, true
}
