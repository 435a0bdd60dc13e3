package research

import (
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
// and other runs up to a horizon. It is the same at any time and on any backend.
type View struct {
	Run        string
	Generation int
	Horizon    string
	Symbols    []string  // that it is about
	Sealed     time.Time // where its holdout begins; zero means that it has none
}

// hides says that an experiment of another run saw bars of this research's holdout,
// before the series was cut again. Its figures would tell something of them.
func (v View) hides(searched []Span) bool {
	return !v.Sealed.IsZero() && slices.ContainsFunc(searched, func(s Span) bool {
		return s.To.After(v.Sealed) && slices.Contains(v.Symbols, s.Symbol)
	})
}

// elsewhere says that an experiment was on other markets than this research.
func (v View) elsewhere(symbols []string) bool {
	return !slices.ContainsFunc(symbols, func(s string) bool { return slices.Contains(v.Symbols, s) })
}

// Past is what a designer is told.
type Past struct {
	Experiments []designer.Experiment
	Hypotheses  []HypothesisNote // of these experiments, not tested yet
}

// mostEarlier is how many experiments of other runs a designer gets.
const mostEarlier = 1000

// mostTexts is how many strategies are told as they were written, the newest.
const mostTexts = 20

// Recall tells what a view holds, the newest last.
func (m *Memory) Recall(ctx context.Context, v View) (p Past, err error) {
	tell := func(n ktrdr.Note) error {
		place := RunPosition{n.Run, n.Generation, n.Index}
		last := len(p.Experiments) - 1
		if n.Run == v.Run && last >= 0 && p.Experiments[last].Source == place.Key() {
			return nil // it failed, was resumed and came to an end: by place, that note stands first
		}
		var e struct {
			Strategy string           `json:"strategy_yaml"`
			Key      string           `json:"key"`
			Genome   *designer.Genome `json:"genome"`
			Symbols  []string         `json:"symbols"`
			Searched []Span           `json:"searched"`
			Outcome  designer.Outcome `json:"outcome"`
		}
		if err := json.Unmarshal(n.Data, &e); err != nil {
			return fmt.Errorf("experiment %s: %w", n.Key, err)
		}
		if n.Run != v.Run && v.hides(e.Searched) {
			return nil
		}
		p.Experiments = append(p.Experiments, designer.Experiment{
			Source: place.Key(), Generation: n.Generation, Index: n.Index, Earlier: n.Run != v.Run,
			Elsewhere: n.Run != v.Run && v.elsewhere(e.Symbols),
			Strategy:  e.Strategy, Key: e.Key, Genome: e.Genome, Outcome: e.Outcome,
		})
		old := len(p.Experiments) - 1 // of others the newest came first
		if n.Run == v.Run {
			old -= mostTexts
		}
		if len(p.Experiments) > mostTexts && p.Experiments[old].Key != "" && p.Experiments[old].Genome != nil {
			p.Experiments[old].Strategy = ""
		}
		return nil
	}
	if err := m.others(ctx, NoteExperiment, v, tell); err != nil {
		return p, err
	}
	slices.Reverse(p.Experiments)
	if err := m.own(ctx, NoteExperiment, v, tell); err != nil {
		return p, err
	}
	p.Hypotheses, err = m.untested(ctx, v, p.Experiments)
	return p, err
}

// untested finds the hypotheses that no research has tested, and marks their sources.
func (m *Memory) untested(ctx context.Context, v View, told []designer.Experiment) ([]HypothesisNote, error) {
	var open []HypothesisNote
	bySource := map[string]*designer.Experiment{}
	for i := range told {
		bySource[told[i].Source] = &told[i]
	}
	answered := map[string]bool{}
	tell := func(n ktrdr.Note) error {
		var h HypothesisNote
		if err := json.Unmarshal(n.Data, &h); err != nil {
			return fmt.Errorf("hypothesis %s: %w", n.Key, err)
		}
		if h.Status != Untested {
			answered[h.ID] = true
		}
		if bySource[h.Source] != nil {
			open = append(open, h)
		}
		return nil
	}
	if err := m.others(ctx, NoteHypothesis, v, tell); err != nil {
		return nil, err
	}
	slices.Reverse(open)
	if err := m.own(ctx, NoteHypothesis, v, tell); err != nil {
		return nil, err
	}
	open = slices.DeleteFunc(open, func(h HypothesisNote) bool { return answered[h.ID] })
	for _, h := range open {
		if lesson := h.Lesson(); lesson != "" {
			bySource[h.Source].Open = append(bySource[h.Source].Open, lesson)
		}
	}
	return open, nil
}

// others reads the notes of other runs that a view holds, the newest first.
func (m *Memory) others(ctx context.Context, kind string, v View, each func(ktrdr.Note) error) error {
	if v.Horizon == "" {
		return nil
	}
	return m.read(ctx, ktrdr.NoteQuery{Kind: kind, Horizon: v.Horizon}, mostEarlier, func(n ktrdr.Note) error {
		if n.Run != v.Run {
			return each(n)
		}
		return nil
	})
}

func (m *Memory) own(ctx context.Context, kind string, v View, each func(ktrdr.Note) error) error {
	return m.read(ctx, ktrdr.NoteQuery{Kind: kind, Run: v.Run, BeforeGeneration: &v.Generation, Order: ktrdr.NotesByPlace}, 0, each)
}

// notesAtOnce is how many notes are read at once.
const notesAtOnce = 100

// read goes through the notes that a query finds; most bounds them, 0 means all.
func (m *Memory) read(ctx context.Context, q ktrdr.NoteQuery, most int, each func(ktrdr.Note) error) error {
	for found := 0; ; {
		q.Limit = notesAtOnce
		if most > 0 {
			q.Limit = min(q.Limit, most-found)
		}
		page, err := m.notes.Notes(ctx, q)
		if err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		for _, n := range page.Notes {
			if err := each(n); err != nil {
				return err
			}
		}
		found += len(page.Notes)
		if page.Next == "" || most > 0 && found >= most {
			return nil
		}
		q.Cursor = page.Next
	}
}

// Record is an experiment and where it stands.
type Record struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	At        time.Time         `json:"at"`
	RunPosition
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
		r := Record{Operation: n.Operation, At: n.At, RunPosition: RunPosition{n.Run, n.Generation, n.Index}}
		if err := json.Unmarshal(n.Data, &r.Experiment); err != nil {
			return nil, "", fmt.Errorf("experiment %s: %w", n.Key, err)
		}
		list[i] = r
	}
	return list, page.Next, nil
}

// Hypotheses are the newest hypotheses, each with what is known of it now.
func (m *Memory) Hypotheses(ctx context.Context, most int) ([]HypothesisNote, error) {
	list := []HypothesisNote{}
	seen := map[string]bool{}
	err := m.read(ctx, ktrdr.NoteQuery{Kind: NoteHypothesis}, most, func(n ktrdr.Note) error { // the newest first
		var h HypothesisNote
		if err := json.Unmarshal(n.Data, &h); err != nil {
			return fmt.Errorf("hypothesis %s: %w", n.Key, err)
		}
		if !seen[h.ID] {
			seen[h.ID] = true
			list = append(list, h)
		}
		return nil
	})
	return list, err
}
