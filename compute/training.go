package compute

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

const checkpointEpochs = 10

// TrainingRunner runs trainings, with the preferred kernel where it gives the
// bits that the spec asks for. The zero Kernel is the fastest.
func TrainingRunner(preferred neural.Kernel) worker.Runner { return trainingRunner{kernel: preferred} }

type trainingRunner struct {
	kernel neural.Kernel
	watch  func(step int64) // sees every batch; nil but in tests
}

// training is one training on its way through a worker. A step is a batch.
type training struct {
	task     *worker.Task
	spec     jobs.TrainingSpec
	strategy *strategy.Strategy
	flight   metrics.Preflight
	run      *train.Run
	meter    *meter
	saves    saveLimiter
	watch    func(step int64)
}

// place is what a checkpoint says for people; the run itself is its artifact.
type place struct {
	Epoch int `json:"epoch,omitempty"` // epochs ended
	Batch int `json:"batch,omitempty"` // batches done of the next
	Bar   int `json:"bar,omitempty"`   // bars done
}

// Run trains from where the checkpoint stands to the model.
func (r trainingRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, parsed, err := readTraining(t.Spec)
	if err != nil {
		return nil, err
	}
	if err := t.Identify(trainingFingerprint(spec, parsed)); err != nil {
		return nil, err
	}
	j := &training{task: t, spec: spec, strategy: parsed, saves: newSaveLimiter(t), watch: r.watch}
	if err := j.prepare(ctx, r.kernel); err != nil {
		return nil, err
	}
	if err := j.epochs(ctx); err != nil {
		return nil, err
	}
	return j.finish()
}

// prepare makes the dataset and the run, new or as the checkpoint left it.
func (j *training) prepare(ctx context.Context, preferred neural.Kernel) error {
	preparing(j.task, "preparing the data")
	kernel, err := kernelFor(preferred, j.spec.KernelClass)
	if err != nil {
		return err
	}
	data, err := series(ctx, j.task, j.spec.Bars)
	if err != nil {
		return err
	}
	opt := train.Options{Span: strategy.Span{Start: j.spec.Start, End: j.spec.End}}
	ds, flight, err := train.Prepare(j.strategy, data, opt)
	if err != nil {
		return fmt.Errorf("prepare strategy %s: %w", j.strategy.Name, err)
	}
	j.flight = flight
	state, err := restored(ctx, j.task, trainingState)
	if err != nil {
		return err
	}
	if state == nil {
		j.run, err = train.Start(ds, j.strategy, j.spec.Seed, kernel)
	} else {
		j.run, err = train.Restore(ds, j.strategy, j.spec.Seed, kernel, state)
	}
	if errors.Is(err, train.ErrCorrupt) {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "checkpoint %s: %w", j.task.Checkpoint.ID, err)
	}
	if err != nil {
		return err
	}
	p := j.run.Progress()
	j.task.Every = checkpointEpochs * int64(p.Batches)
	j.meter = newMeter(step(p))
	return nil
}

// step counts batches.
func step(p train.Progress) int64 { return int64(p.Epoch-1)*int64(p.Batches) + int64(p.Batch) }

// errDue is the cause with which an epoch is cut to be saved.
var errDue = errors.New("a checkpoint is due")

