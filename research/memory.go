package research

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
)

// Notes is where memory reads.
type Notes interface {
	Notes(ctx context.Context, q ktrdr.NoteQuery) (ktrdr.NotePage, error)
}

// Memory tells what was tried. It is safe for concurrent use.
type Memory struct{ notes Notes }

// NewMemory makes a memory of notes.
func NewMemory(n Notes) *Memory { return &Memory{n} }

// mostEarlier is how many experiments of other runs a designer is told of: the
// newest before its horizon.
const mostEarlier = 1000

// Experiments are what the designer of a generation may know: the experiments of
// that run's earlier generations, and those of other runs up to the horizon.
// Whoever asks again, whenever and wherever, is told the same.
func (m *Memory) Experiments(ctx context.Context, run string, generation int, horizon string) ([]designer.Experiment, error) {
	own, err := m.read(ctx, ktrdr.NoteQuery{Kind: NoteExperiment, Run: run, BeforeGeneration: &generation, Order: ktrdr.NotesByPlace}, 0)
	if err != nil {
		return nil, err
	}
	var earlier []ktrdr.Note
	if horizon != "" {
		if earlier, err = m.read(ctx, ktrdr.NoteQuery{Kind: NoteExperiment, Horizon: horizon}, mostEarlier); err != nil {
			return nil, err
		}
	}
	var all []designer.Experiment
	for _, n := range earlier {
		if n.Run == run {
			continue
		}
		e, err := tell(n)
		if err != nil {
			return nil, err
		}
		e.Earlier = true
		all = append(all, e)
	}
	for _, n := range latest(own) {
		e, err := tell(n)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
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

func tell(n ktrdr.Note) (designer.Experiment, error) {
	var e Experiment
	if err := json.Unmarshal(n.Data, &e); err != nil {
		return designer.Experiment{}, fmt.Errorf("experiment %s: %w", n.Key, err)
	}
	return designer.Experiment{
		Generation: n.Generation, Index: n.Index, Strategy: e.Strategy, Key: e.Key, Genome: e.Genome, Outcome: e.Outcome,
	}, nil
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

// Leaderboard orders experiments: what claims an edge first, then by verdict,
// then by the Sharpe ratio on the test part; of equals the earlier. A Sharpe
// ratio without a claim is a number among many, and stands below every claim.
func Leaderboard(list []Record) []Record {
	ranked := slices.Clone(list)
	slices.SortStableFunc(ranked, func(a, b Record) int {
		return cmp.Or(-cmp.Compare(a.rank(), b.rank()), -cmp.Compare(a.sharpe(), b.sharpe()),
			cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Index, b.Index))
	})
	return ranked
}

func (r *Record) rank() int {
	switch {
	case r.Claim:
		return 4
	case r.Status != OutcomeCompleted:
		return 0
	}
	return 1 + slices.Index([]evidence.Level{evidence.Poor, evidence.Neutral, evidence.Promising}, r.Verdict)
}

func (r *Record) sharpe() float64 {
	if r.Figures == nil || r.Figures.Sharpe == nil {
		return math.Inf(-1)
	}
	return *r.Figures.Sharpe
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
