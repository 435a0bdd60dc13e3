package httpapi

import (
	"net/http"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
)

func operationRoutes() []row {
	const base = "/api/v1/operations"
	return []row{
		on(get(base, "Operations, newest first: rows without spec, state and result, which GET /operations/{id} has",
			param{name: "status", kind: kindString, doc: "statuses, in either case", many: true},
			param{name: "type", kind: kindString, doc: "operation types, in either case", many: true},
			param{name: "active_only", kind: kindBoolean, doc: "only PENDING, RUNNING and PENDING_RECONCILIATION"},
			param{name: "resumable", kind: kindBoolean, doc: "only FAILED or CANCELLED ones with a checkpoint"},
			param{name: "parent", kind: kindString, doc: "only children of this operation"},
			param{name: "run", kind: kindString, doc: "only the researches of this run"},
			param{name: "roots", kind: kindBoolean, doc: "only operations without a parent"},
			paramSort, paramLimit, paramCursor), (*Server).listOperations),
		on(get(base+"/{id}", "One operation"), (*Server).operation),
		on(get(base+"/{id}/children", "An operation's children, newest first", paramLimit, paramCursor), (*Server).children),
		on(get(base+"/{id}/metrics", "How far an operation is, in numbers"), (*Server).operationMetrics),
		on(get(base+"/{id}/results", "What an operation ended with, the files that it made and, of a backtest, pages of its columns",
			paramInclude, paramLimit, paramCursor), (*Server).results),
		on(del(base+"/{id}", "Cancel an operation and everything below it",
			param{name: "reason", kind: kindString, doc: "why, for people"}), (*Server).cancel),
		on(post(base+"/{id}/resume", "Continue a failed or cancelled operation from its newest checkpoint whose blobs are there; "+
			"should its worker find them damaged, from the one before"), (*Server).resume),
		on(post(base+"/{id}/retry", "Make a new operation with the same spec, from the beginning").makes(http.StatusAccepted), (*Server).retry),
		on(post("/api/v1/dummy/start", "Start a dummy operation: steps and sleeps, with a hash chain as its result").makes(http.StatusAccepted),
			(*Server).startDummy),
		on(post("/api/v1/pause", "Stop or allow new claims everywhere"), (*Server).setPaused),
		on(get("/api/v1/pause", "Whether claims are stopped"), (*Server).paused),
	}
}

// Started is the answer to a request that made an operation.
type Started struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Status    ktrdr.Status      `json:"status"`
	RetryOf   ktrdr.OperationID `json:"retry_of,omitempty"`
	Warnings  []string          `json:"warnings,omitempty"` // what is probably not meant
}

// CancelReply says what a cancel reached.
type CancelReply struct {
	Operation ktrdr.OperationID   `json:"operation_id"`
	Status    ktrdr.Status        `json:"status"` // still RUNNING until its worker has seen it
	Requested bool                `json:"cancel_requested"`
	Children  []ktrdr.OperationID `json:"cancelled_children"`
}

// ResumeReply says where an operation goes on from: the newest checkpoint whose
// blobs are there. They are read by the worker; if it finds them damaged, it
// begins from the one before, and an event says so.
type ResumeReply struct {
	Operation   ktrdr.OperationID     `json:"operation_id"`
	Status      ktrdr.Status          `json:"status"`
	ResumedFrom *ktrdr.CheckpointInfo `json:"resumed_from"`
}

// OperationMetrics is an operation in numbers.
type OperationMetrics struct {
	Operation      ktrdr.OperationID     `json:"operation_id"`
	Type           ktrdr.Type            `json:"operation_type"`
	Status         ktrdr.Status          `json:"status"`
	Progress       ktrdr.Progress        `json:"progress"`
	Epoch          ktrdr.Epoch           `json:"epoch"`
	Attempts       int                   `json:"attempts"`
	Losses         int                   `json:"losses"`
	MaxStep        int64                 `json:"max_step"`
	RunningSeconds float64               `json:"running_seconds"` // from the first claim to the end, or to the last heartbeat
	Checkpoint     *ktrdr.CheckpointInfo `json:"checkpoint,omitempty"`
}

// Pause says whether claims are stopped.
type Pause struct {
	Paused bool `json:"paused"`
}

// pauseRequest tells false from forgotten.
type pauseRequest struct {
	Paused *bool `json:"paused"`
}

func (s *Server) listOperations(c *call, _ none) ([]OperationRow, error) {
	q := ktrdr.OperationQuery{
		Status:     c.query.statuses("status"),
		Type:       c.query.types("type", s.types),
		ActiveOnly: c.query.flag("active_only"),
		Resumable:  c.query.flag("resumable"),
		Parent:     c.query.operation("parent"),
		Roots:      c.query.flag("roots"),
		Sort:       c.query.sort(),
		Limit:      c.query.count("limit", maxPage),
		Cursor:     c.query.Get("cursor"),
	}
	if c.query.err != nil {
		return nil, c.query.err
	}
	var err error
	if q.Run, err = s.runNamed(c); err != nil {
		return nil, err
	}
	return s.page(c, q)
}

func (s *Server) page(c *call, q ktrdr.OperationQuery) ([]OperationRow, error) {
	q.Brief = true
	page, err := s.engine.List(c.Context(), q)
	if err != nil {
		return nil, err
	}
	c.next = page.Next
	return operationRows(page.Operations), nil
}

