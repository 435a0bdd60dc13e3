package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
)

func (s *Server) listOperations(c *call, q ktrdr.OperationQuery) (_ []api.OperationRow, err error) {
	if q.Run, err = s.runNamed(c, q.Run); err != nil {
		return nil, err
	}
	return s.page(c, q)
}

func (s *Server) children(c *call, in api.ChildrenRequest) ([]api.OperationRow, error) {
	if _, err := s.engine.Operation(c.Context(), in.ID); err != nil {
		return nil, err
	}
	return s.page(c, ktrdr.OperationQuery{Parent: in.ID, Limit: in.Limit, Cursor: in.Cursor})
}

func (s *Server) page(c *call, q ktrdr.OperationQuery) ([]api.OperationRow, error) {
	q.Brief = true
	page, err := s.engine.List(c.Context(), q)
	c.next = page.Next
	rows := make([]api.OperationRow, len(page.Operations))
	for i := range rows {
		rows[i] = rowOf(&page.Operations[i])
	}
	return rows, err
}

// mostRowError is how many bytes of an error a row has.
const mostRowError = 300

func rowOf(op *ktrdr.Operation) api.OperationRow {
	r := api.OperationRow{
		ID: op.ID, Type: op.Type, Status: op.Status, Phase: op.Phase, Epoch: op.Epoch, Attempts: op.Attempts, Priority: op.Priority,
		Parent: op.Parent, Root: cmp.Or(op.Root, op.ID), Ordinal: op.Ordinal, HasPlan: op.HasPlan, Run: op.Run, Session: op.Session,
		Worker: op.Worker, CancelRequested: op.CancelRequested,
		Progress: api.RowProgress{
			Percentage: op.Progress.Percentage, CurrentStep: op.Progress.CurrentStep,
			StepsCompleted: op.Progress.StepsCompleted, StepsTotal: op.Progress.StepsTotal,
		},
		Rung: op.Rung, ErrorMessage: text.Cut(op.ErrorMessage, mostRowError),
		CreatedAt: op.CreatedAt, StartedAt: op.StartedAt, CompletedAt: op.CompletedAt, NotBefore: op.NotBefore,
		Unschedulable: op.Unschedulable, StalledSeconds: op.StalledSeconds,
	}
	if op.Error != nil {
		r.ErrorCode = op.Error.Code
	}
	if op.Status.Terminal() {
		r.Resumable = op.Status != ktrdr.Completed && op.Checkpoint != nil
	} else {
		r.HeartbeatAt, r.Progress.Context = op.HeartbeatAt, op.Progress.Context
	}
	return r
}

