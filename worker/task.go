package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Task is what a runner sees of the operation it runs.
type Task struct {
	Operation  ktrdr.OperationID
	Type       ktrdr.Type
	Epoch      ktrdr.Epoch
	Attempts   int // how often it was claimed, this time included
	Spec       json.RawMessage
	Checkpoint *Checkpoint // where to start from; nil means from nothing
	Inject     string      // what is to go wrong on purpose; see ktrdr.Task
	Look       *ktrdr.Look // that a confirmation makes; nil for all others

	// Every makes a checkpoint due after that number of steps, besides the interval
	// in force; 0 leaves it to time alone. The runner sets it.
	Every int64

	job *job
}

// File is an artifact to be saved with a checkpoint.
type File struct {
	Name  string
	Bytes []byte
}

// Identify says what this run is made from, by name: the hash of its spec, of its data, the version
// of its numerics. Every checkpoint carries it, and a checkpoint made from anything else is refused
// with CodeMismatch, naming what differs. Call it first.
func (t *Task) Identify(fingerprint map[string]string) error {
	t.job.saves.identify(fingerprint)
	if t.Checkpoint == nil {
		return nil
	}
	was := t.Checkpoint.Fingerprint
	var differ []string
	for name := range fingerprint {
		if was[name] != fingerprint[name] {
			differ = append(differ, name)
		}
	}
	for name := range was {
		if _, ok := fingerprint[name]; !ok {
			differ = append(differ, name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	return ktrdr.Errorf(ktrdr.CodeMismatch, "checkpoint %s was made from another %s; retry the operation to start it over",
		t.Checkpoint.ID, strings.Join(differ, " and another "))
}

// Open reads a blob that the spec names: its bars, its model. Any other is CodeForbidden: an
// operation reads what it was given and nothing else. The bytes are checked on the way, and a
// mismatch is CodeCorrupt instead of the end of the file. While the backend is away it waits;
// then the end of ctx is its cause.
func (t *Task) Open(ctx context.Context, a ktrdr.Artifact) (io.ReadCloser, error) {
	given := ktrdr.ArtifactsIn(t.job.task.Spec) // not the runner's, which it may have changed
	if !slices.ContainsFunc(given, func(g ktrdr.Artifact) bool { return g.SHA256 == a.SHA256 }) {
		return nil, ktrdr.Errorf(ktrdr.CodeForbidden, "%s was not given %s (blob %s): an operation reads only the inputs that its spec names",
			t.Operation, a.Name, a.SHA256)
	}
	for try := 0; ; try++ {
		r, err := t.job.w.openBlob(ctx, a.SHA256)
		if err == nil {
			return r, nil
		}
		if v := judge(err); v != away && v != later || t.job.replay {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		t.job.log.Warn("input cannot be read yet", "name", a.Name, "err", err)
		if !retries(t.job.w.patience()).Wait(ctx, try) {
			return nil, context.Cause(ctx)
		}
	}
}

// Progress tells how far the work is. It never waits: only the newest word is
// kept, and sent at most twice a second.
func (t *Task) Progress(p ktrdr.Progress) {
	t.job.step.Store(p.StepsCompleted)
	t.job.progress.set(sane(p))
}

// Due says whether a checkpoint should be saved at this step.
func (t *Task) Due(step int64) bool {
	return !t.job.replay && t.job.saves.due(step, t.Every, t.Interval())
}

// Interval is the time after which a checkpoint is due; 0 or less when time makes none due.
func (t *Task) Interval() time.Duration { return time.Duration(t.job.w.saveDue.Load()) }

// Save stores a periodic checkpoint. The state is marshalled and the files are read before it
// returns, so both may be changed afterwards; when it returns nil they are durable, at the backend
// or in the spool. A save that has begun is not cut short by the end of ctx: half a checkpoint is
// of no use. ktrdr.ErrLost means that the claim is no longer the live one.
func (t *Task) Save(ctx context.Context, step int64, state any, files ...File) error {
	return t.job.save(ctx, ktrdr.CheckpointPeriodic, step, state, files)
}

// Interrupted is how a runner answers the end of its context: it saves a checkpoint whose type
// follows the cause, none when the claim is lost, and returns the cause, which the runner returns
// in turn. A checkpoint that cannot be saved is logged; the operation stops all the same.
func (t *Task) Interrupted(ctx context.Context, step int64, state any, files ...File) error {
	cause := context.Cause(ctx)
	kind := ktrdr.CheckpointShutdown
	switch {
	case cause == nil:
		return errors.New("the work stopped as if interrupted, but it was not told to stop")
	case errors.Is(cause, ktrdr.ErrLost):
		return cause
	case errors.Is(cause, ktrdr.ErrCancelled):
		kind = ktrdr.CheckpointCancellation
	}
	if err := t.job.save(ctx, kind, step, state, files); err != nil {
		if errors.Is(err, ktrdr.ErrLost) {
			return err
		}
		t.job.log.Error("checkpoint cannot be saved before stopping", "err", err)
	}
	return cause
}

// Failed is how a runner reports an error that a resume might get past: it saves a failure
// checkpoint and returns why, joined with what kept it from being saved, if anything did.
func (t *Task) Failed(ctx context.Context, why error, step int64, state any, files ...File) error {
	err := t.job.save(ctx, ktrdr.CheckpointFailure, step, state, files)
	if err == nil {
		return why
	}
	if errors.Is(err, ktrdr.ErrLost) {
		return err
	}
	return fmt.Errorf("%w (and its checkpoint was not saved: %w)", why, err)
}

// Final gives the checkpoint that is stored together with the result when the
// runner returns without an error, as the operation's record. The files are
// kept as they are given, and must not be changed any more.
func (t *Task) Final(step int64, state any, files ...File) error {
	c, bytes, err := t.job.checkpoint(ktrdr.CheckpointFinal, step, state, files)
	if err != nil {
		return err
	}
	t.job.saves.setFinal(c, bytes)
	return nil
}
