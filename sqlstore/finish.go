package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// An operation whose cancel was acknowledged ends CANCELLED, whatever its own end
// was. Statements that end operations take the failure of
// a cancelled one as $1.
const (
	ifCancelled      = `CASE WHEN cancel_requested = 1 THEN `
	cancelledMessage = `COALESCE(NULLIF(cancel_reason, ''), 'Cancelled')`
)

var cancelledFailure = failureText(ktrdr.NewFailure(ktrdr.CodeCancelled, ktrdr.ErrCancelled))

// failureText is a failure as it is stored. The triggers look into it, and
// PostgreSQL looks into no JSON that holds a NUL, not even an escaped one.
func failureText(f *ktrdr.Failure) string {
	clean := *f
	clean.Code = ktrdr.Code(ktrdr.CleanText(string(f.Code)))
	clean.Class = ktrdr.Class(ktrdr.CleanText(string(f.Class)))
	clean.Severity = ktrdr.Severity(ktrdr.CleanText(string(f.Severity)))
	clean.Chain = slices.Clone(f.Chain)
	for i, text := range clean.Chain {
		clean.Chain[i] = ktrdr.CleanText(text)
	}
	text, _ := json.Marshal(clean) // strings and a bool always marshal
	return string(text)
}

const endOne query = `UPDATE operations SET
		status = ` + ifCancelled + `'CANCELLED' ELSE $4 END,
		result = ` + ifCancelled + `NULL ELSE $5 END,
		error_message = ` + ifCancelled + cancelledMessage + ` ELSE $6 END,
		error = ` + ifCancelled + `$1 ELSE $7 END,
		progress = COALESCE($9, progress),
		rung = ` + ifCancelled + `'' ELSE $10 END,
		score = ` + ifCancelled + `NULL ELSE CAST($11 AS DOUBLE PRECISION) END,
		completed_at = {now}, ended_by = 'finish', ending = NULL
	WHERE id = $2 AND epoch = $3 AND has_plan = $8 AND ` + isLive + `
	RETURNING {operation}`

// end makes Step's Finish transition and keeps what the ledger says of it;
// sql.ErrNoRows when it is refused. The outcome is terminal and f is tidy.
func (s *Store) end(ctx context.Context, t *tx, f ktrdr.Finished, plan bool) (operationRow, error) {
	var failure sql.NullString
	if f.Error != nil {
		failure = optional(failureText(f.Error))
	}
	var progress sql.NullString
	if f.Progress != nil {
		text, err := marshal(f.Progress)
		if err != nil {
			return operationRow{}, ktrdr.Errorf(ktrdr.CodeInvalid, "the progress of %s cannot be stored: %w", f.Operation, err)
		}
		progress = optional(text)
	}
	t.wake()
	op, err := scanOperation(t.row(ctx, endOne, cancelledFailure, f.Operation, f.Epoch,
		f.Outcome, optional(f.Result), f.ErrorMessage, failure, bit(plan), progress, ktrdr.CleanText(f.Rung), finite(f.Score)))
	if err != nil {
		return op, err
	}
	if err := s.keep(ctx, t, op); err != nil {
		return op, err
	}
	return op, s.chainEnded(ctx, t, &op)
}

// tidy makes what a worker or a plan says about an end fit to be stored: a bad
// byte in a message must not be why a result cannot be saved.
func tidy(f ktrdr.Finished) (ktrdr.Finished, error) {
	f.Result = json.RawMessage(ktrdr.CleanText(string(f.Result)))
	if string(bytes.TrimSpace(f.Result)) == "null" { // no result, spelled out
		f.Result = nil
	}
	if len(f.Result) > 0 && !json.Valid(f.Result) {
		return f, ktrdr.Errorf(ktrdr.CodeInvalid, "the result of %s is not valid JSON", f.Operation)
	}
	code, message := ktrdr.CodeFailed, "Failed without saying why"
	switch f.Outcome {
	case ktrdr.Completed:
		f.ErrorMessage, f.Error = "", nil
		return f, nil
	case ktrdr.Cancelled:
		code, message = ktrdr.CodeCancelled, "Cancelled"
	}
	if f.Error == nil {
		f.Error = ktrdr.NewFailure(code, errors.New(cmp.Or(f.ErrorMessage, message)))
	}
	if len(f.Error.Chain) > 0 {
		message = f.Error.Chain[0]
	}
	f.ErrorMessage = ktrdr.CleanText(cmp.Or(f.ErrorMessage, message))
	return f, nil
}

