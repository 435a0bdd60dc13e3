package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// Run is a training in progress.
//
//	Start ──▶ Epoch ──▶ Epoch ──▶ … ──▶ Done ──▶ Finish
//	            │ ▲
//	            │ └─ Restore ◀── MarshalBinary, between any two batches
//	            └─ stopped by its context, between two batches
//
// Its whole future is in its dataset, its strategy, its seed and what
// MarshalBinary writes. The order of an epoch's samples depends on the seed and
// the epoch alone, so that a place in it is two numbers.
//
// A Run is used by one goroutine at a time.
type Run struct {
	ds       *Dataset
	strategy *strategy.Strategy
	seed     uint64
	trainer  *neural.Trainer

	order   []int32 // the training rows as this epoch takes them
	ordered int     // the epoch that order is of, from 1; 0 for none

	epoch   int // epochs ended
	batch   int // batches done of the next
	sums    sums
	best    best
	stopped bool // by early stopping
	history metrics.History
}

// sums are of the batches done in the epoch that is under way.
type sums struct {
	loss, weight float64
	right, rows  int
}

func (s *sums) add(x neural.Score) {
	s.loss += float64(x.Loss * x.Weight)
	s.weight += x.Weight
	s.right += x.Right
	s.rows += x.Rows
}

func (s sums) mean() float64 {
	if s.weight == 0 {
		return 0
	}
	return s.loss / s.weight
}

// Start begins a training. The same dataset, strategy, seed and kernel class
// give the same bits. A seed in the strategy wins over the one given.
func Start(ds *Dataset, s *strategy.Strategy, seed uint64, k neural.Kernel) (*Run, error) {
	if s.Training.Seed != 0 {
		seed = uint64(s.Training.Seed)
	}
	if s.Training.EarlyStopping.Enabled && len(ds.Validation) == 0 {
		return nil,
			fmt.Errorf("early stopping watches %s, and the split leaves no validation samples: give training.data_split.validation a share, or "+
				"switch early stopping off", monitor(s.Training))
	}
	if ds.strategy != s.Hash() {
		return nil, errors.New("the dataset was prepared for another strategy")
	}
	net, err := neural.New(network(s, ds.Table.Inputs), num.Mix(seed, 'n'), k)
	if err != nil {
		return nil, fmt.Errorf("network of strategy %s: %w", s.Name, err)
	}
	trainer, err := neural.NewTrainer(net, training(s, ds, num.Mix(seed, 't')))
	if err != nil {
		return nil, fmt.Errorf("training of strategy %s: %w", s.Name, err)
	}
	return &Run{ds: ds, strategy: s, seed: seed, trainer: trainer, order: make([]int32, len(ds.Train))}, nil
}

// Progress is where a run stands.
type Progress struct {
	Epoch   int `json:"epoch"` // the one under way, from 1; the last one when all are done
	Epochs  int `json:"epochs"`
	Batch   int `json:"batch"` // done in this epoch
	Batches int `json:"batches"`

	// Of this epoch so far, with dropout and while the weights move.
	Loss         float64 `json:"loss"`
	Accuracy     float64 `json:"accuracy"`
	LearningRate float64 `json:"learning_rate"`
}

// Progress is where the run stands.
func (r *Run) Progress() Progress {
	p := Progress{
		Epoch: min(r.epoch+1, r.strategy.Training.Epochs), Epochs: r.strategy.Training.Epochs,
		Batch: r.batch, Batches: r.batches(),
		Loss: r.sums.mean(), Accuracy: accuracy(r.sums.right, r.sums.rows),
		LearningRate: r.trainer.LearningRate(),
	}
	if r.Done() {
		p.Epoch, p.Batch = r.epoch, p.Batches
		p.Loss, p.Accuracy = *lastOf(r.history.TrainLoss), *lastOf(r.history.TrainAccuracy)
	}
	return p
}

// Epochs is the number of epochs ended.
func (r *Run) Epochs() int { return r.epoch }

// History is what the epochs that ended have shown.
func (r *Run) History() metrics.History { return clone(r.history) }

// Done says that no epoch is left, or that early stopping has ended the run.
func (r *Run) Done() bool { return r.stopped || r.epoch >= r.strategy.Training.Epochs }

// Kernel is what the run computes with.
func (r *Run) Kernel() neural.Kernel { return r.trainer.Net().Kernel() }

func (r *Run) batches() int {
	size := r.strategy.Training.BatchSize
	return (len(r.order) + size - 1) / size
}

