package neural

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// TrainSpec is how a network is trained.
type TrainSpec struct {
	Loss  LossSpec
	Optim OptimSpec
	Batch int    // rows per step at most; 0 means 32
	Seed  uint64 // of dropout
}

// Trainer moves the weights of one network, step by step. The caller
// decides on epochs, batches, their order and when to stop:
//
//	for each epoch {
//		for each batch of rows { t.Step(data, batch) }
//		t.Evaluate(data, validation, nil) → t.EndEpoch(loss)
//	}
//
// All that decides about its future is in State: Restore into a new Trainer of the
// same network and settings, and the steps that follow give the same bits as if it
// had never stopped. The order of the rows, and the place in it, are the driver's.
//
// A step allocates nothing.
type Trainer struct {
	net   *Net
	loss  lossFunc
	optim OptimSpec

	pass *pass
	m, v []float32 // Adam's moments, as the slab
	rng  *num.Rand
	keys func() uint64 // of rng; nil where nothing is dropped

	step     uint64
	schedule scheduleState
	factors  adamFactors
}

// NewTrainer prepares the training of a network. It keeps the network: from now on only the trainer changes it.
func NewTrainer(n *Net, s TrainSpec) (*Trainer, error) {
	if err := s.Loss.Check(n.spec.Outputs); err != nil {
		return nil, err
	}
	if err := s.Optim.Check(); err != nil {
		return nil, err
	}
	if s.Batch == 0 {
		s.Batch = 32
	}
	if s.Batch < 1 || s.Batch > maxBatch {
		return nil, fmt.Errorf("batch is %d; it must be from 1 to %d", s.Batch, maxBatch)
	}
	t := &Trainer{
		net: n, optim: s.Optim.withDefaults(), pass: newPass(n, s.Batch, true),
		loss: newLossFunc(s.Loss, n.kernel, padTo(s.Batch, strip), n.spec.Outputs),
		m:    make([]float32, n.layout.size), v: make([]float32, n.layout.size),
		rng: num.NewRand(num.Mix(s.Seed, 't')), schedule: newScheduleState(),
	}
	if n.spec.Dropout > 0 {
		t.keys = t.rng.Uint64
	}
	return t, nil
}

const maxBatch = 1 << 16

// Net is the network in training.
func (t *Trainer) Net() *Net { return t.net }

// LearningRate is that of the steps to come in this epoch.
func (t *Trainer) LearningRate() float64 {
	return t.optim.Schedule.rate(t.optim.LearningRate, t.schedule)
}

// EndEpoch tells the schedule that an epoch has ended with this validation loss.
func (t *Trainer) EndEpoch(loss float64) { t.schedule = t.optim.Schedule.end(t.schedule, loss) }

// Score is how the network did on some rows.
type Score struct {
	Loss   float64 // mean, as LossSpec defines it
	Weight float64 // what the mean was divided by; 0 if all rows weigh nothing
	Right  int     // rows with the right class, or the right sign
	Rows   int
	Norm   float64 // length of the gradient before it was clipped; 0 from Evaluate
}

// DivergedError says that training has left the numbers: the loss or its
// gradient is not finite, or the gradient is too long to square. The weights are
// those of before the step.
type DivergedError struct {
	Step       uint64 // counts from 1
	Loss, Norm float64
	Input      string // a sentence about an input that is not finite, or ""
}

func (e *DivergedError) Error() string {
	what := e.Input
	if what == "" {
		what = "the inputs are finite, so try a lower learning rate or clip the gradient"
	}
	return fmt.Sprintf("training diverged at step %d: the loss is %g and the length of the gradient %g; %s", e.Step, e.Loss, e.Norm, what)
}

// longest is the longest gradient whose squares are finite in float32, with room for Adam's sums.
const longest = 1e18

// Step trains on one batch. It returns the score of before the weights moved. It can return a *DivergedError.
func (t *Trainer) Step(d *Dataset, rows []int32) (Score, error) {
	s, err := t.forward(d, rows)
	if err != nil {
		return Score{}, fmt.Errorf("step %d: %w", t.step+1, err)
	}
	if !isFinite(s.Loss) {
		return s, t.diverged(d, rows, s)
	}
	t.pass.backward(t.keys != nil)
	s.Norm = math.Sqrt(t.net.kernel.sumSquare(t.pass.grad))
	clip := 1.0
	if c := t.optim.Clip; c > 0 {
		clip = min(1, c/(s.Norm+1e-6))
	}
	if !(s.Norm*clip <= longest) {
		return s, t.diverged(d, rows, s)
	}
	t.step++
	t.factors = t.optim.factors(t.step, t.LearningRate(), clip)
	t.net.kernel.adam(t.net.w, t.m, t.v, t.pass.grad, &t.factors)
	return s, nil
}

func (t *Trainer) diverged(d *Dataset, rows []int32, s Score) error {
	return &DivergedError{Step: t.step + 1, Loss: s.Loss, Norm: s.Norm, Input: d.blame(rows, t.net.spec.Window())}
}

func isFinite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

// forward checks a batch, runs it through the network and leaves the gradient of
// the loss where backward begins.
func (t *Trainer) forward(d *Dataset, rows []int32) (Score, error) {
	if len(rows) == 0 || len(rows) > t.pass.room {
		return Score{}, fmt.Errorf("a batch of %d rows; this trainer was made for 1 to %d", len(rows), t.pass.room)
	}
	if err := t.check(d, rows); err != nil {
		return Score{}, err
	}
	t.pass.gather(d, rows)
	t.pass.forward(t.keys)
	a, grad := t.pass.answers(), t.pass.d[len(t.pass.d)-1]
	s := Score{Rows: len(rows)}
	for _, r := range rows {
		s.Weight += t.loss.weight(d, r)
	}
	s.Loss, s.Right = t.loss.of(d, rows, a, grad, s.Weight)
	clear(grad[len(rows)*a.stride : t.pass.rows*a.stride])
	s.Loss *= share(1, s.Weight)
	return s, nil
}

func (t *Trainer) check(d *Dataset, rows []int32) error {
	if err := d.Check(t.net.spec, t.loss.LossSpec); err != nil {
		return err
	}
	if err := d.checkRows(rows, t.net.spec.Window()); err != nil {
		return err
	}
	return d.checkLabels(rows, &t.loss, t.net.spec.Outputs)
}

// Evaluate scores rows without training on them and without dropout. If out is
// not nil it receives the outputs, row after row.
func (t *Trainer) Evaluate(d *Dataset, rows []int32, out []float32) (Score, error) {
	n := t.net.spec.Outputs
	if out != nil && len(out) != len(rows)*n {
		return Score{}, fmt.Errorf("evaluate: room for %d outputs, want %d rows of %d", len(out), len(rows), n)
	}
	if err := t.check(d, rows); err != nil {
		return Score{}, fmt.Errorf("evaluate: %w", err)
	}
	s := Score{Rows: len(rows)}
	for done := 0; done < len(rows); {
		batch := rows[done:min(done+t.pass.room, len(rows))]
		t.pass.look(d, batch)
		t.pass.forward(nil)
		a := t.pass.answers()
		loss, right := t.loss.of(d, batch, a, nil, 0)
		s.Loss += loss
		s.Right += right
		for i, r := range batch {
			s.Weight += t.loss.weight(d, r)
			if out != nil {
				copy(out[(done+i)*n:], a.row(i))
			}
		}
		done += len(batch)
	}
	s.Loss *= share(1, s.Weight)
	if !isFinite(s.Loss) {
		return s, fmt.Errorf("evaluate: %w", t.diverged(d, rows, s))
	}
	return s, nil
}
