package compute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// about is what lists show of an operation.
type about struct {
	Strategy string             `json:"strategy_name,omitempty"`
	Symbols  []string           `json:"symbols"`
	Frames   []market.Timeframe `json:"timeframes,omitempty"`
	Seed     uint64             `json:"seed,omitempty"`
	Warnings []string           `json:"warnings,omitempty"`
}

const defaultSeed = 1

// Training makes a training of a request. CodeInvalid says what to change.
func (d *Service) Training(ctx context.Context, r jobs.TrainingRequest) (jobs.Accepted, error) {
	text, name, err := d.source(ctx, r.StrategyPath, r.StrategyName, r.StrategyYAML)
	if err != nil {
		return jobs.Accepted{}, err
	}
	s, warnings, err := strategy.Parse(text, name)
	if err != nil {
		return jobs.Accepted{}, wrong("%w", err)
	}
	if s, text, err = retarget(r, s, text); err != nil {
		return jobs.Accepted{}, err
	}
	spec := jobs.TrainingSpec{Strategy: string(text), KernelClass: d.cfg.Kernel.Class()}
	if spec.Seed, err = seedFor(r, s); err != nil {
		return jobs.Accepted{}, err
	}
	if spec.Start, spec.End, err = dates(r.StartDate, r.EndDate); err != nil {
		return jobs.Accepted{}, err
	}
	found, err := d.find(ctx, s.Data.Symbols, s.Data.Timeframes, s.ContextSeries())
	if err != nil {
		return jobs.Accepted{}, err
	}
	access, missing, err := d.trainable(ctx, r, s, &spec, found)
	if err != nil {
		return jobs.Accepted{}, err
	}
	var told []string
	for _, w := range warnings {
		told = append(told, w.String())
	}
	told = slices.Concat(told, access.told, missing)
	op, err := operation(ktrdr.Training, spec, about{s.Name, s.Data.Symbols, s.Data.Timeframes, spec.Seed, told})
	access.enter(&op, "", s.Name, jobs.AnyMadeUp(spec.Bars))
	return jobs.Accepted{Operation: op, Warnings: told}, err
}

// trainable checks the bars and pins what may be read; missing are warnings.
func (d *Service) trainable(ctx context.Context, r jobs.TrainingRequest, s *strategy.Strategy, spec *jobs.TrainingSpec,
	found *found) (a access,
	missing []string, err error,
) {
	markets, err := d.holdouts(ctx, found)
	if err != nil {
		return a, nil, err
	}
	span := train.Options{Span: strategy.Span{Start: spec.Start, End: spec.End}}.Within(s).Span
	if missing, err = found.agree(s.Data.Base, span); err != nil {
		return a, nil, err
	}
	if a, err = markets.access(found, span.End, r.OpenHoldout, origin{}); err != nil {
		return a, nil, err
	}
	if err := found.enough(s.Data.Base, span); err != nil {
		return a, nil, a.because(err)
	}
	if err := feature.Volumes(s, found.traded(), found.bars[len(found.traded()):]); err != nil {
		return a, nil, wrong("strategy %s: %w", s.Name, err)
	}
	if err := s.Cost(found.longest(s.Data.Base)).Check(d.cfg.MaxMemory, d.cfg.MaxCPU); err != nil {
		return a, nil, wrong("strategy %s: %w", s.Name, err)
	}
	if err := d.fix(ctx, markets); err != nil {
		return a, nil, err
	}
	spec.Opens = a.opens
	spec.Bars, err = d.pin(ctx, found)
	return a, missing, err
}

// seedFor is the seed to train with. Two that differ are not guessed between.
func seedFor(r jobs.TrainingRequest, s *strategy.Strategy) (uint64, error) {
	own := uint64(s.Training.Seed)
	switch {
	case r.Seed == nil && own == 0:
		return defaultSeed, nil
	case r.Seed == nil:
		return own, nil
	case *r.Seed > jobs.MaxSeed:
		return 0, wrong("seed is %d; at most %d is allowed", *r.Seed, uint64(jobs.MaxSeed))
	case own != 0 && own != *r.Seed:
		return 0, wrong("strategy %s fixes its seed to %d, and %d was asked for: leave one of them out", s.Name, own, *r.Seed)
	}
	return *r.Seed, nil
}