// Epoch carries the run to the end of its next epoch, or of the one in which it was
// stopped. tick, if not nil, is called after every batch and should be quick. When ctx
// ends, Epoch returns its cause between two batches: the run may be stored there, and
// resumed with another call. Any other error names epoch and batch, and ends the run.
func (r *Run) Epoch(ctx context.Context, tick func(Progress)) error {
	if r.Done() {
		return errors.New("the training is done: no epoch is left")
	}
	r.arrange()
	size, batches := r.strategy.Training.BatchSize, r.batches()
	for r.batch < batches {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rows := r.order[r.batch*size : min((r.batch+1)*size, len(r.order))]
		score, err := r.trainer.Step(&r.ds.Table, rows)
		if err != nil {
			return fmt.Errorf("epoch %d, batch %d of %d: %w", r.epoch+1, r.batch+1, batches, err)
		}
		r.sums.add(score)
		r.batch++
		if tick != nil {
			tick(r.Progress())
		}
	}
	validation, err := r.validate(ctx)
	if err != nil {
		return err
	}
	r.close(validation)
	return nil
}

// arrange puts the training rows into the order of the epoch that is next.
func (r *Run) arrange() {
	if r.ordered == r.epoch+1 {
		return
	}
	num.NewRand(num.Mix(r.seed, 'o', uint64(r.epoch))).Perm(r.order)
	for i, at := range r.order {
		r.order[i] = r.ds.Train[at]
	}
	r.ordered = r.epoch + 1
}

// evaluated is how many rows are judged before the context is asked again. The
// sums are made piece by piece, so it is part of the numerics.
const evaluated = 8192

func (r *Run) validate(ctx context.Context) (neural.Score, error) {
	var total sums
	for rows := r.ds.Validation; len(rows) > 0; {
		if ctx.Err() != nil {
			return neural.Score{}, context.Cause(ctx)
		}
		piece := rows[:min(evaluated, len(rows))]
		score, err := r.trainer.Evaluate(&r.ds.Table, piece, nil)
		if err != nil {
			return neural.Score{}, fmt.Errorf("validation after epoch %d: %w", r.epoch+1, err)
		}
		total.add(score)
		rows = rows[len(piece):]
	}
	return neural.Score{Loss: total.mean(), Weight: total.weight, Right: total.right, Rows: total.rows}, nil
}

// close ends the epoch whose batches are done.
func (r *Run) close(validation neural.Score) {
	t := r.strategy.Training
	h := &r.history
	h.TrainLoss = append(h.TrainLoss, r.sums.mean())
	h.TrainAccuracy = append(h.TrainAccuracy, accuracy(r.sums.right, r.sums.rows))
	h.LearningRate = append(h.LearningRate, r.trainer.LearningRate())
	watch := r.sums.mean() // what a plateau schedule goes by when there is no validation
	r.epoch++
	r.batch, r.sums = 0, sums{}
	if len(r.ds.Validation) > 0 {
		watch = validation.Loss
		h.ValLoss = append(h.ValLoss, validation.Loss)
		h.ValAccuracy = append(h.ValAccuracy, accuracy(validation.Right, validation.Rows))
		r.best.see(r.epoch, watched(monitor(t), validation), t.EarlyStopping.MinDelta, r.trainer.Net())
		r.stopped = t.EarlyStopping.Enabled && r.best.waited >= t.EarlyStopping.Patience
	}
	r.trainer.EndEpoch(watch)
}

// best is the epoch that did best on the validation part, and a copy of its
// weights. Patience is counted beside it: an improvement too small to count for
// early stopping is still an improvement of the weights.
type best struct {
	epoch   int     // from 1; 0 before the first
	value   float64 // of what is watched; smaller is better
	weights []neural.Param

	counted float64 // value of the last improvement that counted
	waited  int     // epochs since
}

// watched is the value of what the strategy watches, turned so that smaller is better.
func watched(m strategy.Monitor, v neural.Score) float64 {
	if m == strategy.ValidationAccuracy {
		return -accuracy(v.Right, v.Rows)
	}
	return v.Loss
}

// see takes note of an epoch. It copies the weights of net if they are the best so far.
func (b *best) see(epoch int, value float64, minDelta float64, net *neural.Net) {
	if b.epoch == 0 || value < b.counted-minDelta {
		b.counted, b.waited = value, 0
	} else {
		b.waited++
	}
	if b.epoch == 0 || value < b.value {
		b.epoch, b.value, b.weights = epoch, value, net.Params()
	}
}

func monitor(t strategy.Training) strategy.Monitor {
	return cmp.Or(t.EarlyStopping.Monitor, strategy.ValidationLoss)
}

func accuracy(right, rows int) float64 {
	if rows == 0 {
		return 0
	}
	return float64(right) / float64(rows)
}

func bestOf(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	return new(slices.Max(x))
}

func lastOf(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	return new(x[len(x)-1])
}
