package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/worlds"
)

// level is the share of false candidates of the first such run on a market: 0.05/(1·2).
const level = 0.025

// table is what is known of all cells.
type table struct {
	options

	at    time.Time
	null  []found // of the worlds without an edge
	rows  []row
	score *float64 // that a candidate must be above; nil: too few worlds without an edge
}

// row is a cell: the rule that knows the effect, and the search.
type row struct {
	cell

	sharpe         float64      // mean net Sharpe ratio of the rule, by its better exit
	confirmed      worlds.Share // of the rule
	candidate      worlds.Share // the same
	found          []found
	foundConfirmed worlds.Share
	foundCandidate worlds.Share
	// Of the searched worlds in which the rule is confirmed, and is a candidate: those in which the search is.
	heard, seen worlds.Share
	ownScore    float64 // mean score of the rule on all bars before the holdout
}

func tabulate(o options, known []record, at time.Time) *table {
	t := &table{options: o, at: at}
	rules, searches := map[cell]map[int]*[2]own{}, map[cell]map[int]*found{}
	for i := range known {
		r := &known[i]
		switch {
		case r.Rule != nil && r.Bars == o.Bars && r.World < o.rules:
			put(rules, r.cell, r.World, r.Rule)
		case r.Search != nil && r.setup == o.setup && r.World < o.searched(r.cell):
			put(searches, r.cell, r.World, r.Search)
		}
	}
	for _, f := range searches[cell{noEdge, 0}] {
		t.null = append(t.null, *f)
	}
	t.score = critical(t.null)
	for _, c := range o.cells() {
		t.rows = append(t.rows, t.row(c, rules[c], searches[c]))
	}
	return t
}

// searched is how many worlds of a cell are searched.
func (o options) searched(c cell) int {
	if c.Kind == noEdge {
		return o.null
	}
	return o.worlds
}

func put[T any](to map[cell]map[int]T, c cell, world int, x T) {
	if to[c] == nil {
		to[c] = map[int]T{}
	}
	to[c][world] = x
}

// critical is the score that a share of at most level of the searches without an edge is
// above, this one counted as one of them: the rank of a p-value by permutation.
func critical(null []found) *float64 {
	scores := make([]float64, 0, len(null))
	for _, f := range null {
		scores = append(scores, orElse(f.Score, math.Inf(-1)))
	}
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	allowed := int(float64(level*float64(len(scores)+1))+1e-9) - 1 // null scores that may be as high
	if allowed < 0 {
		return nil
	}
	return &scores[allowed]
}

func orElse(x *float64, other float64) float64 {
	if x == nil {
		return other
	}
	return *x
}

func (t *table) row(c cell, rules map[int]*[2]own, searches map[int]*found) row {
	r := row{cell: c}
	var sums [2]float64
	for _, w := range slices.Sorted(maps.Keys(rules)) { // in one order: sums have the same bits
		for exit := range sums {
			sums[exit] += rules[w][exit].Sharpe
		}
	}
	exit := 0
	if sums[1] > sums[0] {
		exit = 1
	}
	r.sharpe = sums[exit] / float64(max(len(rules), 1))
	for _, own := range rules {
		count(&r.confirmed, own[exit].Confirmed)
		count(&r.candidate, t.candidate(own[exit].Score))
		r.ownScore += orElse(own[exit].Score, 0) / float64(len(rules))
	}
	for w, f := range searches {
		r.found = append(r.found, *f)
		count(&r.foundConfirmed, f.Confirmed)
		count(&r.foundCandidate, t.candidate(f.Score))
		own := rules[w]
		if own != nil && own[exit].Confirmed {
			count(&r.heard, f.Confirmed)
		}
		if own != nil && t.candidate(own[exit].Score) {
			count(&r.seen, t.candidate(f.Score))
		}
	}
	return r
}

func count(s *worlds.Share, yes bool) {
	s.Runs++
	if yes {
		s.Claims++
	}
}

func (t *table) candidate(score *float64) bool {
	return t.score != nil && score != nil && *score > max(*t.score, 0)
}

// markdown is the table with what was measured, and when.
func (t *table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s with version `%s`: hourly bars, %d of them, %d researches per run, costs of 1.5 basis points per side. ",
		t.at.UTC().Format("2 January 2006"), t.Version, t.Bars, t.Researches)
	fmt.Fprintf(&b, "The rule traded %d worlds of each row.\n\n", t.rules)
	b.WriteString("| edge | strength | Sharpe of the rule | confirmed: rule | confirmed: search | candidate: rule | candidate: search |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for i := range t.rows {
		r := &t.rows[i]
		fmt.Fprintf(&b, "| %s | %g | %.1f | %s | %s | %s | %s |\n", r.Kind, r.Strength, r.sharpe, percent(r.confirmed),
			counted(r.foundConfirmed), t.ifScored(percent(r.candidate)), t.ifScored(counted(r.foundCandidate)))
	}
	b.WriteString("\n" + t.shares() + t.nulls())
	return b.String()
}