// epochs trains until the run is done, saving where it is due: between two
// epochs or in the middle of a long one.
func (j *training) epochs(ctx context.Context) error {
	for !j.run.Done() {
		epoch, cut := context.WithCancelCause(ctx)
		err := j.run.Epoch(epoch, func(p train.Progress) {
			if j.watch != nil {
				j.watch(step(p))
			}
			if j.meter.due() {
				j.tell(p)
			}
			if j.saves.due(step(p)) {
				cut(errDue)
			}
		})
		cut(nil)
		switch {
		case err == nil || errors.Is(err, errDue) && ctx.Err() == nil:
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) || errors.Is(err, errDue):
			return j.keep(ctx, j.task.Interrupted)
		default:
			return fmt.Errorf("strategy %s: %w", j.strategy.Name, err)
		}
		if at := step(j.run.Progress()); !j.run.Done() && j.saves.due(at) {
			if err := j.keep(ctx, j.saves.save); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep stores the state of the run.
func (j *training) keep(ctx context.Context, store storeState) error {
	state, err := j.run.MarshalBinary()
	if err != nil {
		return err
	}
	return store(ctx, step(j.run.Progress()), j.place(), worker.File{Name: trainingState, Bytes: state})
}

func (j *training) place() place {
	return place{Epoch: j.run.Epochs(), Batch: j.run.Progress().Batch}
}

func (j *training) tell(p train.Progress) {
	done, total := step(p), int64(p.Epochs)*int64(p.Batches)
	f := jobs.ProgressContext{Epoch: p.Epoch, Epochs: p.Epochs, Loss: &p.Loss, Accuracy: &p.Accuracy}
	h := j.run.History()
	if n := len(h.ValLoss); n > 0 {
		f.ValLoss, f.ValAccuracy = &h.ValLoss[n-1], &h.ValAccuracy[n-1]
	}
	var batches float64
	batches, f.ETASeconds = j.meter.rate(done, total)
	f.RowsPerSecond = batches * float64(j.strategy.Training.BatchSize)
	j.task.Progress(ktrdr.Progress{
		Percentage: 100 * float64(done) / float64(total), CurrentStep: fmt.Sprintf("epoch %d/%d", p.Epoch, p.Epochs),
		StepsCompleted: done, StepsTotal: total, Context: contextOf(f),
	})
}

func (j *training) finish() (json.RawMessage, error) {
	model, judged, err := j.run.Finish()
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", j.strategy.Name, err)
	}
	var file bytes.Buffer
	if err := model.Encode(&file); err != nil {
		return nil, fmt.Errorf("model of strategy %s: %w", j.strategy.Name, err)
	}
	made := artifact(jobs.ModelFile, file.Bytes())
	result := jobs.TrainingResult{
		Strategy: j.strategy.Name, Model: made, Metrics: judged, Preflight: j.flight,
		Seed: model.Info.Seed, Numerics: model.Info.Numerics + " " + model.Info.KernelClass, Kernel: j.run.Kernel().Name(),
		Artifacts: []ktrdr.Artifact{made}, Opened: j.spec.Opens, MadeUp: jobs.AnyMadeUp(j.spec.Bars),
	}
	result.Warnings = append(j.flight.Warnings(), result.Warnings...)
	if o := j.spec.Opens; o != nil {
		result.Warnings = append([]string{o.Warning()}, result.Warnings...)
	}
	result.Summary = trainingSummary(result)
	result.ResultHash, err = hashOf(struct {
		Made    map[string]string `json:"made_from"`
		Weights ktrdr.Hash        `json:"weights"`
		Metrics metrics.Metrics   `json:"metrics"`
	}{trainingFingerprint(j.spec, j.strategy), made.SHA256, judged})
	if err != nil {
		return nil, err
	}
	p := j.run.Progress()
	j.tell(p)
	if err := j.task.Final(step(p), j.place(), worker.File{Name: jobs.ModelFile, Bytes: file.Bytes()}); err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

func trainingSummary(r jobs.TrainingResult) string {
	t := r.Training
	text := fmt.Sprintf("%s: %d epochs, the model is that of epoch %d", r.Strategy, t.EpochsTrained, t.BestEpoch)
	if r.Test != nil {
		text += fmt.Sprintf("; on %d test samples accuracy %.4f (always the most frequent answer: %.4f), loss %.4g", r.Test.Samples,
			r.Test.Accuracy, r.Test.BaselineAccuracy, r.Test.Loss)
	}
	switch n := len(r.Warnings); {
	case n == 1:
		text += "; 1 warning"
	case n > 1:
		text += fmt.Sprintf("; %d warnings", n)
	}
	return text
}
