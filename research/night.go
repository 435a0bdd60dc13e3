package research

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
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

// Keep creates what is due now, and says whether there is a run that may need
// more later.
func (n *Night) Keep(ctx context.Context, now time.Time) (lasting bool, err error) {
	waiting, err := n.desk.waiting(ctx)
	if err != nil || waiting > 0 {
		return true, err
	}
	last, err := n.lasting(ctx, now)
	if err != nil || len(last) == 0 {
		return false, err
	}
	if paused, err := n.ops.Paused(ctx); err != nil || paused {
		return true, err
	}
	for _, g := range last {
		if err := n.extend(ctx, g); err != nil {
			return true, fmt.Errorf("next generation of %s: %w", g.spec.Run, err)
		}
	}
	return true, nil
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

// generation is what was found of a run's last generation.
type generation struct {
	spec    Spec // of one of its researches
	found   int
	failed  int // or cancelled
	stopped bool
}

// RunCancelled is the reason with which the researches of a run are cancelled
// when it shall begin no more of them.
const RunCancelled = "The run was cancelled"

// lasting finds the last generations of the runs that are to go on, the newest
// run first.
func (n *Night) lasting(ctx context.Context, now time.Time) (all []*generation, err error) {
	byRun := map[string]*generation{}
	q := ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.AgentResearch}, Roots: true, Limit: scanPages}
	for seen := 0; seen < maxScan && len(all) == 0; {
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
			spec, err := Parse[Spec](op.Spec)
			if err != nil {
				return nil, err
			}
			g := byRun[spec.Run]
			if g == nil {
				g = &generation{spec: spec}
				byRun[spec.Run], all = g, append(all, g)
			}
			g.add(&spec, op)
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

func (g *generation) add(spec *Spec, op *ktrdr.Operation) {
	switch {
	case spec.Generation < g.spec.Generation:
		return
	case spec.Generation > g.spec.Generation:
		*g = generation{spec: *spec}
	}
	g.found++
	g.stopped = g.stopped || op.CancelReason == RunCancelled
	if op.Status == ktrdr.Failed || op.Status == ktrdr.Cancelled {
		g.failed++
	}
}

// extend creates what is missing of a generation, or else the next one. One of
// which nothing came but failures is the last, and one that was cancelled as a
// whole.
func (n *Night) extend(ctx context.Context, g *generation) error {
	number := g.spec.Generation
	if g.stopped {
		return nil
	}
	if g.found >= g.spec.Size {
		if g.failed == g.found {
			return nil
		}
		number++
	}
	order, err := n.desk.generation(ctx, g.spec, number)
	if err != nil {
		return err
	}
	for i, op := range order {
		key := ktrdr.IdempotencyKey{Key: fmt.Sprintf("run %s %d #%d", g.spec.Run, number, i), Body: sha256.Sum256([]byte(g.spec.Run))}
		if _, err := n.ops.Submit(ctx, op, key); err != nil {
			return err
		}
	}
	return nil
}

// generation makes a later generation of a run, pinned as the run is. The
// trials that others have made meanwhile are counted against it too.
func (d *Desk) generation(ctx context.Context, spec Spec, number int) ([]ktrdr.NewOperation, error) {
	counts := [2]int64{}
	for i, run := range []string{"", spec.Run} {
		n, err := d.cfg.Ledger.CountNotes(ctx, ktrdr.NoteQuery{Kind: NoteTrial, Run: run})
		if err != nil {
			return nil, err
		}
		counts[i] = n[NoteTrial]
	}
	before := int(counts[0]-counts[1]) + number*spec.Size
	name := ""
	if spec.Strategy != "" {
		s, _, err := readStrategy(spec.Strategy, "given")
		if err != nil {
			return nil, err
		}
		name = s.Name
	}
	var all []ktrdr.NewOperation
	for i := range spec.Size {
		spec.Seed = num.Mix(spec.RunSeed, uint64(number*spec.Size+i)) % maxSeed
		spec.Place = Place{spec.Run, number, i}
		spec.Trials = evidence.Trials{Count: before + i + 1, Planned: before + spec.Size}
		op, err := operation(spec, name, true)
		if err != nil {
			return nil, err
		}
		all = append(all, op)
	}
	return all, nil
}
