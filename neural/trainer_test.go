package neural

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/num"
)

// drawSpec draws a small network of any kind.
func drawSpec(rt *rapid.T, widest int) Spec {
	width := rapid.IntRange(1, widest)
	s := Spec{
		Type:    rapid.SampledFrom([]string{MLP, LSTM, GRU}).Draw(rt, "type"),
		Inputs:  width.Draw(rt, "inputs"),
		Outputs: rapid.IntRange(2, 5).Draw(rt, "outputs"),
		Dropout: rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(rt, "dropout"),
	}
	if s.Recurrent() {
		s.SequenceLength = rapid.IntRange(1, 5).Draw(rt, "sequence")
		s.HiddenSize = width.Draw(rt, "hidden size")
		s.Layers = rapid.IntRange(1, 2).Draw(rt, "layers")
		return s
	}
	s.Activation = rapid.SampledFrom([]string{"", ReLU, LeakyReLU, Tanh, Sigmoid}).Draw(rt, "activation")
	s.Hidden = rapid.SliceOfN(width, 0, 3).Draw(rt, "hidden")
	return s
}

func drawTraining(rt *rapid.T, outputs int) TrainSpec {
	t := TrainSpec{
		Batch: rapid.IntRange(1, 37).Draw(rt, "batch"), Seed: rapid.Uint64().Draw(rt, "seed"),
		Loss: LossSpec{Name: rapid.SampledFrom([]string{CrossEntropy, Focal}).Draw(rt, "loss"), Gamma: 2},
		Optim: OptimSpec{
			Name:        rapid.SampledFrom([]string{Adam, AdamW}).Draw(rt, "optimizer"),
			WeightDecay: rapid.SampledFrom([]float64{0, 1e-4}).Draw(rt, "decay"),
			Clip:        rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(rt, "clip"),
			Schedule: ScheduleSpec{
				Name: rapid.SampledFrom([]string{ScheduleNone, ScheduleStep, ScheduleExponential, ScheduleCosine, SchedulePlateau}).Draw(rt,
					"schedule"),
				StepSize: 2, Epochs: 5, Patience: 1, Warmup: rapid.IntRange(0, 2).Draw(rt, "warmup"),
			},
		},
	}
	for i := range outputs {
		t.Loss.ClassWeights = append(t.Loss.ClassWeights, 0.5+float32(i))
	}
	return t
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func newTrainer(t fataler, s Spec, ts TrainSpec, k Kernel) *Trainer {
	t.Helper()
	n, err := New(s, 7, k)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTrainer(n, ts)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func state(t fataler, tr *Trainer) []byte {
	t.Helper()
	b, err := tr.State()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// weights are a copy of the weights as they are stored.
func weights(tr *Trainer) []byte { return tr.net.layout.appendBytes(nil, tr.net.w) }

// shuffle puts the rows into an order drawn from the trainer's own stream.
func shuffle(tr *Trainer, order, rows []int32) {
	tr.rng.Perm(order)
	for i, at := range order {
		order[i] = rows[at]
	}
}

// gradients are those of the last step, named as Params.
func gradients(tr *Trainer) []Param { return tr.net.params(tr.pass.grad) }

// epoch trains on every row once and ends the epoch.
func epoch(t fataler, tr *Trainer, d *Dataset, batch int) {
	t.Helper()
	rows := all(d.Rows)[tr.net.spec.Window()-1:]
	order := make([]int32, len(rows))
	shuffle(tr, order, rows)
	for ; len(order) > 0; order = order[min(batch, len(order)):] {
		if _, err := tr.Step(d, order[:min(batch, len(order))]); err != nil {
			t.Fatal(err)
		}
	}
	s, err := tr.Evaluate(d, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	tr.EndEpoch(s.Loss)
}

func TestEveryKernelOfAClassTrainsToTheSameBits(t *testing.T) {
	if len(exactKernels()) == 0 {
		t.Skip("this CPU runs only the plain kernels")
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt, 70)
		ts := drawTraining(rt, s.Outputs)
		d := randomData(s.Window()+rapid.IntRange(1, 60).Draw(rt, "rows"), s.Inputs, s.Outputs, 5)
		want := newTrainer(rt, s, ts, Kernel{reference})
		epoch(rt, want, d, want.pass.room)
		for _, k := range exactKernels() {
			got := newTrainer(rt, s, ts, Kernel{k})
			epoch(rt, got, d, got.pass.room)
			if !bytes.Equal(state(rt, got), state(rt, want)) {
				rt.Fatalf("%s and the reference kernel end in different states", k.name)
			}
		}
	})
}

func TestResumedEqualsUninterrupted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt, 20)
		ts := drawTraining(rt, s.Outputs)
		d := randomData(s.Window()+rapid.IntRange(1, 80).Draw(rt, "rows"), s.Inputs, s.Outputs, 6)
		epochs := rapid.IntRange(1, 6).Draw(rt, "epochs")
		crash := rapid.IntRange(0, epochs).Draw(rt, "crash after epoch")
		straight, first := newTrainer(rt, s, ts, Kernel{}), newTrainer(rt, s, ts, Kernel{})
		for range epochs {
			epoch(rt, straight, d, straight.pass.room)
		}
		for range crash {
			epoch(rt, first, d, first.pass.room)
		}
		ts.Seed++ // what the new trainer was made with must not matter
		second := newTrainer(rt, s, ts, Kernel{})
		if err := second.Restore(state(rt, first)); err != nil {
			rt.Fatal(err)
		}
		for range epochs - crash {
			epoch(rt, second, d, second.pass.room)
		}
		if !bytes.Equal(state(rt, second), state(rt, straight)) {
			rt.Fatal("the resumed run ended in another state than the whole one")
		}
	})
}

