package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// mostOfRun bounds how many researches are looked through for those of a run:
// more than the largest run has, with as many others in between.
const mostOfRun = 100_000

// lister is what finding the researches of a run needs.
type lister interface {
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
}

// eachOfRun calls each for the researches of a run, the newest first, until it
// says that it has seen enough. The generations of a run that lasts are created
// one after the other, and other runs in between; its first research is the
// oldest, and ends the search.
func eachOfRun(ctx context.Context, ops lister, run string, each func(*ktrdr.Operation) (more bool)) error {
	q := ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.AgentResearch}, Roots: true, Limit: 1000}
	for seen := 0; seen < mostOfRun; {
		page, err := ops.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Operations {
			op := &page.Operations[i]
			if op.Queue == nil || op.Queue.Run != run {
				continue
			}
			first := op.Queue.Generation == 0 && op.Queue.Index == 0
			if !each(op) || first {
				return nil
			}
		}
		seen += len(page.Operations)
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
	return nil
}

// isRun refuses a run that has no researches: a name that was mistyped is not
// the same as a run of which nothing is known yet.
func isRun(ctx context.Context, ops lister, run string) error {
	found := false
	err := eachOfRun(ctx, ops, run, func(*ktrdr.Operation) bool {
		found = true
		return false
	})
	if err == nil && !found {
		err = noRun(run)
	}
	return err
}

func noRun(run string) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no run %.80q; `ktrdr leaderboard --json` shows the run of each research", run)
}

// hopeless are the runs that begin no more before their time, because only
// failures came of them. Whoever keeps runs going adds them; others ask.
type hopeless struct {
	mu   sync.Mutex
	runs map[string]bool
}

// add says whether it is news.
func (h *hopeless) add(run string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs[run] {
		return false
	}
	if h.runs == nil {
		h.runs = map[string]bool{}
	}
	h.runs[run] = true
	return true
}

func (h *hopeless) has(run string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[run]
}

// runSoFar is what there is of a run.
type runSoFar struct {
	runEnded
	open    int       // that have not ended
	until   time.Time // when it begins no more; zero for one that was created at once
	newest  int       // its last generation
	stopped bool      // it begins no more: it was cancelled, or is hopeless
}

// afterUntil is how long after its time a generation may still appear that was
// begun in it.
const afterUntil = 2 * time.Second

// over says whether nothing of the run is left, and nothing more can come.
func (r *runSoFar) over(now time.Time) bool {
	return r.open == 0 && (r.until.IsZero() || r.stopped || now.After(r.until.Add(afterUntil)))
}

func (r *runSoFar) add(op *ktrdr.Operation) {
	if !op.Status.Terminal() {
		r.open++
		return
	}
	r.Researches++
	r.Outcomes[string(research.OutcomeOf(*op))]++
	var result research.Result
	if json.Unmarshal(op.Result, &result) == nil && result.Claim {
		r.Claims++
	}
	if op.CompletedAt.After(r.EndedAt) {
		r.EndedAt = op.CompletedAt
	}
	var l research.Listing
	if json.Unmarshal(op.Metadata, &l) == nil {
		r.until = l.Until
	}
	if op.Queue.Generation > r.newest {
		r.newest, r.stopped = op.Queue.Generation, false
	}
	if op.Queue.Generation == r.newest && op.CancelReason == research.RunCancelled {
		r.stopped = true
	}
}
