package research

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
)

// Notes is where memory reads.
type Notes interface {
	Notes(ctx context.Context, q ktrdr.NoteQuery) (ktrdr.NotePage, error)
}

// Memory tells what was tried. It is safe for concurrent use.
type Memory struct{ notes Notes }

// NewMemory makes a memory of notes.
func NewMemory(n Notes) *Memory { return &Memory{n} }

// View is what a research may know of others: the earlier generations of its run,
// and other runs up to a horizon. Whoever asks again, whenever and wherever, is
// told the same.
type View struct {
	Run        string
	Generation int
	Horizon    string
	Symbols    []string  // that it is about
	Sealed     time.Time // where its holdout begins; zero means that it has none
}

// hides says that an experiment of another run saw bars which this research is
// to be judged by: its holdout, before the series was cut anew. What such an
// experiment earned there would be a word of the holdout.
func (v View) hides(searched []Span) bool {
	return !v.Sealed.IsZero() && slices.ContainsFunc(searched, func(s Span) bool {
		return s.To.After(v.Sealed) && slices.Contains(v.Symbols, s.Symbol)
	})
}

// Past is what a designer is told.
type Past struct {
	Experiments []designer.Experiment
	Hypotheses  []HypothesisNote // of these experiments, that nobody has tested
}

// mostEarlier is how many experiments of other runs a designer is told of: the
// newest before its horizon.
const mostEarlier = 1000

// Recall tells what a view holds.
func (m *Memory) Recall(ctx context.Context, v View) (Past, error) {
	var p Past
	earlier, own, err := m.within(ctx, NoteExperiment, v)
	if err != nil {
		return p, err
	}
	for _, n := range append(earlier, latest(own)...) {
		var e Experiment
		if err := json.Unmarshal(n.Data, &e); err != nil {
			return p, fmt.Errorf("experiment %s: %w", n.Key, err)
		}
		if n.Run != v.Run && v.hides(e.Searched) {
			continue
		}
		p.Experiments = append(p.Experiments, designer.Experiment{
			Source: Place{n.Run, n.Generation, n.Index}.Key(), Generation: n.Generation, Index: n.Index, Earlier: n.Run != v.Run,
			Strategy: e.Strategy, Key: e.Key, Genome: e.Genome, Outcome: e.Outcome,
		})
	}
	p.Hypotheses, err = m.untested(ctx, v, p.Experiments)
	return p, err
}

// untested finds what the experiments asked and nobody has answered, and lets
// each know what is open about it.
func (m *Memory) untested(ctx context.Context, v View, told []designer.Experiment) ([]HypothesisNote, error) {
	earlier, own, err := m.within(ctx, NoteHypothesis, v)
	if err != nil {
		return nil, err
	}
	bySource := map[string]*designer.Experiment{}
	for i := range told {
		bySource[told[i].Source] = &told[i]
	}
	answered := map[string]bool{}
	var asked, open []HypothesisNote
	for _, n := range append(earlier, own...) {
		var h HypothesisNote
		if err := json.Unmarshal(n.Data, &h); err != nil {
			return nil, fmt.Errorf("hypothesis %s: %w", n.Key, err)
		}
		if asked = append(asked, h); h.Status != Untested {
			answered[h.ID] = true
		}
	}
	for _, h := range asked {
		source := bySource[h.Source]
		if answered[h.ID] || source == nil {
			continue
		}
		open = append(open, h)
		if lesson := h.Lesson(); lesson != "" {
			source.Open = append(source.Open, lesson)
		}
	}
	return open, nil
}

// within reads the notes of a kind that a view holds: those of other runs, and
// those of its own by their place.
func (m *Memory) within(ctx context.Context, kind string, v View) (earlier, own []ktrdr.Note, err error) {
	own, err = m.read(ctx, ktrdr.NoteQuery{Kind: kind, Run: v.Run, BeforeGeneration: &v.Generation, Order: ktrdr.NotesByPlace}, 0)
	if err != nil || v.Horizon == "" {
		return nil, own, err
	}
	earlier, err = m.read(ctx, ktrdr.NoteQuery{Kind: kind, Horizon: v.Horizon}, mostEarlier)
	return slices.DeleteFunc(earlier, func(n ktrdr.Note) bool { return n.Run == v.Run }), own, err
}

