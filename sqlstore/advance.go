package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// The bounds of a tree. A plan that goes beyond them is a plan gone wrong.
const (
	maxDepth    = 16
	maxChildren = 1000
)

// ask is a parent whose plan is to be asked, and why.
type ask struct {
	id  ktrdr.OperationID
	why ktrdr.Why
}

// settle asks the plans of the given parents, does what they decide, and continues
// with the parents that this concerns, until no plan is left to ask. The caller has
// locked their tree.
func (s *Store) settle(ctx context.Context, t *tx, asks ...ask) error {
	for len(asks) > 0 {
		next := asks[0]
		more, err := s.advance(ctx, t, next)
		if err != nil {
			return fmt.Errorf("advance %s: %w", next.id, err)
		}
		asks = append(asks[1:], more...)
	}
	return nil
}

// selectFamily finds a parent and its children.
const selectFamily query = `SELECT {operation} FROM operations WHERE id = $1
	UNION ALL SELECT {operation} FROM operations WHERE parent_id = $1`

// family returns a parent and its children, these in their order.
func family(ctx context.Context, q queryer, id ktrdr.OperationID) (p operationRow, children []operationRow, err error) {
	all, err := collect(ctx, q, scanOperation, selectFamily, id)
	if err != nil {
		return p, nil, err
	}
	slices.SortFunc(all, func(a, b operationRow) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.ID, b.ID))
	})
	if len(all) == 0 || all[0].ID != id {
		return p, nil, notFound(id)
	}
	return all[0], all[1:], nil
}

// advance asks one parent's plan and does what it decides. One that waits in
// its queue is asked when its turn comes.
func (s *Store) advance(ctx context.Context, t *tx, a ask) ([]ask, error) {
	p, children, err := family(ctx, t, a.id)
	if err != nil || !p.HasPlan || !p.Status.Live() {
		return nil, err
	}
	if p.closed() {
		return s.endClosed(ctx, t, p, children)
	}
	plan := s.types[p.Type].Plan
	if plan == nil {
		return nil, nil // another backend knows it
	}
	d, err := s.consult(plan, p, children, a.why)
	if err == nil {
		err = s.checkDecision(d, p, children)
	}
	if err != nil {
		return s.failPlan(ctx, t, p, err)
	}
	return s.apply(ctx, t, p, children, d)
}

// consult asks the plan. Its panic is a failure of its parent alone.
// Its stack goes to the log: what is stored is the same on every database.
func (s *Store) consult(plan ktrdr.Plan, p operationRow, rows []operationRow, why ktrdr.Why) (d ktrdr.Decision, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("plan panicked", "op", p.ID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = ktrdr.Errorf(ktrdr.CodePanic, "plan panicked: %v", r)
		}
	}()
	return plan.Next(p.Operation, fieldOf(rows, func(child operationRow) ktrdr.Operation { return child.Operation }), why)
}

// checkDecision refuses, before anything of it is done, a decision that cannot
// be done completely.
func (s *Store) checkDecision(d ktrdr.Decision, p operationRow, children []operationRow) error {
	if n := len(children) + len(d.Create); n > maxChildren {
		return fmt.Errorf("plan wants %d children; a parent has at most %d", n, maxChildren)
	}
	if p.depth >= maxDepth && len(d.Create) > 0 {
		return fmt.Errorf("plan wants children %d levels below the root; there are at most %d", p.depth+1, maxDepth)
	}
	if _, err := marshal(d.Progress); err != nil {
		return fmt.Errorf("plan's progress: %w", err)
	}
	if len(d.State) > ktrdr.InlineState || d.State != nil && !validJSON(d.State) {
		return fmt.Errorf("plan's state is not JSON of at most %d bytes", ktrdr.InlineState)
	}
	if d.Finish != nil {
		if !d.Finish.Outcome.Terminal() || len(d.Create)+len(d.Resume) > 0 {
			return errors.New("plan finishes its parent as something that is no end, or starts children at the same time")
		}
		if c := d.Finish.Checkpoint; c != nil && (!c.Type.Known() || len(c.State) > ktrdr.InlineState || !validJSON(c.State)) {
			return fmt.Errorf("plan's last checkpoint has no known type, or no state that is JSON of at most %d bytes", ktrdr.InlineState)
		}
	}
	for _, n := range d.Create {
		n.Parent = p.ID
		if err := s.checkNew(n); err != nil {
			return fmt.Errorf("plan's new child: %w", err)
		}
	}
	if err := checkNotes(d.Notes); err != nil {
		return err
	}
	for _, id := range d.Resume {
		i := slices.IndexFunc(children, func(c operationRow) bool { return c.ID == id })
		if i < 0 || children[i].Status == ktrdr.Completed {
			return fmt.Errorf("plan resumes %s, which is no child of its parent or is COMPLETED", id)
		}
	}
	return nil
}

