package train_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// kinds are runs that carry every kind of state: dropout, a schedule that
// watches, early stopping that may fire, sample weights, best weights.
var kinds = map[string]lab{
	"an mlp with plateau and early stopping": {
		epochs: 5,
		training: "  lr_scheduler: {type: plateau, patience: 1, factor: 0.5}\n" +
			"  early_stopping: {patience: 2, min_delta: 0.0, monitor: val_accuracy}",
	},
	"an mlp with adamw, focal loss and warm-up": {
		epochs: 4, labels: "{source: zigzag, zigzag_threshold: 0.005}",
		training: "  loss: focal\n  optimizer: adamw\n  lr_scheduler: {type: cosine, warmup_epochs: 1}",
	},
	"an lstm": {
		epochs: 2, batch: 64, model: "{type: lstm, architecture: {sequence_length: 3, hidden_size: 4, num_layers: 2, dropout: 0.3}}",
		training: "  early_stopping: {patience: 1}",
	},
	"a gru regression": {
		epochs: 2, batch: 64, model: "{type: gru, architecture: {sequence_length: 3, hidden_size: 4, num_layers: 2, dropout: 0.1}}",
		labels:    "{source: forward_return, horizon: 5}",
		decisions: "{output_format: regression, cost_model: {round_trip_cost: 0.001, min_edge_multiplier: 1}}",
		training:  "  loss: huber\n  lr_scheduler: {type: plateau, patience: 1}",
	},
}

// uninterrupted is a run without a stop: resumed runs must equal it.
type uninterrupted struct {
	s            *strategy.Strategy
	ds           *train.Dataset
	state, model []byte
	kernels      []neural.Kernel // of its class
}

func runUninterrupted(t *testing.T, l lab) uninterrupted {
	t.Helper()
	s := l.parse(t)
	w := uninterrupted{s: s, ds: prepare(t, s, synth(t, "AAA", 500, 3, 0.2))}
	r := start(t, w.ds, s, 11)
	carry(t, r, -1)
	m, _ := finish(t, r)
	w.state, w.model = store(t, r), encode(t, m)
	class := r.Kernel().Class()
	w.kernels = slices.DeleteFunc(neural.Kernels(), func(k neural.Kernel) bool { return k.Class() != class })
	return w
}

// begin starts the run again, and resume continues it from its stored form.
func (w uninterrupted) begin(t *testing.T, k neural.Kernel) *train.Run {
	t.Helper()
	r, err := train.Start(w.ds, w.s, 11, k)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w uninterrupted) resume(t *testing.T, r *train.Run, k neural.Kernel) *train.Run {
	t.Helper()
	r, err := train.Restore(w.ds, w.s, 11, k, store(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if r.Kernel().Name() != k.Name() {
		t.Fatalf("the run resumes with %s, want %s", r.Kernel().Name(), k.Name())
	}
	return r
}

// differs says what is not as in the uninterrupted run, or "".
func (w uninterrupted) differs(t *testing.T, r *train.Run) string {
	t.Helper()
	if !bytes.Equal(store(t, r), w.state) {
		return "the state at the end differs from that of the uninterrupted run"
	}
	if m, _ := finish(t, r); !bytes.Equal(encode(t, m), w.model) {
		return "the model differs from that of the uninterrupted run"
	}
	return ""
}

// TestRun_ResumedEqualsUninterrupted stops runs between any two batches,
// several times, stores them, resumes with any fast kernel of the class, and
// demands the same bits: of the stored state, of the metrics and of the model.
func TestRun_ResumedEqualsUninterrupted(t *testing.T) {
	for name, l := range kinds {
		t.Run(name, func(t *testing.T) {
			w := runUninterrupted(t, l)
			fast := slices.DeleteFunc(slices.Clone(w.kernels), func(k neural.Kernel) bool { return len(w.kernels) > 1 && k.Name() == "reference" })
			rapid.Check(t, func(rt *rapid.T) {
				r := w.begin(t, fast[0])
				for !carry(t, r, rapid.IntRange(0, 15).Draw(rt, "batches")) {
					r = w.resume(t, r, fast[rapid.IntRange(0, len(fast)-1).Draw(rt, "kernel")])
				}
				if what := w.differs(t, r); what != "" {
					rt.Fatal(what)
				}
			})
		})
	}
}

// TestRun_GoesFromKernelToKernel hands a run on from one kernel of its class to
// the next, every two batches, the slow reference included.
func TestRun_GoesFromKernelToKernel(t *testing.T) {
	for name, l := range kinds {
		t.Run(name, func(t *testing.T) {
			w := runUninterrupted(t, l)
			last := len(w.kernels) - 1
			r := w.begin(t, w.kernels[last])
			for i := last; !carry(t, r, 2); i++ {
				r = w.resume(t, r, w.kernels[i%len(w.kernels)])
			}
			if what := w.differs(t, r); what != "" {
				t.Error(what)
			}
		})
	}
}

func TestRestore_ResumesInTheClassOfTheRun(t *testing.T) {
	s := lab{epochs: 3}.parse(t)
	ds := prepare(t, s, synth(t, "AAA", 700, 3, 0))
	portable, err := neural.KernelByName("portable")
	if err != nil {
		t.Fatal(err)
	}
	r, err := train.Start(ds, s, 1, portable)
	if err != nil {
		t.Fatal(err)
	}
	carry(t, r, 7)
	resumed, err := train.Restore(ds, s, 1, neural.Best(), store(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := resumed.Kernel().Class(), portable.Class(); got != want {
		t.Errorf("a run of class %s resumes in class %s", want, got)
	}
	carry(t, r, -1)
	carry(t, resumed, -1)
	if !bytes.Equal(store(t, r), store(t, resumed)) {
		t.Error("the resumed run ends with other bits")
	}
}

func TestRestore_RefusesWhatIsNotItsOwn(t *testing.T) {
	l := lab{epochs: 3}
	s := l.parse(t)
	data := synth(t, "AAA", 700, 3, 0)
	ds := prepare(t, s, data)
	r := start(t, ds, s, 1)
	carry(t, r, 20)
	state := store(t, r)

	longer := l
	longer.epochs = 4
	other := longer.parse(t)
	otherData := prepare(t, s, synth(t, "AAA", 700, 4, 0))
	earlier := slices.Concat(state[:20], []byte{'0'}, state[21:])

	for name, c := range map[string]struct {
		try  func() (*train.Run, error)
		want string
	}{
		"another strategy": {func() (*train.Run, error) {
			return train.Restore(prepare(t, other, data), other, 1, neural.Best(), state)
		}, "another strategy"},
		"other data": {func() (*train.Run, error) {
			return train.Restore(otherData, s, 1, neural.Best(), state)
		}, "other data"},
		"another seed": {func() (*train.Run, error) {
			return train.Restore(ds, s, 2, neural.Best(), state)
		}, "begun with seed 1, not 2"},
		"a flipped byte": {func() (*train.Run, error) {
			return train.Restore(ds, s, 1, neural.Best(), earlier)
		}, "digest"},
		"half of it": {func() (*train.Run, error) {
			return train.Restore(ds, s, 1, neural.Best(), state[:len(state)/2])
		}, "digest"},
		"nothing": {func() (*train.Run, error) {
			return train.Restore(ds, s, 1, neural.Best(), nil)
		}, "does not begin as one"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.try()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want one that says %q", err, c.want)
			}
		})
	}
	if _, err := train.Restore(ds, s, 1, neural.Best(), nil); !errors.Is(err, train.ErrCorrupt) {
		t.Errorf("err = %v, want ErrCorrupt", err)
	}
}
