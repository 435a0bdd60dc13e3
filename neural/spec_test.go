package neural

import (
	"math"
	"strings"
	"testing"
)

func TestSpecsThatMakeNoSenseAreRefused(t *testing.T) {
	lstm := Spec{Type: LSTM, Inputs: 1, Outputs: 3, SequenceLength: 2, HiddenSize: 2, Layers: 1}
	with := func(s Spec, change func(*Spec)) Spec { change(&s); return s }
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"no type":                 {Spec{Inputs: 1, Outputs: 1}, "must be mlp, lstm or gru"},
		"no inputs":               {Spec{Type: MLP, Outputs: 1}, "inputs is 0"},
		"no outputs":              {Spec{Type: MLP, Inputs: 1}, "outputs is 0"},
		"a layer without width":   {Spec{Type: MLP, Inputs: 1, Outputs: 1, Hidden: []int{4, 0}}, "hidden layer 2 is 0"},
		"a layer beyond bounds":   {Spec{Type: MLP, Inputs: 1, Outputs: 1, Hidden: []int{1 << 30}}, "hidden layer 1"},
		"too many parameters":     {Spec{Type: MLP, Inputs: 16384, Outputs: 1, Hidden: []int{16384}}, "parameters"},
		"an unknown activation":   {Spec{Type: MLP, Inputs: 1, Outputs: 1, Activation: "gelu"}, `activation is "gelu"`},
		"all is dropped":          {Spec{Type: MLP, Inputs: 1, Outputs: 1, Dropout: 1}, "dropout is 1"},
		"dropout is NaN":          {Spec{Type: MLP, Inputs: 1, Outputs: 1, Dropout: math.NaN()}, "dropout is NaN"},
		"an mlp with a window":    {Spec{Type: MLP, Inputs: 1, Outputs: 1, SequenceLength: 3}, "an mlp has hidden"},
		"an lstm without window":  {with(lstm, func(s *Spec) { s.SequenceLength = 0 }), "sequence_length is 0"},
		"an lstm with activation": {with(lstm, func(s *Spec) { s.Activation = ReLU }), "of an mlp"},
	} {
		if err := c.spec.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
		if _, err := New(c.spec, 1, Kernel{}); err == nil {
			t.Errorf("%s: a network was made", name)
		}
	}
	if err := lstm.Check(); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	n, err := New(Spec{Type: MLP, Inputs: 2, Outputs: 3}, 1, Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spec TrainSpec
		want string
	}{
		"an unknown loss":        {TrainSpec{Loss: LossSpec{Name: "hinge"}}, `name is "hinge"`},
		"a number of classes":    {TrainSpec{Loss: LossSpec{Name: MSE}}, "it must have 1"},
		"weights of two classes": {TrainSpec{Loss: LossSpec{ClassWeights: []float32{1, 2}}}, "2 class weights for 3"},
		"a negative weight":      {TrainSpec{Loss: LossSpec{ClassWeights: []float32{1, -2, 1}}}, "weight of class 1 is -2"},
		"an unknown optimiser":   {TrainSpec{Optim: OptimSpec{Name: "sgd"}}, `name is "sgd"`},
		"a negative rate":        {TrainSpec{Optim: OptimSpec{LearningRate: -1}}, "learning_rate is -1"},
		"a beta of one":          {TrainSpec{Optim: OptimSpec{Beta2: 1}}, "beta2 is 1"},
		"an unknown schedule":    {TrainSpec{Optim: OptimSpec{Schedule: ScheduleSpec{Name: "wave"}}}, `name is "wave"`},
		"a cosine without end":   {TrainSpec{Optim: OptimSpec{Schedule: ScheduleSpec{Name: ScheduleCosine}}}, "epochs is 0"},
		"a negative batch":       {TrainSpec{Batch: -1}, "batch is -1"},
	} {
		if _, err := NewTrainer(n, c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
}

func TestSchedules(t *testing.T) {
	for name, c := range map[string]struct {
		spec   ScheduleSpec
		losses []float64 // at the end of each epoch
		want   []float64 // rate of each epoch, from the first
	}{
		"none":        {ScheduleSpec{}, []float64{1, 1}, []float64{1, 1, 1}},
		"step":        {ScheduleSpec{Name: ScheduleStep, StepSize: 2, Gamma: 0.5}, []float64{1, 1, 1, 1}, []float64{1, 1, 0.5, 0.5, 0.25}},
		"exponential": {ScheduleSpec{Name: ScheduleExponential, Gamma: 0.5}, []float64{1, 1}, []float64{1, 0.5, 0.25}},
		"cosine": {
			ScheduleSpec{Name: ScheduleCosine, Epochs: 4, MinRate: 0.2},
			[]float64{1, 1, 1, 1, 1},
			[]float64{1, 0.2 + 0.4*(1+math.Sqrt2/2), 0.6, 0.2 + 0.4*(1-math.Sqrt2/2), 0.2, 0.2},
		},
		"plateau": {
			ScheduleSpec{Name: SchedulePlateau, Patience: 1, Gamma: 0.1},
			[]float64{3, 2, 2, 2, 1, 1},
			[]float64{1, 1, 1, 1, 0.1, 0.1, 0.1},
		},
		"warmup":         {ScheduleSpec{Warmup: 3}, []float64{1, 1, 1}, []float64{0.25, 0.5, 0.75, 1}},
		"warmup, step":   {ScheduleSpec{Name: ScheduleStep, StepSize: 1, Warmup: 1}, []float64{1, 1, 1}, []float64{0.5, 1, 0.1, 0.01}},
		"least of all":   {ScheduleSpec{Name: SchedulePlateau, Patience: 1, MinRate: 0.5}, []float64{1, 1, 1, 1}, []float64{1, 1, 1, 0.5, 0.5}},
		"NaN is no best": {ScheduleSpec{Name: SchedulePlateau, Patience: 1}, []float64{math.NaN(), 2, 1}, []float64{1, 1, 1, 1}},
	} {
		spec, st := c.spec.withDefaults(), newScheduleState()
		for i, want := range c.want {
			if got := spec.rate(1, st); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: rate of epoch %d is %g, want %g", name, i, got, want)
			}
			if i < len(c.losses) {
				st = spec.end(st, c.losses[i])
			}
		}
	}
}

