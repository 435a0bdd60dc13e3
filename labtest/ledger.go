package labtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// This file is the lab's side of researches.

// Research starts a run of researches. The same key again starts nothing new;
// the backend may be dying, so it is asked until it answers.
func (l *Lab) Research(r research.Request, key string) research.Triggered {
	l.t.Helper()
	var made research.Triggered
	Eventually(l.t, time.Minute, "an answer to the trigger "+key, func() bool {
		status, out, err := call[research.Triggered](l, http.MethodPost, "/api/v1/agent/trigger", r, "Idempotency-Key", key)
		if err == nil && status != http.StatusAccepted && status < http.StatusInternalServerError {
			l.t.Fatalf("trigger %s: %d %+v", key, status, out.Error)
		}
		made = out.Data
		return err == nil && status == http.StatusAccepted
	})
	return made
}

// ResearcherIn starts a worker that trains and backtests, in a folder that an
// earlier one may have used.
func (l *Lab) ResearcherIn(dir string) *Process {
	l.t.Helper()
	return l.start(nil, "worker", "--types", "training,backtesting", "--checkpoint-interval", "20ms", "--data", dir)
}

// RunPlace is where a research stands in its run.
type RunPlace struct{ Generation, Index int }

// PlaceResult is what is kept of one place: the strategy, what it came to, and the hash
// over all that the research came to, as the ledger and as the experiment has it.
// No id, no time.
type PlaceResult struct{ Strategy, Status, Ledger, Result string }

// Ledger reads what the ledger has of the researches of a run, by place. Two notes of
// one kind in one place are an error: something was done twice. The trials of
// examinations on related symbols have no place.
func (l *Lab) Ledger(run string) map[RunPlace]PlaceResult {
	l.t.Helper()
	entries := map[RunPlace]PlaceResult{}
	for _, trial := range memory(l, "trials", run, func(m research.MemoryPage) []ktrdr.Trial { return m.Trials }) {
		if trial.Type != ktrdr.AgentResearch {
			continue
		}
		at := RunPlace{trial.Generation, trial.Index}
		if _, twice := entries[at]; twice {
			l.t.Errorf("%s has two trials in generation %d, place %d", run, at.Generation, at.Index)
		}
		entries[at] = PlaceResult{Strategy: trial.Strategy, Status: trial.Rung, Ledger: trial.Hash.String()}
	}
	seen := map[RunPlace]bool{}
	for _, e := range memory(l, "experiments", run, func(m research.MemoryPage) []research.ExperimentRow { return m.Experiments }) {
		at := RunPlace{e.Generation, e.Index}
		var note struct {
			Hash string `json:"result_hash"`
		}
		code, out, err := call[research.ExperimentRow](l, http.MethodGet, "/api/v1/memory/"+string(e.Operation), nil)
		if err != nil || code != http.StatusOK {
			l.t.Fatalf("experiment of %s: %d %+v %v", e.Operation, code, out.Error, err)
		}
		if err := json.Unmarshal(out.Data.Note, &note); err != nil || note.Hash == "" {
			l.t.Errorf("%s: experiment of generation %d, place %d, has no result hash (%v): %s %s", run, at.Generation, at.Index,
				err, e.Status, e.Error)
		}
		if seen[at] {
			l.t.Errorf("%s has two experiments in generation %d, place %d", run, at.Generation, at.Index)
		}
		seen[at] = true
		entry, tried := entries[at]
		if !tried || entry.Strategy != e.Strategy {
			l.t.Errorf("%s: the experiment in generation %d, place %d, is of %s, the trial of %q", run, at.Generation, at.Index,
				e.Strategy, entry.Strategy)
		}
		entry.Result = note.Hash
		entries[at] = entry
	}
	return entries
}

// Run reads a run. The backend may be dying, so it is asked until it answers.
func (l *Lab) Run(id string) (run ktrdr.Run) {
	l.t.Helper()
	Eventually(l.t, time.Minute, "an answer about "+id, func() bool {
		status, out, err := call[ktrdr.Run](l, http.MethodGet, "/api/v1/runs/"+id, nil)
		if err == nil && status != http.StatusOK && status < http.StatusInternalServerError {
			l.t.Fatalf("run %s: %d %+v", id, status, out.Error)
		}
		run = out.Data
		return err == nil && status == http.StatusOK
	})
	return run
}