// Openings is how often the holdout was opened by the earlier generations of a
// run. A first generation that knows of no trial counts as one opening whether
// or not it made any, so that those after it know of one at least: see
// evidence.OwnOpenings.
func (m *Memory) Openings(ctx context.Context, at Place, holdout []Span) (int, error) {
	if at.Generation == 0 {
		return 0, nil
	}
	n, err := m.opened(ctx, ktrdr.NoteQuery{Run: at.Run, BeforeGeneration: &at.Generation}, holdout, "")
	return max(n, 1), err
}

// opened counts the openings of bars that a holdout has some of, but for those
// of one run.
func (m *Memory) opened(ctx context.Context, q ktrdr.NoteQuery, holdout []Span, but string) (count int, err error) {
	q.Kind = NoteOpening
	notes, err := m.read(ctx, q, 0)
	for _, n := range notes {
		var o Opening
		if err := json.Unmarshal(n.Data, &o); err != nil {
			return 0, fmt.Errorf("opening %s: %w", n.Key, err)
		}
		if (but == "" || n.Run != but) && o.touches(holdout) {
			count++
		}
	}
	return count, err
}

// latest leaves out failures of researches that were resumed and came to an end:
// by place, the note of the end stands before that of the failure.
func latest(notes []ktrdr.Note) []ktrdr.Note {
	var out []ktrdr.Note
	for _, n := range notes {
		if k := len(out) - 1; k >= 0 && out[k].Generation == n.Generation && out[k].Index == n.Index {
			continue
		}
		out = append(out, n)
	}
	return out
}

// read gathers the pages of a query, at most so many notes; 0 means all.
func (m *Memory) read(ctx context.Context, q ktrdr.NoteQuery, most int) ([]ktrdr.Note, error) {
	var all []ktrdr.Note
	for q.Limit = 500; ; {
		if most > 0 {
			q.Limit = min(q.Limit, most-len(all))
		}
		page, err := m.notes.Notes(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		all = append(all, page.Notes...)
		if page.Next == "" || most > 0 && len(all) >= most {
			return all, nil
		}
		q.Cursor = page.Next
	}
}

// Record is an experiment and where it stands.
type Record struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	At        time.Time         `json:"at"`
	Place
	Experiment
}

// Records are a page of experiments, and the cursor of the next.
func (m *Memory) Records(ctx context.Context, q ktrdr.NoteQuery) ([]Record, string, error) {
	q.Kind = NoteExperiment
	page, err := m.notes.Notes(ctx, q)
	if err != nil {
		return nil, "", fmt.Errorf("memory: %w", err)
	}
	list := make([]Record, len(page.Notes))
	for i, n := range page.Notes {
		r := Record{Operation: n.Operation, At: n.At, Place: Place{n.Run, n.Generation, n.Index}}
		if err := json.Unmarshal(n.Data, &r.Experiment); err != nil {
			return nil, "", fmt.Errorf("experiment %s: %w", n.Key, err)
		}
		list[i] = r
	}
	return list, page.Next, nil
}

// Leaderboard orders experiments: what claims an edge first, the least lucky on
// top; then by the deflated Sharpe ratio of the test part; of equals the earlier.
// A ratio without a claim is a number among many, and stands below every claim.
func Leaderboard(list []Record) []Record {
	ranked := slices.Clone(list)
	slices.SortStableFunc(ranked, func(a, b Record) int {
		return cmp.Or(-cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Index, b.Index))
	})
	return ranked
}

// rank is above 1 for a claim, a confidence for what was measured on the test
// part, and below 0 for the rest.
func (r *Record) rank() float64 {
	switch f := r.Figures; {
	case r.Claim && f != nil && f.Luck != nil:
		return 2 + (1 - *f.Luck)
	case r.Claim:
		return 2
	case f != nil && f.Deflated != nil:
		return *f.Deflated
	}
	return -1
}

// Hypotheses are the newest hypotheses, each with what is known of it now.
func (m *Memory) Hypotheses(ctx context.Context, most int) ([]HypothesisNote, error) {
	notes, err := m.read(ctx, ktrdr.NoteQuery{Kind: NoteHypothesis}, most)
	if err != nil {
		return nil, err
	}
	list := []HypothesisNote{}
	seen := map[string]bool{}
	for _, n := range notes { // the newest first
		var h HypothesisNote
		if err := json.Unmarshal(n.Data, &h); err != nil {
			return nil, fmt.Errorf("hypothesis %s: %w", n.Key, err)
		}
		if !seen[h.ID] {
			seen[h.ID] = true
			list = append(list, h)
		}
	}
	return list, nil
}
