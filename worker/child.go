package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Child runs a process that is a worker of b: it registers, claims the one
// operation that b has, runs it and ends it. When stop is closed the process is
// asked to stop, when ctx ends it is killed. Child returns when the process is
// gone, with how it ended; ErrNotStarted when there was none.
type Child func(ctx context.Context, stop <-chan struct{}, b Backend) error

// ErrNotStarted is wrapped by the error of a Child that could not start its
// process. The operation is not to blame.
var ErrNotStarted = errors.New("the child process could not be started")

// Concluder is a Runner whose last part needs its backend. When its operation runs in a child
// process, the runner there does the rest. Its result and the files of its final checkpoint are
// concluded here. Concluded is asked before a child process is started. It returns the result of an
// operation that an earlier claim has concluded; nil where none has.
type Concluder interface {
	Runner
	Concluded(ctx context.Context, t *Task) (json.RawMessage, error)
	Conclude(ctx context.Context, t *Task, result json.RawMessage, final *Checkpoint) (json.RawMessage, error)
}

// startAgainAfter is how long an operation waits whose child process could not
// be started: the machine is out of processes or memory.
const startAgainAfter = 5 * time.Second

// runInChild has a child process run the operation. It returns nil when the claim was lost.
//
//	backend: job ── relay ◀──── worker protocol ──── child process: worker ── runner
//	           │      └─ progress, checkpoints, blobs ─▶ engine
//	           └─ the end of the claim, or the loss of the child ─▶ engine
//
// The claim stays the job's: its slot is taken, its heartbeats continue, and the
// backend writes its end.
func (j *job) runInChild(ctx context.Context) *entry {
	if c, ok := j.w.cfg.Runners[j.task.Type].(Concluder); ok {
		result, err := j.call(ctx, runnerFunc(c.Concluded), j.newTask(nil))
		if err != nil || result != nil {
			return j.conclude(ctx, result, err)
		}
	}
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	r := newRelay(ctx, j)
	stop := make(chan struct{})
	died := make(chan error, 1)
	go func() { died <- j.w.cfg.Child(life, stop, r) }()

	gone, how := j.waitForChild(ctx, r, stop, died)
	kill()
	if !gone {
		how = <-died
	}
	end := r.theEnd()
	switch {
	case j.isLost():
		return nil
	case end != nil:
		return j.concludeChild(ctx, end)
	case errors.Is(context.Cause(ctx), ktrdr.ErrCancelled):
		return j.conclude(ctx, nil, context.Cause(ctx))
	case errors.Is(how, ErrNotStarted):
		return j.conclude(ctx, nil, &Later{After: startAgainAfter, Reason: how.Error()})
	case ctx.Err() != nil: // killed with the backend's patience: nothing the operation did
		return j.conclude(ctx, nil, context.Cause(ctx))
	}
	j.log.Warn("child process died", "how", how)
	return &entry{Released: &ktrdr.Released{Operation: j.claim.op, Epoch: j.claim.epoch, ChildDied: true, Reason: shorten(fmt.Sprint(how))}}
}

// waitForChild waits until the child has ended its operation or is gone. Told
// to stop, the child has as long as a runner before it is killed.
func (j *job) waitForChild(ctx context.Context, r *relay, stop chan<- struct{}, died <-chan error) (gone bool, how error) {
	select {
	case <-r.ended:
		return false, nil
	case how = <-died:
		return true, how
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), ktrdr.ErrLost) {
		return false, nil
	}
	if !errors.Is(context.Cause(ctx), ktrdr.ErrCancelled) { // of a cancel it hears as every worker does
		close(stop)
	}
	overdue := time.NewTimer(j.w.cfg.Grace)
	defer overdue.Stop()
	select {
	case <-r.ended:
	case how = <-died:
		return true, how
	case <-overdue.C:
		j.log.Warn("child process ignores that it should stop; killing it", "cause", context.Cause(ctx), "after", j.w.cfg.Grace)
	case <-j.writes.Done(): // nothing can be written any more
	}
	return false, nil
}

// concludeChild is the end of the claim as the child process gave it.
func (j *job) concludeChild(ctx context.Context, e *entry) *entry {
	f := e.Finished
	c, ok := j.w.cfg.Runners[j.task.Type].(Concluder)
	if !ok || f == nil || f.Outcome != ktrdr.Completed {
		return e
	}
	final := &Checkpoint{w: j.w}
	if f.Checkpoint != nil {
		final.State, final.Artifacts = f.Checkpoint.State, f.Checkpoint.Artifacts
	}
	result, err := j.call(ctx, runnerFunc(func(ctx context.Context, t *Task) (json.RawMessage, error) {
		return c.Conclude(ctx, t, f.Result, final)
	}), j.newTask(nil))
	return j.conclude(ctx, result, err)
}

type runnerFunc func(context.Context, *Task) (json.RawMessage, error)

func (f runnerFunc) Run(ctx context.Context, t *Task) (json.RawMessage, error) { return f(ctx, t) }

