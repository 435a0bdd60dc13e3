package dummy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
	"github.com/ktrdr/ktrdr/worker"
)

// Runner runs dummy operations.
func Runner() worker.Runner { return runner{crash: killSelf} }

type runner struct {
	crash func() // does not return
}

// killSelf ends the process as nothing can prevent or notice.
func killSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

// state is all that a dummy operation must remember.
type state struct {
	Step int64      `json:"step"`
	Hash ktrdr.Hash `json:"hash"`
}

const artifactName = "noise"

func (s state) files(spec Spec) []worker.File {
	if spec.ArtifactBytes == 0 {
		return nil
	}
	return []worker.File{{Name: artifactName, Bytes: noise(s.Hash, spec.ArtifactBytes)}}
}

// Run does the steps that the checkpoint has not done.
func (r runner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[Spec](t.Spec)
	if err != nil {
		return nil, err
	}
	st, err := restore(ctx, t, spec)
	if err != nil {
		return nil, err
	}
	saw, err := openWitness(t)
	if err != nil {
		return nil, err
	}
	defer saw.close()
	t.Every = int64(spec.CheckpointEvery)
	for st.Step < int64(spec.Steps) {
		if !wait(ctx, spec.StepMS) {
			return nil, t.Interrupted(ctx, st.Step, st, st.files(spec)...)
		}
		if err := r.goWrong(ctx, t, spec, st); err != nil {
			return nil, err
		}
		st.Step++
		st.Hash = next(st.Hash, spec.Seed, st.Step)
		if err := saw.step(st.Step); err != nil {
			return nil, err
		}
		t.Progress(spec.progress(st))
		if st.Step < int64(spec.Steps) && t.Due(st.Step) {
			if err := t.Save(ctx, st.Step, st, st.files(spec)...); err != nil {
				return nil, err
			}
		}
	}
	if spec.Hang {
		<-ctx.Done()
		return nil, t.Interrupted(ctx, st.Step, st, st.files(spec)...)
	}
	return json.Marshal(Result{Hash: st.Hash, Steps: st.Step})
}

// restore returns the state to start from.
func restore(ctx context.Context, t *worker.Task, spec Spec) (state, error) {
	made, err := fingerprint(t.Spec)
	if err != nil {
		return state{}, err
	}
	if err := t.Identify(made); err != nil || t.Checkpoint == nil {
		return state{}, err
	}
	var st state
	if err := json.Unmarshal(t.Checkpoint.State, &st); err != nil {
		return st, ktrdr.Errorf(ktrdr.CodeCorrupt, "state of checkpoint %s: %w", t.Checkpoint.ID, err)
	}
	if spec.ArtifactBytes == 0 {
		return st, nil
	}
	f, err := t.Checkpoint.Open(ctx, artifactName)
	if err != nil {
		return st, err
	}
	defer f.Close() //nolint:errcheck // read to its end
	got, err := io.ReadAll(f)
	if err != nil {
		return st, fmt.Errorf("artifact of checkpoint %s: %w", t.Checkpoint.ID, err)
	}
	if !bytes.Equal(got, noise(st.Hash, spec.ArtifactBytes)) {
		return st, ktrdr.Errorf(ktrdr.CodeCorrupt, "artifact of checkpoint %s is not the one its state was saved with", t.Checkpoint.ID)
	}
	return st, nil
}

// goWrong fails, panics or crashes if the spec wants that before the next step.
func (r runner) goWrong(ctx context.Context, t *worker.Task, spec Spec, st state) error {
	step := int(st.Step) + 1
	if step == spec.CrashAt {
		r.crash()
	}
	if step == spec.PanicAt {
		panic(fmt.Sprintf("step %d panics, as its spec says", step))
	}
	if step == spec.FailAt {
		why := ktrdr.Errorf(ktrdr.CodeFailed, "step %d fails, as its spec says", step)
		return t.Failed(ctx, why, st.Step, st, st.files(spec)...)
	}
	return nil
}

func (s Spec) progress(st state) ktrdr.Progress {
	return ktrdr.Progress{
		Percentage: 100 * float64(st.Step) / float64(s.Steps), CurrentStep: "counting",
		StepsCompleted: st.Step, StepsTotal: int64(s.Steps),
	}
}

// wait takes the time of a step; false means that ctx ended.
func wait(ctx context.Context, ms float64) bool {
	return backoff.Sleep(ctx, time.Duration(ms*float64(time.Millisecond)))
}
