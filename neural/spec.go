package neural

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
)

// The kinds of network.
const (
	MLP  = "mlp"
	LSTM = "lstm"
	GRU  = "gru"
)

// The activations of a hidden layer of an MLP.
const (
	ReLU      = "relu"
	LeakyReLU = "leaky_relu"
	Tanh      = "tanh"
	Sigmoid   = "sigmoid"
)

// leakySlope is what a leaky ReLU does to negative numbers, as in torch.
const leakySlope = 0.01

// Bounds of a network, so that a description read from somewhere cannot ask
// for all memory before anyone looked at it.
const (
	maxWidth    = 1 << 14
	maxDepth    = 64
	maxSequence = 1 << 12
	maxParams   = 1 << 26
)

// Spec describes a network. An MLP has layers [Linear, activation, dropout] of
// the widths in Hidden and a linear output layer. An LSTM or a GRU reads
// SequenceLength rows, the row asked for and those before it; the last hidden
// state of its last layer goes through dropout and a linear output layer;
// dropout is also applied between its layers.
type Spec struct {
	Type           string  `json:"type"` // MLP, LSTM or GRU
	Inputs         int     `json:"inputs"`
	Outputs        int     `json:"outputs"`
	Hidden         []int   `json:"hidden,omitempty"`          // MLP: widths of the hidden layers
	Activation     string  `json:"activation,omitempty"`      // MLP: "" means ReLU
	Dropout        float64 `json:"dropout,omitempty"`         // chance that training drops a value
	SequenceLength int     `json:"sequence_length,omitempty"` // recurrent: rows read per decision
	HiddenSize     int     `json:"hidden_size,omitempty"`     // recurrent: width of a layer
	Layers         int     `json:"layers,omitempty"`          // recurrent: number of layers
}

// Recurrent tells whether the network reads a window of rows.
func (s Spec) Recurrent() bool { return s.Type == LSTM || s.Type == GRU }

// Window is the number of rows that one decision reads.
func (s Spec) Window() int {
	if s.Recurrent() {
		return s.SequenceLength
	}
	return 1
}

// faults are what is wrong with a description.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// when adds a fault where it is one.
func (f *faults) when(wrong bool, format string, args ...any) {
	if wrong {
		f.add(format, args...)
	}
}

// of is the error of a part that has these faults; nil where it has none.
func (f faults) of(part string) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", part, errors.Join(f...))
}

// Check says what is wrong with the description, if anything.
func (s Spec) Check() error {
	var bad faults
	within := func(name string, n, most int) {
		bad.when(n < 1 || n > most, "%s is %d; it must be from 1 to %d", name, n, most)
	}
	within("inputs", s.Inputs, maxWidth)
	within("outputs", s.Outputs, maxWidth)
	bad.when(!(s.Dropout >= 0 && s.Dropout < 1), "dropout is %g; it must be at least 0 and below 1", s.Dropout)
	switch {
	case s.Recurrent():
		within("sequence_length", s.SequenceLength, maxSequence)
		within("hidden_size", s.HiddenSize, maxWidth)
		within("layers", s.Layers, maxDepth)
		bad.when(len(s.Hidden) > 0 || s.Activation != "", "hidden and activation are of an mlp; an %s has hidden_size and layers", s.Type)
	case s.Type == MLP:
		bad.when(len(s.Hidden) > maxDepth, "there are %d hidden layers; the most are %d", len(s.Hidden), maxDepth)
		for i, h := range s.Hidden {
			within(fmt.Sprintf("hidden layer %d", i+1), h, maxWidth)
		}
		if _, ok := activations[cmp.Or(s.Activation, ReLU)]; !ok {
			bad.add("activation is %q; it must be relu, leaky_relu, tanh or sigmoid", s.Activation)
		}
		if s.SequenceLength != 0 || s.HiddenSize != 0 || s.Layers != 0 {
			bad.add("sequence_length, hidden_size and layers are of an lstm or a gru; an mlp has hidden")
		}
	default:
		bad.add("type is %q; it must be mlp, lstm or gru", s.Type)
	}
	if len(bad) == 0 {
		if n := s.params(); n > maxParams {
			bad.add("the network has %d parameters; the most are %d", n, maxParams)
		}
	}
	return bad.of("network")
}

// params counts the parameters, padding left out; in float64, which cannot overflow here.
func (s Spec) params() int64 {
	var n float64
	linear := func(in, out int) { n += float64(float64(in+1) * float64(out)) }
	in := s.Inputs
	if s.Recurrent() {
		for range s.Layers {
			linear(in, s.gates()*s.HiddenSize)
			linear(s.HiddenSize, s.gates()*s.HiddenSize)
			in = s.HiddenSize
		}
	}
	for _, h := range s.Hidden {
		linear(in, h)
		in = h
	}
	linear(in, s.Outputs)
	return int64(min(n, math.MaxInt64/2))
}

func (s Spec) gates() int { return map[string]int{LSTM: 4, GRU: 3}[s.Type] }

// String is the network's shape in one line.
func (s Spec) String() string {
	if s.Recurrent() {
		return fmt.Sprintf("%s %d-%dx%d-%d over %d rows", s.Type, s.Inputs, s.Layers, s.HiddenSize, s.Outputs, s.SequenceLength)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", s.Type, s.Inputs)
	for _, h := range s.Hidden {
		fmt.Fprintf(&b, "-%d", h)
	}
	fmt.Fprintf(&b, "-%d", s.Outputs)
	return b.String()
}