// RunEnds waits for the end of a run.
func (l *Lab) RunEnds(id string) (run ktrdr.Run) {
	l.t.Helper()
	Eventually(l.t, 2*time.Minute, "the end of "+id, func() bool {
		run = l.Run(id)
		return !run.EndedAt.IsZero()
	})
	return run
}

// Trials is how many trials the ledger counts on the market of a symbol.
func (l *Lab) Trials(symbol string) int {
	l.t.Helper()
	status, out, err := call[[]jobs.LibrarySeries](l, http.MethodGet, "/api/v1/data", nil)
	if err != nil || status != http.StatusOK {
		l.t.Fatalf("data: %d %+v %v", status, out.Error, err)
	}
	i := slices.IndexFunc(out.Data, func(s jobs.LibrarySeries) bool { return s.Symbol == symbol })
	if i < 0 {
		l.t.Fatalf("there are no bars of %s", symbol)
	}
	return out.Data[i].Trials
}

// Claims lists the claims of the lab.
func (l *Lab) Claims() []research.ClaimRow {
	l.t.Helper()
	status, out, err := call[research.ClaimsList](l, http.MethodGet, "/api/v1/claims", nil)
	if err != nil || status != http.StatusOK {
		l.t.Fatalf("claims: %d %+v %v", status, out.Error, err)
	}
	return out.Data.Claims
}

// Look is what a look of a run came to: no id, no time.
type Look struct {
	Generation, Number int
	Claim              bool
	Hash               string
}

// Looks reads the looks of a run, by generation. Each must have ended, once.
func (l *Lab) Looks(run string) (all []Look) {
	l.t.Helper()
	status, out, err := call[[]ktrdr.Look](l, http.MethodGet, "/api/v1/looks?limit=1000&run="+run, nil)
	if err != nil || status != http.StatusOK {
		l.t.Fatalf("looks of %s: %d %+v %v", run, status, out.Error, err)
	}
	for _, look := range out.Data {
		if look.EndedAt.IsZero() || len(look.Markets) == 0 || look.P == nil {
			l.t.Errorf("look %+v has not ended on a market", look)
			continue
		}
		all = append(all, Look{look.Generation, look.Markets[0].Number, look.Claim, look.Hash.String()})
	}
	slices.SortFunc(all, func(a, b Look) int { return cmp.Or(a.Generation-b.Generation, a.Number-b.Number) })
	return all
}

// memory reads all pages of one kind of what a run left.
func memory[T any](l *Lab, kind, run string, of func(research.MemoryPage) []T) (all []T) {
	l.t.Helper()
	for cursor := ""; ; {
		status, out, err := call[research.MemoryPage](l, http.MethodGet,
			fmt.Sprintf("/api/v1/memory?kind=%s&run=%s&limit=100&cursor=%s", kind, run, cursor), nil)
		if err != nil || status != http.StatusOK {
			l.t.Fatalf("%s of %s: %d %+v %v", kind, run, status, out.Error, err)
		}
		all = append(all, of(out.Data)...)
		if cursor = out.Next; cursor == "" {
			return all
		}
	}
}

// AuditResearch checks one research and its children from outside: each history
// is a path of the state machine, there is one training and one backtest at the
// most, and of designs and assessments only those that lost their backend are
// followed by another. It returns how many children were restarted.
func (l *Lab) AuditResearch(id ktrdr.OperationID) (again int) {
	l.t.Helper()
	op := l.Op(id)
	l.auditPath(op)
	if op.Status != ktrdr.Completed {
		l.t.Errorf("%s ended %s: %s", id, op.Status, op.ErrorMessage)
	}
	ordinals := map[int]bool{}
	begun, completed := map[ktrdr.Type]int{}, map[ktrdr.Type]int{}
	for _, child := range l.Children(id) {
		l.auditPath(child)
		if ordinals[child.Ordinal] {
			l.t.Errorf("%s has two children in place %d", id, child.Ordinal)
		}
		ordinals[child.Ordinal] = true
		begun[child.Type]++
		switch {
		case child.Status == ktrdr.Completed:
			completed[child.Type]++
		case !child.BackendLocal || child.Status != ktrdr.Failed:
			l.t.Errorf("%s completed while its child %s is %s: %s", id, child.ID, child.Status, child.ErrorMessage)
		default:
			again++
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(begun)) {
		if completed[typ] != 1 {
			l.t.Errorf("%s has %d completed children of type %s, of %d, want one", id, completed[typ], typ, begun[typ])
		}
	}
	return again
}