// retarget puts a strategy onto the symbols and timeframes that were asked for. Only
// a strategy of one timeframe can be moved to another: inputs name theirs.
func retarget(r jobs.TrainingRequest, s *strategy.Strategy, text []byte) (*strategy.Strategy, []byte, error) {
	symbols, err := either(r.Symbol, r.Symbols, "symbol and symbols")
	if err != nil {
		return nil, nil, err
	}
	names, err := either(r.Timeframe, r.Timeframes, "timeframe and timeframes")
	if err != nil {
		return nil, nil, err
	}
	frames, err := timeframes(names)
	if err != nil {
		return nil, nil, err
	}
	same := len(frames) == 0 || slices.Equal(slices.Sorted(slices.Values(frames)), slices.Sorted(slices.Values(s.Data.Timeframes)))
	if same && (len(symbols) == 0 || slices.Equal(symbols, s.Data.Symbols)) {
		return s, text, nil
	}
	if !same && (len(frames) != 1 || len(s.Data.Timeframes) != 1) {
		return nil, nil, wrong("strategy %s is written for %s and cannot be moved to %s: its inputs name their timeframes; "+
			"write another strategy", s.Name, words(s.Data.Timeframes), words(frames))
	}
	moved := *s
	if len(symbols) > 0 {
		moved.Data.Symbols = symbols
	}
	if !same {
		moved.Data.Timeframes, moved.Data.Base, moved.Deployment.Timeframes = frames, frames[0], frames
		moved.Inputs = slices.Clone(s.Inputs)
		for i := range moved.Inputs {
			moved.Inputs[i].Timeframes = frames
		}
	}
	text = moved.YAML()
	again, _, err := strategy.Parse(text, s.Name)
	if err != nil {
		return nil, nil, wrong("strategy %s on %s %s: %w", s.Name, words(moved.Data.Symbols), words(moved.Data.Timeframes), err)
	}
	return again, text, nil
}

func timeframes(names []string) ([]market.Timeframe, error) {
	var frames []market.Timeframe
	for _, n := range names {
		tf, err := market.ParseTimeframe(n)
		if err != nil {
			return nil, wrong("%w", err)
		}
		frames = append(frames, tf)
	}
	return frames, nil
}

// words is a list in a sentence, which a long one is not repeated in.
func words[T ~string](list []T) string {
	const most = 8
	texts := text.Strings(list[:min(most, len(list))])
	if more := len(list) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

func (d *Service) source(ctx context.Context, file, name, text string) ([]byte, string, error) {
	given := 0
	for _, x := range []string{file, name, text} {
		if x != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, "", wrong("name the strategy by exactly one of strategy_path, strategy_name and strategy_yaml")
	case len(text) > library.MaxStrategy:
		return nil, "", wrong("strategy_yaml has %d bytes; at most %d are allowed", len(text), library.MaxStrategy)
	case text != "":
		return []byte(text), "strategy_yaml", nil
	case file != "":
		b, err := d.read(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, "", wrong("there is no strategy %s in the data folder: a strategy_path is relative to it", file)
		}
		return b, file, err
	}
	return d.byName(ctx, name)
}

func (d *Service) read(file string) ([]byte, error) {
	f, err := d.open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, library.MaxStrategy+1))
	if err != nil {
		return nil, wrong("%s: %w", file, err)
	}
	if len(b) > library.MaxStrategy {
		return nil, wrong("%s is longer than the %d bytes that a strategy may have", file, library.MaxStrategy)
	}
	return b, nil
}

// backends tells whether a path is one of the backend's own, such as the first token.
func backends(file string) bool {
	first, _, _ := strings.Cut(strings.ToLower(path.Clean(filepath.ToSlash(file))), "/")
	return slices.Contains([]string{"token", "backend-id", "lock", "restoring", "blobs", "spool"}, first) ||
		strings.HasPrefix(first, "ktrdr.db") || strings.HasSuffix(first, ".ktrdr-partial")
}

// open opens a regular file of the data folder. A path that leads out of it is
// refused, through a link too.
func (d *Service) open(file string) (*os.File, error) {
	if backends(file) {
		return nil, wrong("%s is the backend's own: what is named in a request can be read by others; name a file of strategies/, "+
			"models/ or a folder of your own", file)
	}
	info, err := d.root.Stat(file) // before it is opened: opening a pipe waits for a writer
	var f *os.File
	if err == nil && !info.Mode().IsRegular() {
		return nil, wrong("%s is not a regular file", file)
	}
	if err == nil {
		f, err = d.root.Open(file)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		if e, ok := errors.AsType[*fs.PathError](err); ok { // without the name of the system call
			err = e.Err
		}
		return nil, wrong("%s: %w; paths are relative to the data folder and stay inside it", file, err)
	}
	return f, nil
}
