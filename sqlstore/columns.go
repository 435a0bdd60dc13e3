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
	saved  ktrdr.CheckpointInfo // the newest; without an id, its type says why it is missing: expired, deleted, skipped
	packed []byte               // the result, deflated
}

// column is one column of operations.
type column struct {
	name   string
	field  func(*operationRow) any // of the row that is read or made; nil: only statements use the column
	read   string                  // SQL that is read in its place
	insert string                  // SQL of a new row: own, or an expression in which {name} is a column's own; "": the schema's default
	large  bool                    // lists do not show it; it may be kilobytes of each row
}

// own is the value of the column's field.
const own = "$"

// operationTable is every column of operations. SELECT, RETURNING and INSERT are
// made from it, and a test compares it with the tables of both databases.
var operationTable = []column{
	{name: "id", field: func(op *operationRow) any { return &op.ID }, insert: own},
	{name: "operation_type", field: func(op *operationRow) any { return &op.Type }, insert: own},
	{name: "status", field: func(op *operationRow) any { return &op.Status }, insert: own},
	{name: "phase", field: func(op *operationRow) any { return &op.Phase }},
	{name: "epoch", field: func(op *operationRow) any { return &op.Epoch }},
	{name: "attempts", field: func(op *operationRow) any { return &op.Attempts }},
	{name: "priority", field: func(op *operationRow) any { return &op.Priority }, insert: own},
	{name: "parent_id", field: func(op *operationRow) any { return (*nullText)(&op.Parent) }, insert: own},
	{name: "root_id", field: func(op *operationRow) any { return &op.Root }, insert: own},
	// A root's own creation time is not known before the statement runs.
	{name: "root_created_at", insert: `COALESCE((SELECT root_created_at FROM operations WHERE id = {root_id}), {now})`},
	{name: "ordinal", field: func(op *operationRow) any { return &op.Ordinal }, insert: own},
	{name: "depth", field: func(op *operationRow) any { return &op.depth }, insert: own},
	{name: "is_backend_local", field: func(op *operationRow) any { return (*boolean)(&op.BackendLocal) }, insert: own},
	{name: "has_plan", field: func(op *operationRow) any { return (*boolean)(&op.HasPlan) }, insert: own},
	{name: "worker_id", field: func(op *operationRow) any { return &op.Worker }},
	{name: "held_by", field: func(op *operationRow) any { return &op.HeldBy }},
	{name: "claim_key"},
	{name: "cancel_requested", field: func(op *operationRow) any { return (*boolean)(&op.CancelRequested) }},
	{name: "cancel_reason", field: func(op *operationRow) any { return &op.CancelReason }},
	{name: "losses", field: func(op *operationRow) any { return &op.Losses }},
	{name: "max_step", field: func(op *operationRow) any { return &op.MaxStep }},
	{name: "last_step"},
	{name: "moved_at"},
	// A retry runs in a child process if the operation that it retries does.
	{
		name: "backend_died", field: func(op *operationRow) any { return (*boolean)(&op.BackendDied) },
		insert: `COALESCE((SELECT backend_died FROM operations WHERE id = {retry_of}), 0)`,
	},
	{name: "spec", field: func(op *operationRow) any { return (*document)(&op.Spec) }, insert: own, large: true},
	{name: "state", field: func(op *operationRow) any { return (*document)(&op.State) }, insert: own, large: true},
	{name: "metadata", field: func(op *operationRow) any { return (*document)(&op.Metadata) }, insert: own, large: true},
	{name: "progress", field: func(op *operationRow) any { return fromJSON(&op.Progress) }},
	{name: "result", field: func(op *operationRow) any { return (*document)(&op.Result) }, large: true},
	{name: "packed", field: func(op *operationRow) any { return &op.packed }, large: true},
	{name: "error_message", field: func(op *operationRow) any { return &op.ErrorMessage }},
	{name: "error", field: func(op *operationRow) any { return fromJSON(&op.Error) }},
	{name: "retry_of", field: func(op *operationRow) any { return (*nullText)(&op.RetryOf) }, insert: own},
	{name: "reason"},
	{name: "released_by"},
	{name: "ended_by", field: func(op *operationRow) any { return &op.endedBy }},
	{name: "ending", field: func(op *operationRow) any { return fromJSON(&op.ending) }, large: true},
	{name: "created_at", field: func(op *operationRow) any { return (*moment)(&op.CreatedAt) }, insert: `{now}`},
	{name: "started_at", field: func(op *operationRow) any { return (*moment)(&op.StartedAt) }},
	{name: "claimed_at", field: func(op *operationRow) any { return (*moment)(&op.ClaimedAt) }},
	{name: "heartbeat_at", field: func(op *operationRow) any { return (*moment)(&op.HeartbeatAt) }},
	{name: "completed_at", field: func(op *operationRow) any { return (*moment)(&op.CompletedAt) }},
	// A wait that is over is read as no wait, so that no reader must ask for the time.
	{
		name: "not_before", field: func(op *operationRow) any { return (*moment)(&op.NotBefore) },
		read: `CASE WHEN not_before > {now} THEN not_before END`,
	},
	{name: "ckpt_id", field: func(op *operationRow) any { return (*nullText)(&op.saved.ID) }},
	{name: "ckpt_type", field: func(op *operationRow) any { return (*nullText)(&op.saved.Type) }},
	{name: "ckpt_epoch", field: func(op *operationRow) any { return (*nullInt)(&op.saved.Epoch) }},
	{name: "ckpt_seq", field: func(op *operationRow) any { return (*nullInt)(&op.saved.Seq) }},
	{name: "ckpt_step", field: func(op *operationRow) any { return (*nullInt)(&op.saved.Step) }},
	{name: "ckpt_size", field: func(op *operationRow) any { return (*nullInt)(&op.saved.Size) }},
	{name: "ckpt_at", field: func(op *operationRow) any { return (*moment)(&op.saved.CreatedAt) }},
	{name: "queue", field: func(op *operationRow) any { return &op.queue }, insert: own},
	{name: "run", field: func(op *operationRow) any { return &op.Run }, insert: own},
	{name: "generation", field: func(op *operationRow) any { return &op.generation }, insert: own},
	{name: "idx", field: func(op *operationRow) any { return &op.index }, insert: own},
	{name: "session", field: func(op *operationRow) any { return (*nullInt)(&op.Session) }, insert: own},
	{name: "rung", field: func(op *operationRow) any { return &op.Rung }},
	{name: "score", field: func(op *operationRow) any { return &op.Score }},
	{name: "trials", field: func(op *operationRow) any { return &op.Trials }, insert: own},
	{name: "look", field: func(op *operationRow) any { return &op.look }, insert: own},
	{name: "imported"}, // the result of an import, for ImportBars alone
	{name: "compacted", field: func(op *operationRow) any { return (*boolean)(&op.Compacted) }},
	{name: "pinned", field: func(op *operationRow) any { return (*boolean)(&op.Pinned) }},
	{name: "trace", field: func(op *operationRow) any { return (*nullText)(&op.Trace) }, insert: own},
}

// The words {operation} and {brief} of queries: what scanOperation reads, and
// the same for lists.
var operationColumns, briefColumns = selected(false), selected(true)

func selected(brief bool) string {
	var texts []string
	for _, c := range operationTable {
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
	for _, c := range operationTable {
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
	for _, c := range operationTable {
		if c.insert == own {
			args = append(args, reflect.ValueOf(c.field(op)).Elem().Interface())
		}
	}
	return args
}

func scanOperation(row scanner) (operationRow, error) {
	var r operationRow
	dest := make([]any, 0, len(operationTable))
	for _, c := range operationTable {
		if c.field != nil {
			dest = append(dest, c.field(&r))
		}
	}
	err := row.Scan(dest...)
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
