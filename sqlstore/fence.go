package sqlstore

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// fenced is write for a body that begins with a fence: a conditional update on
// the epoch the caller speaks for. A refused epoch is told twice, to the
// caller as an error and to the log as an event; so the transaction commits,
// with nothing in it but that event.
func (s *Store) fenced(ctx context.Context, body func(t *tx) error) error {
	var refused error
	err := s.write(ctx, normal, func(t *tx) error {
		refused = nil
		err := body(t)
		te, ok := errors.AsType[*ktrdr.TransitionError](err)
		if !ok || te.Code != ktrdr.CodeStaleEpoch {
			return err
		}
		refused = err
		insertRefused(ctx, t, te)
		return nil
	})
	if err != nil {
		return err
	}
	return refused
}

// step is Step's newStep: a new furthest step resets the count of lost workers.
// Any step other than the last is progress, even one that is repeated after a
// resume.
const step = `losses = CASE WHEN $3 > max_step THEN 0 ELSE losses END,
	max_step = CASE WHEN $3 > max_step THEN $3 ELSE max_step END,
	moved_at = CASE WHEN $3 <> last_step THEN {now} ELSE moved_at END,
	last_step = $3`

// held is the condition of every write that speaks for a claim. A parent is
// moved by its plan; no worker holds it.
const held = `id = $1 AND epoch = $2 AND has_plan = 0 AND ` + isLive

const (
	saveStep     query = `UPDATE operations SET ` + step + ` WHERE ` + held
	saveProgress query = `UPDATE operations SET progress = $4, ` + step + ` WHERE ` + held
)

// fenceSave makes Step's Save transition. Call it first in the body of a
// Store.fenced: there a refusal is logged.
func fenceSave(ctx context.Context, t *tx, op ktrdr.OperationID, epoch ktrdr.Epoch, step int64) error {
	return fenceBy(ctx, t, op, epoch, saveStep, op, epoch, step)
}

// fenceBy runs the conditional update of a save.
func fenceBy(ctx context.Context, t *tx, op ktrdr.OperationID, epoch ktrdr.Epoch, text query, args ...any) error {
	if !op.Valid() {
		return notFound(op)
	}
	n, err := t.exec(ctx, text, args...)
	if err == nil && n == 0 {
		err = refusal(ctx, t, op, ktrdr.Act{Input: ktrdr.Save, Epoch: epoch})
	}
	return err
}

// SaveProgress implements ktrdr.Operations.
func (s *Store) SaveProgress(ctx context.Context, p ktrdr.ProgressReport) error {
	progress, err := marshal(p.Progress)
	if err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the progress of %s cannot be stored: %w", p.Operation, err)
	}
	return s.fenced(ctx, func(t *tx) error {
		return fenceBy(ctx, t, p.Operation, p.Epoch, saveProgress, p.Operation, p.Epoch, p.Progress.StepsCompleted, progress)
	})
}

const selectPlace query = `SELECT status, epoch, has_plan FROM operations WHERE id = $1`

// refusal says why a conditional update of act found nothing to change.
func refusal(ctx context.Context, q queryer, id ktrdr.OperationID, act ktrdr.Act) error {
	var plan int
	te := &ktrdr.TransitionError{ID: id, Input: act.Input, Given: act.Epoch, Code: ktrdr.CodeConflict}
	if err := q.row(ctx, selectPlace, id).Scan(&te.From, &te.Epoch, &plan); err != nil {
		return ifNoRow(err, notFound(id))
	}
	switch act.Input {
	case ktrdr.Save, ktrdr.Finish, ktrdr.Release, ktrdr.LoseChild:
		switch {
		case te.Epoch != act.Epoch || !te.From.Live():
			te.Code = ktrdr.CodeStaleEpoch
		case plan == 1:
			return ktrdr.Errorf(ktrdr.CodeConflict, "operation %s is moved by its plan, not by a worker", id)
		case act.Input == ktrdr.Finish && !act.Outcome.Terminal():
			te.Code = ktrdr.CodeInvalid
		}
	}
	return te
}

// batch is how many operations one statement or one sweeping transaction
// touches at most: no writer may wait long for another.
const batch = 100

// rowsOf writes "VALUES ($from, …), …" for rows of the given SQL types and
// lists the arguments. Rows are padded to a power of two by repeating the
// last one, so that a few texts serve every number of rows.
func rowsOf[T any](from int, all []T, types []string, of func(T) []any) (string, []any) {
	n := 1
	for n < len(all) {
		n *= 2
	}
	var text strings.Builder
	var args []any
	text.WriteString("VALUES ")
	for i := range n {
		if i > 0 {
			text.WriteString(", ")
		}
		for j, v := range of(all[min(i, len(all)-1)]) {
			text.WriteString([]string{"(", ", "}[min(j, 1)])
			text.WriteString("CAST($" + strconv.Itoa(from+len(args)) + " AS " + types[j] + ")")
			args = append(args, v)
		}
		text.WriteString(")")
	}
	return text.String(), args
}

// claims is rowsOf for (id, epoch, step).
func claims(from int, all []ktrdr.Claimed) (string, []any) {
	return rowsOf(from, all, []string{"TEXT", "BIGINT", "BIGINT"}, func(c ktrdr.Claimed) []any {
		return []any{c.Operation, c.Epoch, c.Step}
	})
}

// epochs is rowsOf for (id, epoch).
func epochs(from int, all []ktrdr.Claimed) (string, []any) {
	return rowsOf(from, all, []string{"TEXT", "BIGINT"}, func(c ktrdr.Claimed) []any {
		return []any{c.Operation, c.Epoch}
	})
}