// failPlan ends a parent whose plan went wrong, and keeps what it had reached.
func (s *Store) failPlan(ctx context.Context, t *tx, p operationRow, err error) ([]ask, error) {
	how := failedPlan(p, err)
	if err := moveParent(ctx, t, p, ktrdr.Decision{Finish: &how}); err != nil {
		return nil, err
	}
	return s.stop(ctx, t, p, how)
}

// failedPlan is how a parent ends whose plan went wrong.
func failedPlan(p operationRow, err error) ktrdr.Finished {
	err = fmt.Errorf("plan of %s: %w", p.Type, err)
	return ktrdr.Finished{Outcome: ktrdr.Failed, ErrorMessage: err.Error(), Error: ktrdr.NewFailure(ktrdr.CodeOf(err), err)}
}

const (
	planned = `UPDATE operations SET phase = CASE WHEN $3 = '' THEN phase ELSE $3 END,
			state = COALESCE($4, state), progress = COALESCE($5, progress)`
	updateParent query = planned + ` WHERE ` + plans
	updatePhase  query = planned + `,
			ckpt_id = $6, ckpt_type = $7, ckpt_epoch = $2, ckpt_seq = $8, ckpt_step = $9, ckpt_size = $10, ckpt_at = $11
		WHERE ` + plans

	// plans is the condition under which a plan moves its parent.
	plans = `id = $1 AND epoch = $2 AND has_plan = 1 AND ` + isLive
)

// apply does what a plan decided, all of it or nothing.
func (s *Store) apply(ctx context.Context, t *tx, p operationRow, children []operationRow, d ktrdr.Decision) (asks []ask, err error) {
	if !d.Changes() {
		return nil, nil
	}
	t.wake()
	if len(d.Create)+len(d.Resume) > 0 {
		cancelled, err := runCancelled(ctx, t, shareRun, p.Run)
		if err != nil {
			return nil, err
		}
		if cancelled { // and CancelBatch has not come to this research yet
			_, asks, err := cancelFrom(ctx, t, p.ID, false, reasonRunCancelled)
			return asks, err
		}
	}
	if err := moveParent(ctx, t, p, d); err != nil {
		return nil, err
	}
	s.addNotes(ctx, t, p.ID, d.Notes)
	for _, n := range d.Create {
		id, err := s.createChild(ctx, t, p, n)
		if errors.Is(err, errTaken) { // by the plan: made-up ids were tried again
			return s.stop(ctx, t, p, failedPlan(p, fmt.Errorf("new child %s: %w", n.ID, err)))
		}
		if err != nil {
			return nil, err
		}
		if n.HasPlan {
			asks = append(asks, ask{id, ktrdr.WhyCreated})
		}
	}
	for _, id := range d.Resume {
		more, err := resumeChild(ctx, t, id)
		if err != nil {
			return nil, err
		}
		asks = append(asks, more...)
	}
	if d.Finish == nil {
		return asks, nil
	}
	if slices.ContainsFunc(children, func(c operationRow) bool { return !c.Status.Terminal() }) {
		return s.stop(ctx, t, p, *d.Finish)
	}
	return s.endParent(ctx, t, p, *d.Finish)
}