// Finish implements ktrdr.Operations.
func (s *Store) Finish(ctx context.Context, f ktrdr.Finished) (ktrdr.Operation, error) {
	if !f.Operation.Valid() {
		return ktrdr.Operation{}, notFound(f.Operation)
	}
	f, err := tidy(f)
	if err != nil {
		return ktrdr.Operation{}, err
	}
	var op operationRow
	err = s.fenced(ctx, func(t *tx) (err error) {
		s.lockTree(ctx, t, f.Operation)
		op, err = s.finish(ctx, t, f)
		return err
	})
	return op.Operation, err
}

func (s *Store) finish(ctx context.Context, t *tx, f ktrdr.Finished) (operationRow, error) {
	op, err := operationRow{}, sql.ErrNoRows
	if f.Outcome.Terminal() {
		op, err = s.end(ctx, t, f, false)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return finishedBefore(ctx, t, f)
	}
	if err != nil {
		return op, err
	}
	if f.Checkpoint != nil && !pointless(op, f.Checkpoint) {
		last := *f.Checkpoint
		last.Operation, last.Epoch = f.Operation, f.Epoch
		if _, err := insertCheckpoint(ctx, t, last, f.StateBlob); err != nil {
			return op, err
		}
	}
	if err := s.settle(ctx, t, parentOf(op)...); err != nil || f.Checkpoint == nil {
		return op, err
	}
	return load(ctx, t, op.ID) // which names the checkpoint now
}

// pointless reports a final checkpoint of work that was cancelled just as it ended.
// It holds a result and not a state to resume from. A resume uses the checkpoint
// before it.
func pointless(op operationRow, c *ktrdr.NewCheckpoint) bool {
	return op.Status == ktrdr.Cancelled && c.Type == ktrdr.CheckpointFinal
}

// finishedBefore answers a finish whose first answer was lost.
func finishedBefore(ctx context.Context, t *tx, f ktrdr.Finished) (operationRow, error) {
	op, err := load(ctx, t, f.Operation)
	if err != nil {
		return op, err
	}
	if op.Epoch != f.Epoch || !op.Status.Terminal() || op.endedBy != ktrdr.Finish || !f.Outcome.Terminal() {
		return operationRow{}, refusal(ctx, t, f.Operation, ktrdr.Act{Input: ktrdr.Finish, Epoch: f.Epoch, Outcome: f.Outcome})
	}
	if !op.endedAs(f) {
		return operationRow{}, ktrdr.Errorf(ktrdr.CodeKeyReused,
			"epoch %d of operation %s has already ended %s with another result; the first one stands", f.Epoch, op.ID, op.Status)
	}
	if kept, err := keptLast(ctx, t, op, f.Checkpoint); err != nil || !kept {
		if err == nil {
			err = ktrdr.Errorf(ktrdr.CodeKeyReused, "epoch %d of operation %s has already ended %s with another checkpoint; the first one stands",
				f.Epoch, op.ID, op.Status)
		}
		return operationRow{}, err
	}
	return op, nil
}

const selectLast query = `SELECT checkpoint_type, step FROM checkpoints WHERE tenant = '' AND thread_id = $1 AND ns = '' AND id = $2`

// keptLast says whether the checkpoint that came with a repeated finish could
// be one that the operation has. Of an operation whose checkpoints were all
// deleted since, any could.
func keptLast(ctx context.Context, t *tx, op operationRow, c *ktrdr.NewCheckpoint) (bool, error) {
	if c == nil || op.Checkpoint == nil || pointless(op, c) {
		return true, nil
	}
	var kind ktrdr.CheckpointType
	var step int64
	err := t.row(ctx, selectLast, op.ID, ktrdr.CheckpointID(op.Epoch, c.Seq)).Scan(&kind, &step)
	return err == nil && kind == c.Type && step == c.Step, ifNoRow(err, nil)
}

// endedAs says whether f, which is tidy, could be what ended the operation. A
// cancelled one kept nothing of its finish, so that any could.
func (op *operationRow) endedAs(f ktrdr.Finished) bool {
	if op.CancelRequested {
		return true
	}
	return op.Status == f.Outcome && op.ErrorMessage == f.ErrorMessage && sameJSON(op.Result, f.Result) &&
		(op.Error == nil) == (f.Error == nil) && (f.Error == nil || failureText(op.Error) == failureText(f.Error))
}

// sameJSON compares two valid texts, or none, but for their white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return len(a) == 0 && len(b) == 0 || json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