func TestInitialWeightsAreWithinTorchsBounds(t *testing.T) {
	s := Spec{Type: LSTM, Inputs: 100, Outputs: 3, SequenceLength: 2, HiddenSize: 25, Layers: 2}
	n, err := New(s, 1, Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range n.Params() {
		least, most := float32(0), float32(0)
		for _, x := range p.Data {
			least, most = min(least, x), max(most, x)
		}
		if bound := float32(0.2); most > bound || least < -bound || len(p.Data) > 1000 && (most < 0.19 || least > -0.19) {
			t.Errorf("%s lies in [%g, %g], want uniform in [-0.2, 0.2]", p.Name, least, most)
		}
	}
	if again, err := New(s, 1, Kernel{reference}); err != nil || notEqual(n.w, again.w) {
		t.Error("the same seed gives other weights")
	}
	if other, err := New(s, 2, Kernel{}); err != nil || !notEqual(n.w, other.w) {
		t.Error("another seed gives the same weights")
	}
}

func notEqual(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return true
		}
	}
	return false
}

func TestStatesOfAnotherRunAreRefused(t *testing.T) {
	spec := Spec{Type: MLP, Inputs: 3, Outputs: 2, Hidden: []int{4}}
	good := state(t, newTrainer(t, spec, TrainSpec{}, Kernel{reference}))
	wider := spec
	wider.Hidden = []int{5}
	for name, c := range map[string]struct {
		into  *Trainer
		state []byte
		want  string
	}{
		"nothing":          {newTrainer(t, spec, TrainSpec{}, Kernel{reference}), nil, "does not begin"},
		"cut":              {newTrainer(t, spec, TrainSpec{}, Kernel{reference}), good[:len(good)-1], "bytes behind the identity"},
		"another network":  {newTrainer(t, wider, TrainSpec{}, Kernel{reference}), good, "its network is mlp 3-4-2 and this run's is mlp 3-5-2"},
		"another class":    {newTrainer(t, spec, TrainSpec{}, Kernel{portable}), good, "its kernel class is fma/1 and this run's is portable/1"},
		"another loss":     {newTrainer(t, spec, TrainSpec{Loss: LossSpec{Name: Focal}}, Kernel{reference}), good, "its loss is"},
		"another optim":    {newTrainer(t, spec, TrainSpec{Optim: OptimSpec{Clip: 1}}, Kernel{reference}), good, "its optimizer is"},
		"a long identity":  {newTrainer(t, spec, TrainSpec{}, Kernel{reference}), append([]byte(stateMagic), 255, 255, 255, 127), "too long"},
		"an identity of x": {newTrainer(t, spec, TrainSpec{}, Kernel{reference}), append([]byte(stateMagic), 1, 0, 0, 0, 'x'), "its identity"},
	} {
		if err := c.into.Restore(c.state); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
}