func (s *Server) operation(c *call, _ none) (ktrdr.Operation, error) {
	id, err := c.operationID()
	if err != nil {
		return ktrdr.Operation{}, err
	}
	return s.engine.Operation(c.Context(), id)
}

func (s *Server) children(c *call, _ none) ([]OperationRow, error) {
	op, err := s.operation(c, none{})
	if err != nil {
		return nil, err
	}
	q := ktrdr.OperationQuery{Parent: op.ID, Limit: c.query.count("limit", maxPage), Cursor: c.query.Get("cursor")}
	if c.query.err != nil {
		return nil, c.query.err
	}
	return s.page(c, q)
}

func (s *Server) operationMetrics(c *call, _ none) (OperationMetrics, error) {
	op, err := s.operation(c, none{})
	if err != nil {
		return OperationMetrics{}, err
	}
	m := OperationMetrics{
		Operation: op.ID, Type: op.Type, Status: op.Status, Progress: op.Progress,
		Epoch: op.Epoch, Attempts: op.Attempts, Losses: op.Losses, MaxStep: op.MaxStep,
		Checkpoint: op.Checkpoint,
	}
	until := op.HeartbeatAt // instants of the store's clock only
	if op.Status.Terminal() {
		until = op.CompletedAt
	}
	if !op.StartedAt.IsZero() && until.After(op.StartedAt) {
		m.RunningSeconds = until.Sub(op.StartedAt).Round(time.Millisecond).Seconds()
	}
	return m, nil
}

const maxReason = 500

func (s *Server) cancel(c *call, _ none) (CancelReply, error) {
	id, err := c.operationID()
	if err != nil {
		return CancelReply{}, err
	}
	reason := c.query.Get("reason")
	if len(reason) > maxReason {
		return CancelReply{}, malformed("a reason has at most %d bytes", maxReason)
	}
	op, reached, err := s.engine.Cancel(c.Context(), id, reason)
	if err != nil {
		return CancelReply{}, err
	}
	reply := CancelReply{Operation: op.ID, Status: op.Status, Requested: op.CancelRequested, Children: []ktrdr.OperationID{}}
	for _, id := range reached {
		if id != op.ID {
			reply.Children = append(reply.Children, id)
		}
	}
	return reply, nil
}

func (s *Server) resume(c *call, _ none) (ResumeReply, error) {
	id, err := c.operationID()
	if err != nil {
		return ResumeReply{}, err
	}
	op, err := s.engine.Resume(c.Context(), id)
	return ResumeReply{op.ID, op.Status, op.Checkpoint}, err
}

func (s *Server) retry(c *call, _ none) (Started, error) {
	id, err := c.operationID()
	if err != nil {
		return Started{}, err
	}
	key, err := c.idempotencyKey()
	if err != nil {
		return Started{}, err
	}
	op, err := s.engine.Retry(c.Context(), id, key)
	return Started{Operation: op.ID, Status: op.Status, RetryOf: op.RetryOf}, err
}

func (s *Server) startDummy(c *call, in dummy.Spec) (Started, error) {
	op, err := dummy.Operation(in)
	if err != nil {
		return Started{}, err
	}
	return s.start(c, op)
}

// start submits an operation under the request's idempotency key. With a key
// it brings its own id, so that an answer with another one is known to be a
// replay.
func (s *Server) start(c *call, op ktrdr.NewOperation) (Started, error) {
	key, err := c.idempotencyKey()
	if err != nil {
		return Started{}, err
	}
	made, err := s.submit(c, &op, key)
	if err != nil {
		return Started{}, err
	}
	if op.ID != "" && made.ID != op.ID {
		c.Header().Set(headerReplay, "true")
	}
	return Started{Operation: made.ID, Status: made.Status, RetryOf: made.RetryOf}, nil
}

// idTries is how often an id may be taken already before that is no accident.
const idTries = 3

// submit submits one operation; under a key it gets its id here.
func (s *Server) submit(c *call, op *ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
	one := []ktrdr.NewOperation{*op}
	made, err := s.submitAll(c, one, []ktrdr.IdempotencyKey{key})
	if err != nil {
		return ktrdr.Operation{}, err
	}
	op.ID = one[0].ID
	return made[0], nil
}

// submitAll is submit for several at once, all or none.
func (s *Server) submitAll(c *call, ops []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) (made []ktrdr.Operation, err error) {
	for range idTries {
		for i := range ops {
			if keys[i].Key != "" {
				ops[i].ID = ktrdr.NewOperationID(ops[i].Type, time.Now())
			}
		}
		if made, err = s.engine.SubmitAll(c.Context(), ops, keys); ktrdr.CodeOf(err) != ktrdr.CodeConflict || keys[0].Key == "" {
			break
		}
	}
	return made, err
}

func (s *Server) setPaused(c *call, in pauseRequest) (Pause, error) {
	if in.Paused == nil {
		return Pause{}, ktrdr.Errorf(ktrdr.CodeInvalid, `say whether claims shall be paused: {"paused": true} or {"paused": false}`)
	}
	return Pause{*in.Paused}, s.engine.SetPaused(c.Context(), *in.Paused)
}

func (s *Server) paused(c *call, _ none) (Pause, error) {
	paused, err := s.engine.Paused(c.Context())
	return Pause{paused}, err
}
