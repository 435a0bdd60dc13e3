package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/internal/tracing"
)

// messageUntouched is the reason of a release that saved no checkpoint of its
// own: the operation had not begun, or its runner saved none.
const messageUntouched = "Graceful shutdown - no new checkpoint"

// job is one claim being run.
type job struct {
	w     *Worker
	task  ktrdr.Task
	claim claim
	log   *slog.Logger
	began time.Time
	span  *tracing.Attempt

	replay bool // nothing is told to a backend, and nothing is saved

	cancel    context.CancelCauseFunc // ends the runner's context
	writes    context.Context         // ends when nothing may be written any more
	endWrites context.CancelFunc

	step     atomic.Int64 // how far it is
	asked    atomic.Bool  // it was told to stop because of a cancel
	progress latest
	saves    saves

	mu    sync.Mutex
	state claimState
}

// claimState of a job: once it is ending only the backend's answer to that decides.
// Once it is lost nothing is written.
type claimState int

const (
	alive claimState = iota
	ending
	lost
)

func newJob(life context.Context, w *Worker, t ktrdr.Task) (context.Context, *job) {
	life, span := w.cfg.Traces.StartAttempt(life, t, w.cfg.ID)
	ctx, cancel := context.WithCancelCause(life)
	writes, endWrites := context.WithCancel(life)
	j := &job{
		w: w, task: t, claim: claim{t.Operation, t.Epoch}, began: time.Now(), span: span,
		log:    w.log.With("op", t.Operation, "epoch", t.Epoch),
		cancel: cancel, writes: writes, endWrites: endWrites, progress: newLatest(),
	}
	if t.Checkpoint != nil {
		j.step.Store(t.Checkpoint.Step)
	}
	return ctx, j
}

func (j *job) close() {
	j.cancel(nil)
	j.endWrites()
}

// setState ends the state alive and says whether it did.
func (j *job) setState(f claimState) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state != alive {
		return false
	}
	j.state = f
	return true
}

func (j *job) isLost() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state == lost
}

// reported says whether heartbeats still name the claim.
func (j *job) reported() bool { return !j.isLost() }

// acceptsOrders is false after a cancel, and for a claim whose end is being delivered:
// the backend's answer to that decides.
func (j *job) acceptsOrders() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state == alive && !j.asked.Load()
}

func (j *job) askToStop() {
	if !j.asked.Swap(true) {
		j.log.Info("operation is being cancelled")
		j.cancel(ktrdr.ErrCancelled)
	}
}

// dropClaim ends the job without another write.
func (j *job) dropClaim() {
	if !j.setState(lost) {
		return
	}
	j.log.Warn("claim is lost; dropping the operation")
	j.cancel(ktrdr.ErrLost)
	j.endWrites()
	if j.w.own != nil {
		j.w.own.drop(j.claim)
	}
}

// run is the whole life of a claim.
func (j *job) run(ctx context.Context) {
	fault.Hit(fault.WorkerClaimed)
	inChild := j.task.InChild && j.w.cfg.Child != nil
	j.log.Info("operation claimed", "type", j.task.Type, "attempt", j.task.Attempts, "child", inChild)
	var end *entry
	if inChild {
		end = j.runInChild(ctx)
	} else {
		result, err := j.execute(ctx)
		end = j.conclude(ctx, result, err)
	}
	if !j.setState(ending) {
		j.w.count(func(s *Stats) { s.Lost++ })
		j.span.End("lost", "")
		return
	}
	j.end(end)
	j.span.End(end.outcome())
}

// execute loads the checkpoint and calls the runner, progress flowing beside.
func (j *job) execute(ctx context.Context) (json.RawMessage, error) {
	runner, ok := j.w.cfg.Runners[j.task.Type]
	if !ok {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "this worker cannot run %s operations", j.task.Type)
	}
	from, err := j.load(ctx)
	if err != nil {
		return nil, err
	}
	j.saves.begin(from)
	stop := make(chan struct{})
	var reporting sync.WaitGroup
	reporting.Go(func() { j.reportProgress(stop) })
	defer reporting.Wait()
	defer close(stop)
	return j.call(ctx, runner, j.newTask(from))
}

// newTask is what a runner sees of the operation.
func (j *job) newTask(from *Checkpoint) *Task {
	return &Task{
		Operation: j.task.Operation, Type: j.task.Type, Epoch: j.task.Epoch, Attempts: j.task.Attempts,
		Spec: j.task.Spec, Checkpoint: from, Inject: j.task.Inject, Look: j.task.Look, job: j,
	}
}

