package sqlstore

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// operationRow is an operation with what the store alone knows about it.
type operationRow struct {
	ktrdr.Operation
	depth   int
	endedBy ktrdr.Input
	look    string // key of its look; empty if it has none

	queue             string // that it stands in; empty for none
	generation, index int    // of the run that it belongs to

	ending *ktrdr.Finished      // how a parent ends once its last open child has
	saved  ktrdr.CheckpointInfo // the newest; without an id, its type says why there is none: expired, deleted, skipped
	packed []byte               // the result, deflated
}

// column is one column of operations.
type column struct {
	name   string
	field  any    // of the row that is read or made; nil: only statements use the column
	read   string // SQL that is read in its place
	insert string // SQL of a new row: own, or an expression in which {name} is a column's own; "": the schema's default
	large  bool   // lists do not show it; it may be kilobytes of each row
}

// own is the value of the column's field.
const own = "$"

// columns is every column of operations. SELECT, RETURNING and INSERT are made
// from it, and a test compares it with the tables of both databases.
func (op *operationRow) columns() []column {
	return []column{
		{name: "id", field: &op.ID, insert: own},
		{name: "operation_type", field: &op.Type, insert: own},
		{name: "status", field: &op.Status, insert: own},
		{name: "phase", field: &op.Phase},
		{name: "epoch", field: &op.Epoch},
		{name: "attempts", field: &op.Attempts},
		{name: "priority", field: &op.Priority, insert: own},
		{name: "parent_id", field: (*nullText)(&op.Parent), insert: own},
		{name: "root_id", field: &op.Root, insert: own},
		// A root's own creation time is not known before the statement runs.
		{name: "root_created_at", insert: `COALESCE((SELECT root_created_at FROM operations WHERE id = {root_id}), {now})`},
		{name: "ordinal", field: &op.Ordinal, insert: own},
		{name: "depth", field: &op.depth, insert: own},
		{name: "is_backend_local", field: (*boolean)(&op.BackendLocal), insert: own},
		{name: "has_plan", field: (*boolean)(&op.HasPlan), insert: own},
		{name: "worker_id", field: &op.Worker},
		{name: "held_by", field: &op.HeldBy},
		{name: "claim_key"},
		{name: "cancel_requested", field: (*boolean)(&op.CancelRequested)},
		{name: "cancel_reason", field: &op.CancelReason},
		{name: "losses", field: &op.Losses},
		{name: "max_step", field: &op.MaxStep},
		{name: "last_step"},
		{name: "moved_at"},
		// A retry runs in a child process if the operation that it retries does.
		{
			name: "backend_died", field: (*boolean)(&op.BackendDied),
			insert: `COALESCE((SELECT backend_died FROM operations WHERE id = {retry_of}), 0)`,
		},
		{name: "spec", field: (*document)(&op.Spec), insert: own, large: true},
		{name: "state", field: (*document)(&op.State), insert: own, large: true},
		{name: "metadata", field: (*document)(&op.Metadata), insert: own, large: true},
		{name: "progress", field: fromJSON(&op.Progress)},
		{name: "result", field: (*document)(&op.Result), large: true},
		{name: "packed", field: &op.packed, large: true},
		{name: "error_message", field: &op.ErrorMessage},
		{name: "error", field: fromJSON(&op.Error)},
		{name: "retry_of", field: (*nullText)(&op.RetryOf), insert: own},
		{name: "reason"},
		{name: "released_by"},
		{name: "ended_by", field: &op.endedBy},
		{name: "ending", field: fromJSON(&op.ending), large: true},
		{name: "created_at", field: (*moment)(&op.CreatedAt), insert: `{now}`},
		{name: "started_at", field: (*moment)(&op.StartedAt)},
		{name: "claimed_at", field: (*moment)(&op.ClaimedAt)},
		{name: "heartbeat_at", field: (*moment)(&op.HeartbeatAt)},
		{name: "completed_at", field: (*moment)(&op.CompletedAt)},
		// A wait that is over is none, so that no reader must ask for the time.
		{name: "not_before", field: (*moment)(&op.NotBefore), read: `CASE WHEN not_before > {now} THEN not_before END`},
		{name: "ckpt_id", field: (*nullText)(&op.saved.ID)},
		{name: "ckpt_type", field: (*nullText)(&op.saved.Type)},
		{name: "ckpt_epoch", field: (*nullInt)(&op.saved.Epoch)},
		{name: "ckpt_seq", field: (*nullInt)(&op.saved.Seq)},
		{name: "ckpt_step", field: (*nullInt)(&op.saved.Step)},
		{name: "ckpt_size", field: (*nullInt)(&op.saved.Size)},
		{name: "ckpt_at", field: (*moment)(&op.saved.CreatedAt)},
		{name: "queue", field: &op.queue, insert: own},
		{name: "run", field: &op.Run, insert: own},
		{name: "generation", field: &op.generation, insert: own},
		{name: "idx", field: &op.index, insert: own},
		{name: "session", field: (*nullInt)(&op.Session), insert: own},
		{name: "rung", field: &op.Rung},
		{name: "score", field: &op.Score},
		{name: "trials", field: &op.Trials, insert: own},
		{name: "look", field: &op.look, insert: own},
		{name: "compacted", field: (*boolean)(&op.Compacted)},
		{name: "pinned", field: (*boolean)(&op.Pinned)},
	}
}

// The words {operation} and {brief} of queries: what scanOperation reads, and
// the same for lists.
var operationColumns, briefColumns = selected(false), selected(true)

func selected(brief bool) string {
	var texts []string
	for _, c := range new(operationRow).columns() {
		switch {
		case c.field == nil:
		case brief && c.large:
			texts = append(texts, "NULL")
		case c.read != "":
			texts = append(texts, c.read)
		default:
			texts = append(texts, c.name)
		}
	}
	return strings.Join(texts, ", ")
}

// insertNew stores a new row; its arguments are those of inserted.
var insertNew = func() query {
	var names, values []string
	var places []string // {name} and the argument that it stands for
	for _, c := range new(operationRow).columns() {
		switch c.insert {
		case "":
			continue
		case own:
			argument := "$" + strconv.Itoa(1+len(places)/2)
			values = append(values, argument)
			places = append(places, "{"+c.name+"}", argument)
		default:
			values = append(values, c.insert)
		}
		names = append(names, c.name)
	}
	text := strings.NewReplacer(places...).Replace(strings.Join(values, ", "))
	return query(`INSERT INTO operations (` + strings.Join(names, ", ") + `) VALUES (` + text + `)`)
}()

func (op *operationRow) inserted() (args []any) {
	for _, c := range op.columns() {
		if c.insert == own {
			args = append(args, reflect.ValueOf(c.field).Elem().Interface())
		}
	}
	return args
}

func scanOperation(row scanner) (operationRow, error) {
	var r operationRow
	var fields []any
	for _, c := range r.columns() {
		if c.field != nil {
			fields = append(fields, c.field)
		}
	}
	err := row.Scan(fields...)
	if err == nil && r.packed != nil {
		var text string
		text, err = unpack(r.packed)
		r.Result, r.packed = json.RawMessage(text), nil
	}
	if err != nil {
		if r.ID != "" {
			err = fmt.Errorf("operation %s: %w", r.ID, err)
		}
		return operationRow{}, err
	}
	if r.queue != "" {
		r.Queue = &ktrdr.QueuePlace{Name: r.queue, Run: r.Run, Generation: r.generation, Index: r.index}
	}
	if r.saved.ID != "" {
		r.Checkpoint = new(r.saved)
	}
	return r, nil
}