// moveParent writes what the decision says of the parent itself, and leaves a
// checkpoint of it as the decision makes it, so that it can be resumed
// whatever comes next. Progress alone is no phase.
func moveParent(ctx context.Context, t *tx, p operationRow, d ktrdr.Decision) error {
	var progress string
	if d.Progress != nil {
		var err error
		if progress, err = marshal(d.Progress); err != nil {
			return err
		}
	}
	args := []any{p.ID, p.Epoch, ktrdr.CleanText(d.Phase), optional(d.State), optional(progress)}
	if d.Phase == "" && d.State == nil && len(d.Create)+len(d.Resume) == 0 && d.Finish == nil {
		if d.Progress == nil {
			return nil
		}
		t.later(ctx, updateParent, args...)
		return nil
	}
	row, err := rowOf(phaseOf(p, d), nil)
	if err != nil {
		return err
	}
	c, err := row.store(ctx, t)
	if err != nil {
		return err
	}
	t.later(ctx, updatePhase, append(args, c.ID, c.Type, c.Seq, c.Step, c.Size, micros(c.CreatedAt))...)
	return nil
}

// phaseOf is the checkpoint of a parent that a decision moves.
func phaseOf(p operationRow, d ktrdr.Decision) ktrdr.NewCheckpoint {
	c := ktrdr.NewCheckpoint{Type: ktrdr.CheckpointPhase, Step: p.MaxStep}
	switch {
	case d.Finish == nil:
	case d.Finish.Checkpoint != nil:
		c = *d.Finish.Checkpoint
	case d.Finish.Outcome == ktrdr.Failed:
		c.Type = ktrdr.CheckpointFailure
	case d.Finish.Outcome == ktrdr.Cancelled:
		c.Type = ktrdr.CheckpointCancellation
	}
	c.Operation, c.Epoch, c.Seq = p.ID, p.Epoch, 1
	if last := p.Checkpoint; last != nil && last.Epoch == p.Epoch {
		c.Seq = last.Seq + 1
	}
	for _, state := range [][]byte{d.State, p.State, []byte("{}")} {
		if c.State == nil {
			c.State = state
		}
	}
	return c
}

const delayChild query = `UPDATE operations SET not_before = {now} + CAST($2 AS BIGINT) WHERE id = $1 AND status = 'PENDING'`

// createChild adds a child to p; errTaken. One with a plan of its own runs at once.
func (s *Store) createChild(ctx context.Context, t *tx, p operationRow, n ktrdr.NewOperation) (id ktrdr.OperationID, err error) {
	n.Parent = p.ID
	t.wakeWorkers()
	if id = n.ID; id == "" {
		id, err = s.insertChild(ctx, t, p, n)
	} else { // which its plan has chosen
		var made int64
		if made, err = t.exec(ctx, insertUnlessTaken, s.newRow(id, n, &p, 0, entered{}).inserted()...); err == nil && made == 0 {
			err = errTaken
		}
	}
	if err == nil && n.HasPlan {
		t.later(ctx, claimParent, id)
	}
	if err == nil && n.Delay > 0 {
		t.later(ctx, delayChild, id, n.Delay.Microseconds())
	}
	return id, err
}

// insertChild stores a child under an id of our own making. Should that be
// taken, SQLite says so at once, and PostgreSQL when the transaction ends,
// which is then run again.
func (s *Store) insertChild(ctx context.Context, t *tx, p operationRow, n ktrdr.NewOperation) (id ktrdr.OperationID, err error) {
	for range idTries {
		id = ktrdr.NewOperationID(n.Type, time.Now())
		if err = t.execer.later(ctx, insertNew, s.newRow(id, n, &p, 0, entered{}).inserted()...); !isDuplicate(err) {
			break
		}
	}
	return id, err
}

// resumeChild resumes an ended child for its parent, which needs no checkpoint
// for it. One that is open already needs nothing.
func resumeChild(ctx context.Context, t *tx, id ktrdr.OperationID) ([]ask, error) {
	child, err := load(ctx, t, id)
	if err != nil || !child.Status.Terminal() {
		return nil, err
	}
	return resume(ctx, t, id)
}
