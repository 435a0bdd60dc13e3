package research

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/num"
)

// The bounds of a run that lasts until a time.
const (
	maxNight  = 7 * 24 * time.Hour
	maxScan   = 2000 // of the newest researches, to find the runs that last
	scanPages = 100
)

// Operations is what a Night needs of the engine.
type Operations interface {
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	Submit(ctx context.Context, op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error)
	Paused(ctx context.Context) (bool, error)
}

// Night keeps those runs going that were asked to last until a time: when
// nobody waits in the line any more, it creates the next generation of each.
//
// It remembers nothing. What is due it reads from the rows, and each research
// that it creates has a key made of its place: whoever looks, how often, in how
// many backends, and whatever dies between two of them, each is created once.
type Night struct {
	desk *Desk
	ops  Operations
}

// NewNight makes a Night.
func NewNight(d *Desk, ops Operations) *Night { return &Night{d, ops} }

// Kept is what a Night has decided.
type Kept struct {
	Lasting bool    // there is a run that may need more later
	Begun   []Place // the first research of each generation that was begun, or completed
	Ended   []Place // the last generation of each run that is over before its time: only failures came of it
}

// Keep creates what is due now. Asked again, it decides the same of a run that
// is over.
func (n *Night) Keep(ctx context.Context, now time.Time) (Kept, error) {
	waiting, err := n.desk.waiting(ctx)
	if err != nil || waiting > 0 {
		return Kept{Lasting: true}, err
	}
	all, err := n.lasting(ctx, now)
	if err != nil {
		return Kept{}, err
	}
	var kept Kept
	var going []*lasting
	for _, run := range all {
		switch {
		case run.hopeless():
			kept.Ended = append(kept.Ended, Place{Run: run.spec.Run, Generation: run.spec.Generation})
		case run.stopped:
		case run.beingAsked(now):
			kept.Lasting = true
		default:
			going = append(going, run)
		}
	}
	if len(going) == 0 {
		return kept, nil
	}
	kept.Lasting = true
	if paused, err := n.ops.Paused(ctx); err != nil || paused {
		return kept, err
	}
	for _, run := range going {
		begun, err := n.extend(ctx, run)
		if err != nil {
			return kept, fmt.Errorf("next generation of %s: %w", run.spec.Run, err)
		}
		kept.Begun = append(kept.Begun, begun)
	}
	return kept, nil
}

// waiting is how many researches wait for their turn.
func (d *Desk) waiting(ctx context.Context) (int, error) {
	queues, err := d.cfg.Ledger.QueueCounts(ctx)
	for _, q := range queues {
		if q.Name == QueueName {
			return q.Waiting, err
		}
	}
	return 0, err
}

// lasting is what was found of a run that is to go on.
type lasting struct {
	spec    Spec // of one of its newest researches
	tallies map[int]tally
	newest  time.Time // when the last of them was created
	stopped bool      // it was cancelled
}

// tally is what became of a generation.
type tally struct{ found, failed int } // failed, or cancelled

// RunCancelled is the reason with which the researches of a run are cancelled
// when it shall begin no more of them.
const RunCancelled = "The run was cancelled"

// lasting finds the runs that are to go on, the newest first. It reads on though
// it has found one: how much there is of a generation is known only when all of
// it was seen.
func (n *Night) lasting(ctx context.Context, now time.Time) (all []*lasting, err error) {
	byRun := map[string]*lasting{}
	q := ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.AgentResearch}, Roots: true, Limit: scanPages}
	for seen := 0; seen < maxScan; {
		page, err := n.ops.List(ctx, q)
		if err != nil {
			return nil, err
		}
		seen += len(page.Operations)
		for i := range page.Operations {
			op := &page.Operations[i]
			until, ok := lasts(op)
			if !ok || !now.Before(until) {
				continue
			}
			spec, err := ktrdr.ParseSpec[Spec](op.Spec)
			if err != nil {
				return nil, err
			}
			run := byRun[spec.Run]
			if run == nil {
				run = &lasting{spec: spec, tallies: map[int]tally{}}
				byRun[spec.Run], all = run, append(all, run)
			}
			run.add(&spec, op)
		}
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	return all, nil
}

// lasts reads out of what lists show until when a research's run lasts.
func lasts(op *ktrdr.Operation) (until time.Time, ok bool) {
	var l Listing
	if json.Unmarshal(op.Metadata, &l) != nil {
		return until, false
	}
	return l.Until, !l.Until.IsZero()
}