func TestResumeAtAnyStepEqualsUninterrupted(t *testing.T) {
	s := Spec{Type: MLP, Inputs: 7, Outputs: 3, Hidden: []int{20, 10}, Dropout: 0.2}
	ts := TrainSpec{Batch: 16, Optim: OptimSpec{Clip: 1, WeightDecay: 1e-4}}
	d := randomData(64, 7, 3, 1)
	// Batches of several sizes: what a larger one left behind must not matter.
	batch := func(i int) []int32 { return all(64)[i%4*16:][:[]int{16, 5, 9}[i%3]] }
	straight := newTrainer(t, s, ts, Kernel{})
	var states [][]byte
	for i := range 20 {
		states = append(states, state(t, straight))
		if _, err := straight.Step(d, batch(i)); err != nil {
			t.Fatal(err)
		}
	}
	for from, st := range states {
		tr := newTrainer(t, s, ts, Kernel{})
		if err := tr.Restore(st); err != nil {
			t.Fatal(err)
		}
		for i := from; i < 20; i++ {
			if _, err := tr.Step(d, batch(i)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(state(t, tr), state(t, straight)) {
			t.Fatalf("resumed at step %d: another state than without", from)
		}
	}
}

// The bits themselves: if one of them changes, by a compiler or a platform
// included, changes results that were stored, and Numerics must become another.
func TestTrainedBitsAreTheSameOnEveryMachine(t *testing.T) {
	want := map[string]string{
		"mlp fma/1": "72d088cbac8dd662", "mlp portable/1": "db814ceca21195f1",
		"lstm fma/1": "d086e1ec7044713f", "lstm portable/1": "a8d26d2cd21bbeb3",
		"gru fma/1": "ad49196c0b336dd7", "gru portable/1": "00150d3c603c8b49",
	}
	for name, s := range map[string]Spec{
		MLP:  {Type: MLP, Inputs: 9, Outputs: 3, Hidden: []int{20, 10}, Dropout: 0.2},
		LSTM: {Type: LSTM, Inputs: 9, Outputs: 3, HiddenSize: 10, Layers: 2, SequenceLength: 5, Dropout: 0.2},
		GRU:  {Type: GRU, Inputs: 9, Outputs: 3, HiddenSize: 10, Layers: 2, SequenceLength: 5, Dropout: 0.2},
	} {
		for _, k := range Kernels() {
			tr := newTrainer(t, s, TrainSpec{Optim: OptimSpec{Clip: 0.5, WeightDecay: 1e-4}, Seed: 3}, k)
			for range 2 {
				epoch(t, tr, randomData(150, 9, 3, 4), 32)
			}
			sum := sha256.Sum256(weights(tr))
			key := name + " " + k.Class()
			if got := hex.EncodeToString(sum[:8]); got != want[key] {
				t.Errorf("%s by %s: weights hash to %s, want %s", key, k.Name(), got, want[key])
			}
		}
	}
}

func TestTrainingLearns(t *testing.T) {
	d := randomData(2000, 8, 3, 1)
	for i := range d.Rows {
		d.Class[i] = 1
		if x := d.Row(i); x[0] > 0.5 {
			d.Class[i] = 0
		} else if x[1] > 0.5 {
			d.Class[i] = 2
		}
		d.Target[i] = 0.01 * d.Row(i)[0]
	}
	for name, s := range map[string]Spec{
		"mlp":        {Type: MLP, Hidden: []int{32, 16}, Outputs: 3, Dropout: 0.1},
		"lstm":       {Type: LSTM, HiddenSize: 16, Layers: 1, SequenceLength: 3, Outputs: 3},
		"gru":        {Type: GRU, HiddenSize: 16, Layers: 1, SequenceLength: 3, Outputs: 3},
		"regression": {Type: MLP, Hidden: []int{16}, Outputs: 1, Activation: Tanh},
	} {
		s.Inputs = 8
		ts := TrainSpec{Optim: OptimSpec{LearningRate: 0.01, Clip: 1}}
		if s.Outputs == 1 {
			ts.Loss.Name = Huber
		}
		tr := newTrainer(t, s, ts, Kernel{})
		rows := all(d.Rows)[s.Window()-1:]
		before, err := tr.Evaluate(d, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			epoch(t, tr, d, 32)
		}
		after, err := tr.Evaluate(d, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !(after.Loss < before.Loss/2) || after.Right < len(rows)*9/10 {
			t.Errorf("%s: loss %g and %d of %d right, from %g", name, after.Loss, after.Right, len(rows), before.Loss)
		}
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	d := randomData(200, 10, 3, 1)
	for _, s := range []Spec{
		{Type: MLP, Inputs: 10, Outputs: 3, Hidden: []int{20}, Dropout: 0.2},
		{Type: LSTM, Inputs: 10, Outputs: 3, HiddenSize: 8, Layers: 2, SequenceLength: 4, Dropout: 0.2},
		{Type: GRU, Inputs: 10, Outputs: 3, HiddenSize: 8, Layers: 2, SequenceLength: 4},
	} {
		tr := newTrainer(t, s, TrainSpec{Optim: OptimSpec{Clip: 1}}, Kernel{})
		rows, out := all(200)[10:42], make([]float32, 32*3)
		if n := testing.AllocsPerRun(10, func() {
			if _, err := tr.Step(d, rows); err != nil {
				t.Fatal(err)
			}
			if _, err := tr.Evaluate(d, rows, out); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %g allocations per step", s.Type, n)
		}
	}
}

func TestDivergenceIsReportedWithItsStep(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, c := range map[string]struct {
		spoil func(d *Dataset, tr *Trainer)
		want  string
	}{
		"an input is NaN":   {func(d *Dataset, _ *Trainer) { d.Row(3)[2] = float32(math.NaN()) }, "input 2 of row 3 is NaN"},
		"an input is +Inf":  {func(d *Dataset, _ *Trainer) { d.Row(4)[0] = inf }, "input 0 of row 4 is +Inf"},
		"the loss explodes": {func(_ *Dataset, tr *Trainer) { huge(tr) }, "try a lower learning rate"},
	} {
		d := randomData(16, 5, 3, 1)
		tr := newTrainer(t, Spec{Type: MLP, Inputs: 5, Outputs: 3, Hidden: []int{8}}, TrainSpec{}, Kernel{})
		for range 2 {
			if _, err := tr.Step(d, all(16)); err != nil {
				t.Fatal(err)
			}
		}
		c.spoil(d, tr)
		before := weights(tr)
		_, err := tr.Step(d, all(16))
		if de, ok := errors.AsType[*DivergedError](err); !ok || de.Step != 3 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one of step 3 that says %q", name, err, c.want)
		}
		if !bytes.Equal(before, weights(tr)) {
			t.Errorf("%s: the weights moved", name)
		}
		if _, err := tr.Step(d, []int32{0}); name != "the loss explodes" && err != nil {
			t.Errorf("%s: a batch without it: %v", name, err)
		}
	}
}

// huge makes the weights so large that the outputs overflow.
func huge(tr *Trainer) {
	for i, w := range tr.net.w {
		tr.net.w[i] = w * 1e30
	}
}

func TestWhatASetIsMadeOfIsChecked(t *testing.T) {
	spec := Spec{Type: LSTM, Inputs: 5, Outputs: 3, HiddenSize: 4, Layers: 1, SequenceLength: 4}
	for name, c := range map[string]struct {
		spoil func(d *Dataset)
		rows  []int32
		want  string
	}{
		"a row past the end":        {nil, []int32{50}, "row 50 is not in the dataset"},
		"a window before the start": {nil, []int32{2}, "begin with row 3"},
		"an unknown class":          {func(d *Dataset) { d.Class[9] = 3 }, []int32{9}, "row 9 has class 3"},
		"a negative weight":         {func(d *Dataset) { d.Weight[9] = -1 }, []int32{9}, "row 9 has the weight -1"},
		"too few labels":            {func(d *Dataset) { d.Class = d.Class[:7] }, []int32{9}, "7 labels"},
		"another width":             {func(d *Dataset) { d.Inputs = 4 }, []int32{9}, "4 columns"},
		"no rows":                   {nil, nil, "a batch of 0 rows"},
	} {
		d := randomData(50, 5, 3, 1)
		if c.spoil != nil {
			c.spoil(d)
		}
		tr := newTrainer(t, spec, TrainSpec{}, Kernel{})
		if _, err := tr.Step(d, c.rows); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
}

func TestABatchWithoutWeightMovesNothingByItself(t *testing.T) {
	d := randomData(8, 5, 3, 1)
	clear(d.Weight)
	tr := newTrainer(t, Spec{Type: MLP, Inputs: 5, Outputs: 3}, TrainSpec{}, Kernel{})
	before := weights(tr)
	s, err := tr.Step(d, all(8))
	if err != nil || s.Loss != 0 || s.Norm != 0 || !bytes.Equal(before, weights(tr)) {
		t.Errorf("score %+v, error %v, want no loss and no gradient", s, err)
	}
}

func TestDropoutKeepsTheMean(t *testing.T) {
	below, scale := dropBound(0.2)
	mask := make([]float32, 1<<20)
	dropGo(make([]float32, len(mask)), make([]float32, len(mask)), mask, num.Mix(1), below, scale)
	zeros, sum := 0, 0.0
	for _, m := range mask {
		sum += float64(m)
		if m == 0 {
			zeros++
		}
	}
	if p := float64(zeros) / (1 << 20); math.Abs(p-0.2) > 0.002 {
		t.Errorf("%g of the mask is 0, want 0.2", p)
	}
	if mean := sum / (1 << 20); math.Abs(mean-1) > 0.003 {
		t.Errorf("the mask's mean is %g, want 1", mean)
	}
	for _, apart := range []int{1, lanes / 2, lanes, 64} { // elements that share a hash among them
		both := 0
		for i := range len(mask) - apart {
			if mask[i] == 0 && mask[i+apart] == 0 {
				both++
			}
		}
		if p := float64(both) / (1 << 20); math.Abs(p-0.04) > 0.001 {
			t.Errorf("%g of the pairs %d apart are both 0, want 0.04 as for independent ones", p, apart)
		}
	}
}