func (s *Server) operationMetrics(c *call, in api.ByID) (api.OperationMetrics, error) {
	op, err := s.engine.Operation(c.Context(), in.ID)
	m := api.OperationMetrics{
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
	return m, err
}

func (s *Server) cancel(c *call, in api.CancelRequest) (api.CancelReply, error) {
	op, reached, err := s.engine.Cancel(c.Context(), in.ID, in.Reason)
	children := slices.DeleteFunc(slices.Concat([]ktrdr.OperationID{}, reached), func(id ktrdr.OperationID) bool { return id == op.ID })
	return api.CancelReply{Operation: op.ID, Status: op.Status, Requested: op.CancelRequested, Children: children}, err
}

// cancelResearch cancels a research and nothing else: a child that is named by
// mistake continues.
func (s *Server) cancelResearch(c *call, in api.CancelRequest) (api.CancelReply, error) {
	op, err := s.engine.Operation(c.Context(), in.ID)
	if err != nil {
		return api.CancelReply{}, err
	}
	if op.Type != ktrdr.AgentResearch {
		return api.CancelReply{}, ktrdr.Errorf(ktrdr.CodeInvalid,
			"%s is not a research: its type is %s; DELETE /api/v1/operations/%s cancels it",
			op.ID, op.Type, op.ID)
	}
	return s.cancel(c, in)
}

func (s *Server) resume(c *call, in api.ResumeRequest) (api.ResumeReply, error) {
	op, err := s.engine.ResumeFrom(c.Context(), in.ID, in.Checkpoint)
	return api.ResumeReply{Operation: op.ID, Status: op.Status, ResumedFrom: op.Checkpoint}, err
}

func (s *Server) retry(c *call, in api.ByID) (api.Started, error) {
	key, err := c.idempotencyKey()
	if err != nil {
		return api.Started{}, err
	}
	op, err := s.engine.Retry(c.Context(), in.ID, key)
	return api.Started{Operation: op.ID, Status: op.Status, RetryOf: op.RetryOf}, err
}

func (s *Server) startDummy(c *call, in dummy.Spec) (api.Started, error) {
	op, err := dummy.Operation(in)
	if err != nil {
		return api.Started{}, err
	}
	return s.submit(c, op)
}

// start submits what the desk makes of a request.
func start[In any](order func(Desk, context.Context, In) (jobs.Accepted, error)) func(*Server, *call, In) (api.Started, error) {
	return func(s *Server, c *call, in In) (api.Started, error) {
		made, err := order(s.desk, c.Context(), in)
		if err != nil {
			return api.Started{}, err
		}
		started, err := s.submit(c, made.Operation)
		started.Warnings = made.Warnings
		return started, err
	}
}

// outside refuses a request that pages or assistants make: it lets the backend call
// another host.
func outside[In, Out any](answer func(*Server, *call, In) (Out, error)) func(*Server, *call, In) (Out, error) {
	return func(s *Server, c *call, in In) (out Out, err error) {
		if c.inside {
			return out, ktrdr.Errorf(ktrdr.CodeForbidden,
				"what the backend reads from the internet is decided on the command line or in the configuration: see `ktrdr data fetch --help`")
		}
		return answer(s, c, in)
	}
}

// submit submits an operation under the request's idempotency key.
func (s *Server) submit(c *call, op ktrdr.NewOperation) (api.Started, error) {
	key, err := c.idempotencyKey()
	if err != nil {
		return api.Started{}, err
	}
	ops := []ktrdr.NewOperation{op}
	made, err := s.engine.SubmitAll(c.Context(), ops, []ktrdr.IdempotencyKey{key})
	if err != nil {
		return api.Started{}, err
	}
	c.replayed(key.Key != "" && made[0].ID != ops[0].ID)
	return api.Started{Operation: made[0].ID, Status: made[0].Status, RetryOf: made[0].RetryOf}, nil
}

// replayed says that a request was answered before.
func (c *call) replayed(yes bool) {
	if yes {
		c.Header().Set(api.HeaderReplay, "true")
	}
}

func (s *Server) setPaused(c *call, in api.PauseRequest) (api.Pause, error) {
	if in.Paused == nil {
		return api.Pause{}, ktrdr.Errorf(ktrdr.CodeInvalid, `say whether claims shall be paused: {"paused": true} or {"paused": false}`)
	}
	return api.Pause{Paused: *in.Paused}, s.engine.SetPaused(c.Context(), *in.Paused)
}

func (s *Server) paused(c *call, _ api.None) (api.Pause, error) {
	paused, err := s.engine.Paused(c.Context())
	return api.Pause{Paused: paused}, err
}

func (s *Server) file(c *call, in api.FileRequest) error {
	op, err := s.engine.Operation(c.Context(), in.ID)
	if err != nil {
		return err
	}
	b, err := s.desk.File(c.Context(), op, in.Name)
	if err != nil {
		return err
	}
	c.Header().Set("Content-Type", api.ContentBytes)
	http.ServeContent(c, c.Request, "", time.Time{}, bytes.NewReader(b))
	return nil
}

func (s *Server) claimBundle(c *call, in api.ClaimRequest) error {
	b, err := s.research.ClaimBundle(c.Context(), in.ID, in.Bars)
	if err != nil {
		return err
	}
	c.Header().Set("Content-Type", api.ContentBytes)
	http.ServeContent(c, c.Request, "", time.Time{}, bytes.NewReader(b))
	return nil
}

func (s *Server) pin(c *call, in api.ByID) (api.PinReply, error) { return s.setPinned(c, in.ID, true) }

func (s *Server) unpin(c *call, in api.ByID) (api.PinReply, error) {
	return s.setPinned(c, in.ID, false)
}

func (s *Server) setPinned(c *call, id ktrdr.OperationID, pinned bool) (api.PinReply, error) {
	op, err := s.desk.Pin(c.Context(), id, pinned)
	return api.PinReply{Operation: op.ID, Pinned: op.Pinned}, err
}

// retention is how old checkpoints get unless a cleanup says otherwise.
const retention = 30 * 24 * time.Hour

func (s *Server) cleanup(c *call, in api.CleanupRequest) (api.CleanupReply, error) {
	age := retention
	if in.MaxAge != nil {
		age = *in.MaxAge
	}
	checkpoints, blobs, err := s.engine.Cleanup(c.Context(), age)
	return api.CleanupReply{Checkpoints: checkpoints, Blobs: blobs}, err
}

func (s *Server) listCheckpoints(c *call, q ktrdr.CheckpointQuery) ([]ktrdr.Checkpoint, error) {
	page, err := s.engine.ListCheckpoints(c.Context(), q)
	c.next = page.Next
	return page.Checkpoints, err
}
