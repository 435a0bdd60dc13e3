package factory

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// CalibrationRunner searches the worlds of a part of a calibration, one after the other.
func CalibrationRunner(preferred neural.Kernel) worker.Runner { return calibrationRunner{preferred} }

type calibrationRunner struct{ kernel neural.Kernel }

// Run searches from the world where the checkpoint stands to the last. A world is a
// function of the spec and its number, so nothing but the results is saved.
func (r calibrationRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[research.CalibrationPartSpec](t.Spec)
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
	var done research.CalibrationPart
	if t.Checkpoint != nil {
		if err := json.Unmarshal(t.Checkpoint.State, &done); err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "checkpoint %s: %w", t.Checkpoint.ID, err)
		}
	}
	series, err := taskBars(ctx, t, spec.Search)
	if err != nil {
		return nil, err
	}
	s := Settings{Researches: spec.Researches}
	if s.Kernel, err = kernelOf(r.kernel, spec.Search.KernelClass); err != nil {
		return nil, err
	}
	t.Every = 1
	for world := spec.From + len(done.Worlds); world < spec.To; world++ {
		t.Progress(worldProgress(len(done.Worlds), spec))
		found, err := searchWorld(ctx, series, spec.CalibrationSpec, world, s)
		if ctx.Err() != nil {
			return nil, t.Interrupted(ctx, int64(len(done.Worlds)), done)
		}
		if err != nil {
			return nil, fmt.Errorf("world %d: %w", world, err)
		}
		done.Worlds = append(done.Worlds, found)
		if step := int64(len(done.Worlds)); world+1 < spec.To && t.Due(step) {
			if err := t.Save(ctx, step, done); err != nil {
				return nil, err
			}
		}
	}
	t.Progress(worldProgress(len(done.Worlds), spec))
	done.Summary = fmt.Sprintf("%s searched, from world %d on", text.Counted(len(done.Worlds), "world"), spec.From+1)
	return json.Marshal(done)
}

func worldProgress(done int, s research.CalibrationPartSpec) ktrdr.Progress {
	all := s.To - s.From
	return ktrdr.Progress{
		Percentage: 100 * float64(done) / float64(all), CurrentStep: fmt.Sprintf("world %d of %d", min(done+1, all), all),
		StepsCompleted: int64(done), StepsTotal: int64(all),
	}
}

// taskBars brings the bars of a search.
func taskBars(ctx context.Context, t *worker.Task, s research.Spec) (series []*market.Bars, err error) {
	for _, want := range s.Bars {
		f, err := t.Open(ctx, want.Artifact)
		if err != nil {
			return nil, err
		}
		data, err := library.ReadVerified(f, want.Artifact)
		_ = f.Close() // only read
		if err != nil {
			return nil, err
		}
		b, err := market.Decode(data)
		if err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: %w", want.Name, err)
		}
		if err := want.Verify(b); err != nil {
			return nil, err
		}
		series = append(series, b)
	}
	return series, nil
}

// kernelOf is the preferred kernel if it gives the bits of a class, else one that does.
func kernelOf(preferred neural.Kernel, class string) (neural.Kernel, error) {
	if preferred != (neural.Kernel{}) && preferred.Class() == class {
		return preferred, nil
	}
	return neural.KernelFor(class)
}

// searchWorld makes one copy of the market, with a planted edge or without, and searches it.
func searchWorld(ctx context.Context, series []*market.Bars, c research.CalibrationSpec, world int,
	s Settings,
) (research.SearchedWorld, error) {
	found := research.SearchedWorld{World: world, Strength: c.Strength(world)}
	bars, err := Copy(series, research.Flips, c.WorldSeed(world))
	if err != nil {
		return found, err
	}
	if found.Strength > 0 {
		bars = Plant(bars, found.Strength)
		found.Known = KnownSharpe(bars[0], c.Search.Costs)
	}
	w, err := Split(bars, c.Holdout)
	if err != nil {
		return found, err
	}
	spec := c.Search
	spec.RunSeed = c.WorldSeed(world) % jobsMaxSeed
	out, err := SearchAs(ctx, w, spec, s)
	if err != nil {
		return found, err
	}
	found.Sharpe, found.Score = out.Sharpe(), out.Score()
	found.Finalists, found.Looks, found.Claims = out.Finalists(), out.Looks(), out.Claims()
	return found, nil
}
