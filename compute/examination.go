package compute

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/examine"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// examinationNumerics is the version of how an examination is made.
const examinationNumerics = "examination/2"

// ExaminationRunner examines finalists, with the preferred kernel where it gives the bits
// that the spec asks for. The zero Kernel is the fastest.
func ExaminationRunner(preferred neural.Kernel) worker.Runner {
	return examinationRunner{kernel: preferred}
}

type examinationRunner struct {
	kernel neural.Kernel
	watch  func(step int64) // sees every unit; nil but in tests
}

// examination is one examination on its way through a worker. A step is a unit: the
// trainings of one split, of one fold or of one changed strategy.
type examination struct {
	task  *worker.Task
	spec  jobs.ExaminationSpec
	done  []examine.UnitResult
	saves saveLimiter
	meter *meter
	watch func(step int64)
}

// Run examines from where the checkpoint stands to the result.
func (r examinationRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, parsed, err := readExamination(t.Spec)
	if err != nil {
		return nil, err
	}
	if err := t.Identify(examinationFingerprint(spec, parsed)); err != nil {
		return nil, err
	}
	j := &examination{task: t, spec: spec, saves: newSaveLimiter(t), watch: r.watch}
	preparing(t, "preparing the data")
	kernel, err := kernelFor(r.kernel, spec.KernelClass)
	if err != nil {
		return nil, err
	}
	data, err := series(ctx, t, spec.Bars)
	if err != nil {
		return nil, err
	}
	related, err := relatedSeries(ctx, t, spec)
	if err != nil {
		return nil, err
	}
	x, refused, err := examine.New(examine.Finalist{
		Strategy: parsed, Bars: data, Related: related, Costs: spec.CostsOf, Seed: spec.Seed, Kernel: kernel, Rules: spec.Rules,
		ScoreOnly: spec.ScoreOnly,
	})
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", spec.Name, err)
	}
	if refused != nil {
		return j.finish(parsed, *refused)
	}
	if err := j.units(ctx, x); err != nil {
		return nil, err
	}
	result, err := x.Result(j.done)
	if err != nil {
		return nil, err
	}
	return j.finish(parsed, result)
}

// relatedSeries are the bars of each related symbol, with the context symbols that the
// strategy reads beside them.
func relatedSeries(ctx context.Context, t *worker.Task, spec jobs.ExaminationSpec) ([]train.Series, error) {
	if len(spec.RelatedBars) == 0 {
		return nil, nil
	}
	context := slices.DeleteFunc(slices.Clone(spec.Bars), func(b jobs.Bars) bool { return !b.Context })
	return series(ctx, t, slices.Concat(spec.RelatedBars, context))
}

// units makes the units that the checkpoint does not hold.
func (j *examination) units(ctx context.Context, x *examine.Examination) error {
	state, err := restored(ctx, j.task, examinationState)
	if err != nil {
		return err
	}
	if state != nil && (json.Unmarshal(state, &j.done) != nil || len(j.done) > x.Units()) {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "checkpoint %s: its units cannot be read", j.task.Checkpoint.ID)
	}
	j.task.Every = 1
	j.meter = newMeter(j.step())
	for len(j.done) < x.Units() {
		j.tell(x)
		u, err := x.Do(ctx, len(j.done))
		switch {
		case err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			return j.keep(ctx, j.task.Interrupted)
		case err != nil:
			return fmt.Errorf("strategy %s: %w", j.spec.Name, err)
		}
		j.done = append(j.done, u)
		if j.watch != nil {
			j.watch(j.step())
		}
		if len(j.done) < x.Units() && j.saves.due(j.step()) {
			if err := j.keep(ctx, j.saves.save); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *examination) step() int64 { return int64(len(j.done)) }

func (j *examination) keep(ctx context.Context, store storeState) error {
	state, err := json.Marshal(j.done)
	if err != nil {
		return err
	}
	return store(ctx, j.step(), unitPlace{Units: len(j.done)}, worker.File{Name: examinationState, Bytes: state})
}

// unitPlace is what a checkpoint says for people.
type unitPlace struct {
	Units int `json:"units"` // done
}

func (j *examination) tell(x *examine.Examination) {
	total := int64(x.Units())
	f := jobs.ProgressContext{}
	_, f.ETASeconds = j.meter.rate(j.step(), total)
	j.task.Progress(ktrdr.Progress{
		Percentage: 100 * float64(j.step()) / float64(total), CurrentStep: x.Name(len(j.done)),
		StepsCompleted: j.step(), StepsTotal: total, Context: contextOf(f),
	})
}

func (j *examination) finish(parsed *strategy.Strategy, found evidence.Examination) (json.RawMessage, error) {
	result := jobs.ExaminationResult{
		Summary: found.Summary, Strategy: j.spec.Name, Research: j.spec.Research, MadeUp: jobs.AnyMadeUp(j.spec.Bars), Examination: found,
	}
	var err error
	result.ResultHash, err = hashOf(struct {
		Made        map[string]string    `json:"made_from"`
		Examination evidence.Examination `json:"examination"`
	}{examinationFingerprint(j.spec, parsed), found})
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

func fingerprintExamination(text []byte) (map[string]string, error) {
	spec, parsed, err := readExamination(text)
	if err != nil {
		return nil, err
	}
	return examinationFingerprint(spec, parsed), nil
}

func readExamination(text json.RawMessage) (spec jobs.ExaminationSpec, parsed *strategy.Strategy, err error) {
	if spec, err = ktrdr.ParseSpec[jobs.ExaminationSpec](text); err != nil {
		return spec, nil, err
	}
	parsed, err = readStrategy(spec.KernelClass, spec.Strategy)
	return spec, parsed, err
}

func examinationFingerprint(s jobs.ExaminationSpec, parsed *strategy.Strategy) map[string]string {
	var settings bytes.Buffer
	all := []any{s.Costs, s.Rules.WithDefaults()}
	if s.ScoreOnly {
		all = append(all, "score only")
	}
	_ = json.NewEncoder(&settings).Encode(all) // numbers and a word, sorted by symbol
	return map[string]string{
		"strategy": ktrdr.Hash(parsed.Hash()).String(),
		"data":     dataHash(slices.Concat(s.Bars, s.RelatedBars)),
		"seed":     fmt.Sprint(s.Seed),
		"settings": settings.String(),
		"numerics": examinationNumerics + " " + backtestNumerics + " " + train.Numerics + " " + neural.Numerics + " " + s.KernelClass,
	}
}
