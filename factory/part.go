package factory

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// PartRunner makes the searches of a part of the test of a run, one after the other.
func PartRunner(preferred neural.Kernel) worker.Runner { return partRunner{preferred} }

type partRunner struct{ kernel neural.Kernel }

// Run searches from the copy where the checkpoint stands to the last. A copy is a
// function of the spec and its number, so nothing but the scores is saved.
func (r partRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[research.FactoryPartSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	made, err := research.FactoryFingerprint(t.Spec)
	if err != nil {
		return nil, err
	}
	if err := t.Identify(made); err != nil {
		return nil, err
	}
	done := research.FactoryPart{From: spec.From}
	if t.Checkpoint != nil {
		if err := json.Unmarshal(t.Checkpoint.State, &done); err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "checkpoint %s: %w", t.Checkpoint.ID, err)
		}
	}
	w, s, err := r.world(ctx, t, spec)
	if err != nil {
		return nil, err
	}
	if spec.Real {
		t.Progress(ktrdr.Progress{CurrentStep: "the real bars", StepsTotal: 1})
		if done.Real, err = searchReal(ctx, w, spec.FactoryTestSpec, s); err != nil {
			return nil, stopped(ctx, err)
		}
		done.Summary = "the real bars searched"
		return json.Marshal(done)
	}
	t.Every = 1
	for next := spec.From + len(done.Scores); next < spec.To; next++ {
		t.Progress(copyProgress(len(done.Scores), spec))
		out, err := SearchCopy(ctx, w, spec.Search, s, spec.Null, spec.CopySeed(next))
		if ctx.Err() != nil {
			return nil, t.Interrupted(ctx, int64(len(done.Scores)), done)
		}
		if err != nil {
			return nil, fmt.Errorf("copy %d: %w", next+1, err)
		}
		done.Scores = append(done.Scores, out.Statistic())
		if step := int64(len(done.Scores)); next+1 < spec.To && t.Due(step) {
			if err := t.Save(ctx, step, done); err != nil {
				return nil, err
			}
		}
	}
	t.Progress(copyProgress(len(done.Scores), spec))
	done.Summary = fmt.Sprintf("%s searched, from number %d on", text.Counted(len(done.Scores), "copy", "copies"), spec.From+1)
	return json.Marshal(done)
}

// stopped is why the work was interrupted, if it was; else its error.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func copyProgress(done int, s research.FactoryPartSpec) ktrdr.Progress {
	all := s.To - s.From
	return ktrdr.Progress{
		Percentage: 100 * float64(done) / float64(all), CurrentStep: fmt.Sprintf("copy %d of %d", min(done+1, all), all),
		StepsCompleted: int64(done), StepsTotal: int64(all),
	}
}

// world is the real bars of a test and how they are searched. There is no holdout.
func (r partRunner) world(ctx context.Context, t *worker.Task, spec research.FactoryPartSpec) (w World, s Settings, err error) {
	if w.Bars, err = taskBars(ctx, t, spec.Search); err != nil {
		return w, s, err
	}
	w.From = spec.Search.HoldoutFrom
	for _, m := range spec.Search.ContextMarkets {
		w.Context = append(w.Context, m.Symbol)
	}
	s = Settings{Researches: len(spec.Researches), Before: spec.Others()}
	s.Kernel, err = kernelOf(r.kernel, spec.Search.KernelClass)
	return w, s, err
}

// searchReal repeats the search of a run. It must give what the run gave: else the copies
// would be compared with another search.
func searchReal(ctx context.Context, w World, spec research.FactoryTestSpec, s Settings) (*research.RealScore, error) {
	out, err := SearchAs(ctx, w, spec.Search, s)
	if err != nil {
		return nil, err
	}
	for i, want := range spec.Researches {
		if got := out.Researches[i].Result.ResultHash; got != want.Hash {
			return nil, ktrdr.Errorf(ktrdr.CodeConflict, "the same search gives another result for research %d (%s) of the run: %s instead of %s. "+
				"The run cannot be compared with copies. Start it again with --fresh, with this version of ktrdr", i+1, want.Operation.Tail(),
				got, want.Hash)
		}
	}
	best, score := out.Best()
	return &research.RealScore{Score: score, Best: best}, nil
}