// relay is the backend that a child process sees: one operation, claimed before, and the engine for
// all that is written about it. It keeps what ends the claim for the job.
type relay struct {
	j    *job
	stop context.Context // of the job: what ends it is told to the child

	mu    sync.Mutex
	given bool
	end   *entry
	ended chan struct{}
}

func newRelay(ctx context.Context, j *job) *relay {
	return &relay{j: j, stop: ctx, ended: make(chan struct{})}
}

// Register admits the child.
func (r *relay) Register(_ context.Context, in ktrdr.Registration) (ktrdr.Registered, error) {
	if err := ktrdr.CheckProtocol(in.Protocol); err != nil {
		return ktrdr.Registered{}, err
	}
	return ktrdr.Registered{
		HeartbeatSeconds:  r.j.w.link.state().every.Seconds(),
		CheckpointSeconds: time.Duration(r.j.w.saveDue.Load()).Seconds(),
		Orders:            r.orders(in.Running),
	}, nil
}

// Unregister has nothing to forget: the child was no worker of the store's.
func (r *relay) Unregister(context.Context, ktrdr.WorkerID) error { return nil }

// Heartbeat takes over how far the child is; the job's own heartbeat tells the store.
func (r *relay) Heartbeat(_ context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error) {
	for _, c := range h.Running {
		if r.own(c.Operation, c.Epoch) == nil {
			r.j.step.Store(c.Step)
		}
	}
	return r.orders(h.Running), nil
}

// Claim hands the operation out once, and then only orders.
func (r *relay) Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	if task := r.take(c.Free); task != nil {
		return ktrdr.ClaimReply{Task: task}, nil
	}
	wait := time.NewTimer(seconds(c.Wait))
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	case <-r.ended:
	case <-r.stop.Done():
	}
	return ktrdr.ClaimReply{Orders: r.orders(c.Running)}, nil
}

func (r *relay) take(free int) *ktrdr.Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given || free == 0 {
		return nil
	}
	r.given = true
	task := r.j.task
	task.InChild, task.Cancel = false, task.Cancel || r.j.asked.Load()
	return &task
}

// orders are the job's: a child whose job was cancelled is to cancel, and one
// that has lost it, or runs anything else, to drop it.
func (r *relay) orders(running []ktrdr.Claimed) (o ktrdr.Orders) {
	for _, c := range running {
		switch {
		case r.own(c.Operation, c.Epoch) != nil || r.j.isLost():
			o.Lost = append(o.Lost, c)
		case r.j.asked.Load():
			o.Cancel = append(o.Cancel, c)
		}
	}
	return o
}

// own refuses to speak for another claim.
func (r *relay) own(op ktrdr.OperationID, epoch ktrdr.Epoch) error {
	if (claim{op, epoch}) != r.j.claim {
		return ktrdr.Errorf(ktrdr.CodeStaleEpoch, "epoch %d of %s is not what this process was started for", epoch, op)
	}
	return nil
}

// Progress passes it on.
func (r *relay) Progress(ctx context.Context, p ktrdr.ProgressReport) error {
	if err := r.own(p.Operation, p.Epoch); err != nil {
		return err
	}
	r.j.step.Store(p.Progress.StepsCompleted)
	return r.j.w.backend.Progress(ctx, p)
}

// Checkpoint passes it on.
func (r *relay) Checkpoint(ctx context.Context, c ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error) {
	if err := r.own(c.Operation, c.Epoch); err != nil {
		return ktrdr.CheckpointInfo{}, err
	}
	return r.j.w.backend.Checkpoint(ctx, c)
}

// SkipCheckpoint passes it on.
func (r *relay) SkipCheckpoint(ctx context.Context, s ktrdr.Skip) (*ktrdr.StoredCheckpoint, error) {
	if err := r.own(s.Operation, s.Epoch); err != nil {
		return nil, err
	}
	return r.j.w.backend.SkipCheckpoint(ctx, s)
}

// PutBlob passes it on.
func (r *relay) PutBlob(ctx context.Context, c ktrdr.Claimed, h ktrdr.Hash, size int64, b io.Reader) error {
	if err := r.own(c.Operation, c.Epoch); err != nil {
		return err
	}
	return r.j.w.backend.PutBlob(ctx, c, h, size, b)
}

// OpenBlob passes it on.
func (r *relay) OpenBlob(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
	return r.j.w.openBlob(ctx, h)
}

// Finish keeps the end for the job, which writes it. The files of its
// checkpoint were put before it.
func (r *relay) Finish(_ context.Context, f ktrdr.Finished) error {
	return r.keep(f.Operation, f.Epoch, &entry{Finished: &f, stored: true})
}

// Release keeps the end for the job.
func (r *relay) Release(_ context.Context, back ktrdr.Released) error {
	return r.keep(back.Operation, back.Epoch, &entry{Released: &back})
}

func (r *relay) keep(op ktrdr.OperationID, epoch ktrdr.Epoch, e *entry) error {
	if err := r.own(op, epoch); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == nil { // a repetition is the same
		r.end = e
		close(r.ended)
	}
	return nil
}

func (r *relay) theEnd() *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}