func (l *lasting) add(spec *Spec, op *ktrdr.Operation) {
	if spec.Generation > l.spec.Generation {
		l.spec = *spec
	}
	t := l.tallies[spec.Generation]
	t.found++
	if op.Status == ktrdr.Failed || op.Status == ktrdr.Cancelled {
		t.failed++
	}
	l.tallies[spec.Generation] = t
	l.stopped = l.stopped || op.CancelReason == RunCancelled
	if op.CreatedAt.After(l.newest) {
		l.newest = op.CreatedAt
	}
}

// askingTakes is how long the creation of a run may pause between two of its
// researches.
const askingTakes = time.Minute

// beingAsked says that the first generation is still being created: by whoever
// asked for the run, one after the other, under keys of their own. Nobody else
// may complete it, or some would be there twice.
func (l *lasting) beingAsked(now time.Time) bool {
	return l.spec.Generation == 0 && !l.whole() && now.Sub(l.newest) < askingTakes
}

// whole says that nothing of the last generation is missing.
func (l *lasting) whole() bool { return l.tallies[l.spec.Generation].found >= l.spec.Size }

// enoughFailures is how many failures, one after the other and nothing else,
// end a run; fewer may be bad luck.
const enoughFailures = 8

// hopeless says that only failures came of the last generation, and of the one
// before too unless it was large enough by itself.
func (l *lasting) hopeless() bool {
	last, before := l.tallies[l.spec.Generation], l.tallies[l.spec.Generation-1]
	return !l.stopped && l.whole() && last.failed == last.found &&
		(last.failed >= enoughFailures || before.found > 0 && before.failed == before.found)
}

// extend creates what is missing of a run's last generation, or else the next.
// A first generation whose creation was broken off stays as it is.
func (n *Night) extend(ctx context.Context, l *lasting) (Place, error) {
	number := l.spec.Generation
	if l.whole() || number == 0 {
		number++
	}
	begun := Place{Run: l.spec.Run, Generation: number}
	order, err := n.desk.generation(ctx, l.spec, number)
	if err != nil {
		return begun, err
	}
	for i, op := range order {
		key := ktrdr.IdempotencyKey{Key: fmt.Sprintf("run %s %d #%d", l.spec.Run, number, i), Body: sha256.Sum256([]byte(l.spec.Run))}
		if _, err := n.ops.Submit(ctx, op, key); err != nil {
			return begun, err
		}
	}
	return begun, nil
}

// generation makes a generation of a run, pinned as the run is: what is missing
// of the one that the spec is of, or a later one. The trials that others have
// made meanwhile, and the openings, are counted against a later one too.
func (d *Desk) generation(ctx context.Context, spec Spec, number int) ([]ktrdr.NewOperation, error) {
	before := spec.Trials.Count - spec.Generation*spec.Size - spec.Index - 1
	if number > spec.Generation {
		var err error
		if before, err = d.others(ctx, &spec); err != nil {
			return nil, err
		}
	}
	name := ""
	if spec.Strategy != "" {
		s, err := readStrategy(spec.Strategy, "given")
		if err != nil {
			return nil, err
		}
		name = s.Name
	}
	var all []ktrdr.NewOperation
	for i := range spec.Size {
		spec.Seed = num.Mix(spec.RunSeed, uint64(number*spec.Size+i)) % maxSeed
		spec.Place = Place{spec.Run, number, i}
		spec.count(before, spec.Size)
		op, err := operation(spec, name, true)
		if err != nil {
			return nil, err
		}
		all = append(all, op)
	}
	return all, nil
}

// others counts the trials of other runs, and sets how often these have opened
// the holdout.
func (d *Desk) others(ctx context.Context, spec *Spec) (trials int, err error) {
	all, err := d.cfg.Ledger.CountNotes(ctx, ktrdr.NoteQuery{Kind: NoteTrial})
	if err != nil {
		return 0, err
	}
	own, err := d.cfg.Ledger.CountNotes(ctx, ktrdr.NoteQuery{Kind: NoteTrial, Run: spec.Run})
	if err != nil {
		return 0, err
	}
	spec.Openings.Known, err = NewMemory(d.cfg.Ledger).known(ctx, spec, ktrdr.NoteQuery{}, spec.Run)
	return int(all[NoteTrial] - own[NoteTrial]), err
}