// shares compares the search with the rule in the same worlds, by kind.
func (t *table) shares() string {
	var b strings.Builder
	b.WriteString("| edge | confirmed, of the worlds in which the rule is | candidate, of the worlds in which the rule is |\n|---|---|---|\n")
	for i := 0; i < len(t.rows); {
		kind := t.rows[i].Kind
		var heard, seen worlds.Share
		for ; i < len(t.rows) && t.rows[i].Kind == kind; i++ {
			heard.Add(t.rows[i].heard)
			seen.Add(t.rows[i].seen)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", kind, counted(heard), t.ifScored(counted(seen)))
	}
	b.WriteString("\nThe strengths of an edge share the noise of their worlds. The intervals of this table are therefore too narrow.\n\n")
	return b.String()
}

func (t *table) nulls() string {
	var confirmed worlds.Share
	for _, f := range t.null {
		count(&confirmed, f.Confirmed)
	}
	if confirmed.Runs == 0 {
		return "No world without an edge was searched.\n"
	}
	low, high := confirmed.Interval()
	said := fmt.Sprintf("Without an edge %d of %d searches were confirmed (95 %% interval %.1f to %.1f %%).", confirmed.Claims, confirmed.Runs,
		100*low, 100*high)
	if t.score == nil {
		return said + " These are too few to know which score is a candidate's.\n"
	}
	return said + fmt.Sprintf(" A candidate needs a score above %.2f, the limit that these searches give.\n", *t.score)
}

func (t *table) ifScored(s string) string {
	if t.score == nil {
		return "–"
	}
	return s
}

func percent(s worlds.Share) string {
	if s.Runs == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(s.Claims)/float64(s.Runs))
}

// counted is a share with its numbers: too few to be a percentage alone.
func counted(s worlds.Share) string {
	if s.Runs == 0 {
		return "–"
	}
	low, high := s.Interval()
	return fmt.Sprintf("%d/%d (%.0f–%.0f %%)", s.Claims, s.Runs, 100*low, 100*high)
}

// stages prints where designs end.
func (t *table) stages(out io.Writer) {
	sum(t.null).print(out, noEdge)
	for i := range t.rows {
		r := &t.rows[i]
		e := sum(r.found)
		e.print(out, fmt.Sprintf("%s %g", r.Kind, r.Strength))
		if e.searches > 0 {
			fmt.Fprintf(out, "    the rule: score %.1f, Sharpe %.1f; confirmed by search and rule in %d of the %d worlds in which the rule is\n",
				r.ownScore, r.sharpe, r.heard.Claims, r.heard.Runs)
		}
	}
}

// ends counts where the designs of some searches end.
type ends struct {
	searches, confirmed, failed, none int
	researches, finalists, looks      int
	reasons                           map[string]int
	seconds, score, look              float64
}

func sum(all []found) ends {
	e := ends{searches: len(all), reasons: map[string]int{}}
	for _, f := range all {
		e.seconds += f.Seconds
		e.score += orElse(f.Score, 0)
		e.finalists += f.Finalist
		e.researches += f.Failed + f.Finalist
		for _, from := range []map[string]int{f.Gates, f.Checks} {
			for k, n := range from {
				e.reasons[k] += n
				e.researches += n
			}
		}
		if f.LookSharpe != nil {
			e.looks++
			e.look += *f.LookSharpe
		}
		switch {
		case f.Confirmed:
			e.confirmed++
		case f.Looks > 0:
			e.failed++
		default:
			e.none++
		}
	}
	return e
}

func (e ends) print(out io.Writer, name string) {
	n := float64(max(e.searches, 1))
	fmt.Fprintf(out, "%s: %d searches of %.1f s: %d confirmed, %d with looks that failed, %d without a finalist; finalists %d of %d\n",
		name, e.searches, e.seconds/n, e.confirmed, e.failed, e.none, e.finalists, e.researches)
	fmt.Fprintf(out, "    the search: best score %.1f, Sharpe of the first look %.1f\n", e.score/n, e.look/float64(max(e.looks, 1)))
	for _, k := range slices.SortedFunc(maps.Keys(e.reasons), func(a, b string) int {
		return cmp.Or(e.reasons[b]-e.reasons[a], strings.Compare(a, b))
	}) {
		fmt.Fprintf(out, "    %4d  %s\n", e.reasons[k], k)
	}
}
