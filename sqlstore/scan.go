package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// The sets of statuses, spelled as the partial indexes spell them: SQLite uses
// such an index only where the query repeats its predicate word by word.
const (
	isLive    = `status IN ('RUNNING', 'PENDING_RECONCILIATION')`
	isOpen    = `completed_at IS NULL`
	isStopped = `status IN ('FAILED', 'CANCELLED')`
)

// operationColumns is what scanOperation reads, in its order. A wait that is
// over is none: whoever sees one need not ask what time it is.
const operationColumns = `id, operation_type, status, phase, epoch, attempts, priority,
	COALESCE(parent_id, ''), root_id, ordinal, is_backend_local, has_plan, worker_id, held_by,
	cancel_requested, cancel_reason, losses, max_step, backend_died, spec, state, metadata, progress,
	result, error_message, error, COALESCE(retry_of, ''), created_at, COALESCE(started_at, 0),
	COALESCE(claimed_at, 0), COALESCE(heartbeat_at, 0), COALESCE(completed_at, 0),
	ckpt_id, COALESCE(ckpt_type, ''), COALESCE(ckpt_epoch, 0), COALESCE(ckpt_seq, 0),
	COALESCE(ckpt_step, 0), COALESCE(ckpt_size, 0), COALESCE(ckpt_at, 0),
	depth, ended_by, ending, queue, run, generation, idx, COALESCE(session, 0),
	CASE WHEN not_before > {now} THEN not_before ELSE 0 END, rung, score, trials, compacted, pinned, packed`

// briefColumns is operationColumns without what lists do not show. These may be
// kilobytes of each row.
var briefColumns = strings.NewReplacer(
	" spec, state, metadata,", " '', NULL, '',",
	"\tresult, error_message,", "\tNULL, error_message,",
	" ending,", " NULL,",
	" packed", " NULL",
).Replace(operationColumns)

// operationRow is an operation with what the store alone knows about it.
type operationRow struct {
	ktrdr.Operation
	depth   int
	endedBy ktrdr.Input

	generation, index int // of the run that it belongs to

	ending *ktrdr.Finished // how a parent ends once its last open child has
	lostTo string          // what became of its checkpoints: expired, deleted, or nothing
}

func scanOperation(row scanner) (operationRow, error) {
	var (
		op                            operationRow
		local, plan, cancel, died     int
		compacted, pinned             int
		state, result, failure        sql.NullString
		spec, metadata, progress      string
		created, started, claimed     int64
		heartbeat, completed, savedAt int64
		notBefore                     int64
		checkpointID, ending          sql.NullString
		saved                         ktrdr.CheckpointInfo
		place                         ktrdr.QueuePlace
		packed                        []byte
	)
	err := row.Scan(&op.ID, &op.Type, &op.Status, &op.Phase, &op.Epoch, &op.Attempts, &op.Priority,
		&op.Parent, &op.Root, &op.Ordinal, &local, &plan, &op.Worker, &op.HeldBy,
		&cancel, &op.CancelReason, &op.Losses, &op.MaxStep, &died, &spec, &state, &metadata, &progress,
		&result, &op.ErrorMessage, &failure, &op.RetryOf, &created, &started,
		&claimed, &heartbeat, &completed,
		&checkpointID, &saved.Type, &saved.Epoch, &saved.Seq, &saved.Step, &saved.Size, &savedAt,
		&op.depth, &op.endedBy, &ending, &place.Name, &place.Run, &place.Generation, &place.Index, &op.Session,
		&notBefore, &op.Rung, &op.Score, &op.Trials, &compacted, &pinned, &packed)
	if err != nil {
		return operationRow{}, err
	}
	op.BackendLocal, op.HasPlan, op.CancelRequested, op.BackendDied = local == 1, plan == 1, cancel == 1, died == 1
	op.Compacted, op.Pinned = compacted == 1, pinned == 1
	if spec != "" { // empty in a list
		op.Spec, op.Metadata = json.RawMessage(spec), json.RawMessage(metadata)
	}
	if packed != nil {
		if result.String, err = unpack(packed); err != nil {
			return operationRow{}, fmt.Errorf("result of %s: %w", op.ID, err)
		}
		result.Valid = true
	}
	op.State, op.Result = rawJSON(state), rawJSON(result)
	op.CreatedAt, op.StartedAt, op.ClaimedAt = instant(created), instant(started), instant(claimed)
	op.HeartbeatAt, op.CompletedAt, op.NotBefore = instant(heartbeat), instant(completed), instant(notBefore)
	op.Run, op.generation, op.index = place.Run, place.Generation, place.Index
	if place.Name != "" {
		op.Queue = &place
	}
	if checkpointID.Valid {
		saved.ID, saved.CreatedAt = checkpointID.String, instant(savedAt)
		op.Checkpoint = &saved
	} else {
		op.lostTo = string(saved.Type)
	}
	if err := json.Unmarshal([]byte(progress), &op.Progress); err != nil {
		return operationRow{}, fmt.Errorf("progress of %s: %w", op.ID, err)
	}
	if failure.Valid {
		if err := json.Unmarshal([]byte(failure.String), &op.Error); err != nil {
			return operationRow{}, fmt.Errorf("error of %s: %w", op.ID, err)
		}
	}
	if ending.Valid {
		if err := json.Unmarshal([]byte(ending.String), &op.ending); err != nil {
			return operationRow{}, fmt.Errorf("ending of %s: %w", op.ID, err)
		}
	}
	return op, nil
}

// scanOperations reads rows to their end and closes them.
func scanOperations(rows *sql.Rows, err error) ([]operationRow, error) {
	return gather(rows, err, scanOperation)
}

// gather reads rows to their end and closes them.
func gather[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

func scanID(row scanner) (id ktrdr.OperationID, err error) {
	err = row.Scan(&id)
	return id, err
}

const selectOperation query = `SELECT ` + operationColumns + ` FROM operations WHERE id = $1`

// load reads one operation; CodeNotFound.
func load(ctx context.Context, q queryer, id ktrdr.OperationID) (operationRow, error) {
	if !id.Valid() {
		return operationRow{}, notFound(id)
	}
	op, err := scanOperation(q.row(ctx, selectOperation, id))
	if errors.Is(err, sql.ErrNoRows) {
		return op, notFound(id)
	}
	return op, err
}

func notFound(id ktrdr.OperationID) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no operation %q; `ktrdr ops` lists them", clip(string(id)))
}

// clip shortens what a caller sent before it is quoted back.
func clip(s string) string { return text.Cut(ktrdr.CleanText(s), 100) }

// shortened makes what a provider or a person said fit to be stored: it must
// not be why something else cannot be.
func shortened(s string) string { return text.Cut(ktrdr.CleanText(s), 2048) }

func rawJSON(s sql.NullString) json.RawMessage {
	if !s.Valid {
		return nil
	}
	return json.RawMessage(s.String)
}

// optional stores an empty text as NULL.
func optional[T ~string | ~[]byte](s T) sql.NullString {
	return sql.NullString{String: string(s), Valid: len(s) > 0}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// placeholders writes "$from, …" for n arguments.
func placeholders(from, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(from+i))
	}
	return b.String()
}

func marshal(v any) (string, error) {
	text, err := json.Marshal(v)
	return ktrdr.CleanText(string(text)), err
}

func span(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
