package train

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

// MarshalBinary writes everything that the rest of the run depends on and that
// its dataset, strategy and seed do not give: weights, moments, step, random
// numbers, schedule, place in the epoch, best weights, patience, history. It may
// be called between any two batches.
func (r *Run) MarshalBinary() ([]byte, error) {
	trainer, err := r.trainer.State()
	if err != nil {
		return nil, fmt.Errorf("state of the training: %w", err)
	}
	w := newSink()
	w.bytes([]byte(versions()))
	w.bytes([]byte(r.Kernel().Class()))
	w.digest(r.strategy.Hash())
	w.digest(r.ds.Hash())
	w.word(r.seed)

	w.count(r.epoch)
	w.count(r.batch)
	w.number(r.sums.loss)
	w.number(r.sums.weight)
	w.count(r.sums.right)
	w.count(r.sums.rows)
	w.flag(r.stopped)

	w.count(r.best.epoch)
	w.number(r.best.value)
	w.number(r.best.counted)
	w.count(r.best.waited)
	w.count(len(r.best.weights))
	for _, p := range r.best.weights {
		w.singles(p.Data)
	}
	for _, column := range columns(&r.history) {
		w.numbers(*column)
	}
	w.bytes(trainer)
	return w.finish(), nil
}

// Restore resumes a run that MarshalBinary wrote, of the same dataset,
// strategy and seed; anything else is refused with the reason. A run that was
// begun with kernels of another class than k resumes with one of its own class,
// where this machine has one. It can return ErrCorrupt.
func Restore(ds *Dataset, s *strategy.Strategy, seed uint64, k neural.Kernel, b []byte) (*Run, error) {
	src := newSource(b)
	version, class := string(src.bytes()), string(src.bytes())
	hash, data, begun := src.digest(), src.digest(), src.word()
	if src.err != nil {
		return nil, src.err
	}
	if version != versions() {
		return nil,
			fmt.Errorf("the training was begun with the arithmetic %q, and this program has %q: start it again, or resume it with the program "+
				"that began it", version, versions())
	}
	if class != k.Class() {
		var err error
		if k, err = neural.KernelFor(class); err != nil {
			return nil, fmt.Errorf("the training was begun with kernels of class %s: %w", class, err)
		}
	}
	r, err := Start(ds, s, seed, k)
	if err != nil {
		return nil, err
	}
	switch {
	case hash != s.Hash():
		return nil, errors.New("the training was begun with another strategy than the one given")
	case data != ds.Hash():
		return nil, errors.New("the training was begun with other data than those given")
	case begun != r.seed:
		return nil, fmt.Errorf("the training was begun with seed %d, not %d", begun, r.seed)
	}
	if err := r.load(src); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Run) load(src *source) error {
	r.epoch, r.batch = src.count(), src.count()
	r.sums = sums{loss: src.number(), weight: src.number(), right: src.count(), rows: src.count()}
	r.stopped = src.flag()

	r.best = best{epoch: src.count(), value: src.number(), counted: src.number(), waited: src.count()}
	if n := src.count(); n > 0 {
		r.best.weights = r.trainer.Net().Params()
		if n != len(r.best.weights) {
			src.fail("its best weights are of another network")
		}
		for i := range r.best.weights {
			p := &r.best.weights[i]
			data := src.singles()
			if len(data) != len(p.Data) {
				src.fail("its best weights are of another network")
			}
			p.Data = data
		}
	}
	for _, column := range columns(&r.history) {
		*column = src.numbers()
	}
	trainer := src.bytes()
	if err := src.done(); err != nil {
		return err
	}
	if err := r.plausible(); err != nil {
		return err
	}
	if err := r.trainer.Restore(trainer); err != nil {
		return fmt.Errorf("state of the training: %w", err)
	}
	return nil
}

// plausible refuses a state that no run of this dataset and strategy can have:
// its digest is right, so it was made on purpose.
func (r *Run) plausible() error {
	validated := 0
	if len(r.ds.Validation) > 0 {
		validated = r.epoch
	}
	h := r.history
	switch {
	case r.epoch > r.strategy.Training.Epochs, r.batch > r.batches(), r.best.epoch > r.epoch,
		r.stopped && (r.epoch == 0 || !r.strategy.Training.EarlyStopping.Enabled),
		(r.best.epoch > 0) != (r.best.weights != nil), (r.best.epoch > 0) != (validated > 0),
		len(h.TrainLoss) != r.epoch, len(h.TrainAccuracy) != r.epoch, len(h.LearningRate) != r.epoch,
		len(h.ValLoss) != validated, len(h.ValAccuracy) != validated:
		return fmt.Errorf("%w: its counts do not fit each other", ErrCorrupt)
	}
	return nil
}

// columns are the history's values in the order in which they are stored.
func columns(h *metrics.History) []*[]float64 {
	return []*[]float64{&h.TrainLoss, &h.TrainAccuracy, &h.ValLoss, &h.ValAccuracy, &h.LearningRate}
}

func clone(h metrics.History) metrics.History {
	for _, column := range columns(&h) {
		*column = slices.Clone(*column)
	}
	return h
}