// call runs the runner in a goroutine of its own, so that a panic or Goexit is
// the end of this operation only, and one that does not stop is noticed.
func (j *job) call(ctx context.Context, r Runner, t *Task) (result json.RawMessage, err error) {
	err = errors.New("the work ended its goroutine without returning")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				err = j.panicked(v)
			}
		}()
		result, err = r.Run(ctx, t)
	}()
	select {
	case <-done:
		return result, err
	case <-ctx.Done():
	}
	overdue := time.NewTimer(j.w.cfg.Grace)
	defer overdue.Stop()
	select {
	case <-done:
	case <-overdue.C:
		j.log.Warn("operation ignores that it should stop; its slot stays taken", "cause", context.Cause(ctx), "after", j.w.cfg.Grace)
		<-done
	}
	return result, err
}

// panicked describes a panic. The stack is a link of the chain of its own,
// which the failure bounds.
func (j *job) panicked(v any) error {
	what, stack := shorten(fmt.Sprintf("the work panicked: %v", v)), string(debug.Stack())
	j.w.count(func(s *Stats) { s.Panicked++ })
	j.log.Error("operation panicked", "panic", what, "stack", stack)
	return &ktrdr.Error{Code: ktrdr.CodePanic, Message: what, Err: errors.New(stack)}
}

// conclude decides what the end of the runner means for the operation.
func (j *job) conclude(ctx context.Context, result json.RawMessage, err error) *entry {
	op, epoch := j.claim.op, j.claim.epoch
	cause := context.Cause(ctx)
	stopped := err != nil && cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled))
	switch {
	case err == nil && result != nil && !json.Valid(result):
		return &entry{Finished: failed(j.claim, errors.New("the work's result is not JSON"))}
	case err == nil:
		f := &ktrdr.Finished{Operation: op, Epoch: epoch, Outcome: ktrdr.Completed, Result: result}
		e := &entry{Finished: f}
		f.Checkpoint, e.files = j.saves.final()
		return e
	case stopped && errors.Is(cause, ktrdr.ErrCancelled):
		return &entry{Finished: &ktrdr.Finished{
			Operation: op, Epoch: epoch, Outcome: ktrdr.Cancelled,
			ErrorMessage: ktrdr.ErrCancelled.Message, Error: ktrdr.NewFailure(ktrdr.CodeCancelled, ktrdr.ErrCancelled),
		}}
	case stopped: // ErrShutdown, or the end of a stop that took too long
		reason := messageUntouched
		if j.saves.saved(ktrdr.CheckpointShutdown) {
			reason = ktrdr.MessageReleased
		}
		return &entry{Released: &ktrdr.Released{Operation: op, Epoch: epoch, Reason: reason}}
	}
	if later, ok := errors.AsType[*Later](err); ok {
		return &entry{Released: later.released(j.claim)}
	}
	return &entry{Finished: failed(j.claim, err)}
}

// end delivers the end of the claim, and with a result the last progress: it
// costs no write of its own.
func (j *job) end(e *entry) {
	if p := j.progress.take(); e.Finished != nil && p != nil {
		e.Finished.Progress = p
	}
	fault.Hit(fault.WorkerEnding)
	acknowledged, err := j.w.deliver(j.writes, e)
	if judge(err) == refused {
		j.log.Error("backend refuses the end of the operation", "err", err)
		if instead := insteadOf(e, err); instead != nil {
			e = instead
			acknowledged, err = j.w.deliver(j.writes, e)
		}
	}
	switch {
	case err == nil:
		if acknowledged {
			fault.Hit(fault.WorkerEnded)
		}
		j.w.count(func(s *Stats) { s.Ended++ })
		j.logEnd(e, acknowledged)
	case judge(err) == stale:
		j.w.count(func(s *Stats) { s.Lost++ })
		j.log.Warn("claim was lost before its end was delivered", "err", err)
	default:
		j.log.Error("end of the operation cannot be delivered", "kind", e.kind(), "err", err)
	}
}

// logEnd logs how the operation ended. A failure is a warning with its reason.
func (j *job) logEnd(e *entry, acknowledged bool) {
	facts := []any{"type", j.task.Type, "acknowledged", acknowledged, "took", time.Since(j.began)}
	switch f := e.Finished; {
	case e.Released != nil && e.Released.ChildDied: // the backend decides what happens next, and logs it
		j.log.Warn("death of the child process reported", append(facts, "how", e.Released.Reason)...)
	case f == nil:
		j.log.Info("operation released", facts...)
	case f.Outcome == ktrdr.Failed:
		if f.Error != nil {
			facts = append(facts, "code", f.Error.Code)
		}
		j.log.Warn("operation failed", append(facts, "err", f.ErrorMessage)...)
	default:
		j.log.Info("operation ended", append(facts, "outcome", f.Outcome)...)
	}
}
