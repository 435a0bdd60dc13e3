package strategy

import "time"

// ModelType is the kind of network.
type ModelType string

// The kinds.
const (
	MLP  ModelType = "mlp"
	LSTM ModelType = "lstm"
	GRU  ModelType = "gru"
)

// Activation is what follows a hidden layer of an MLP.
type Activation string

// The activations.
const (
	ReLU      Activation = "relu"
	Tanh      Activation = "tanh"
	Sigmoid   Activation = "sigmoid"
	LeakyReLU Activation = "leaky_relu"
)

// Model is the network. Fields of the other kind are zero.
type Model struct {
	Type       ModelType
	Hidden     []int      // mlp: widths of the hidden layers
	Activation Activation // mlp
	Dropout    float64

	SequenceLength int // recurrent: bars read for one decision
	HiddenSize     int
	Layers         int
}

// Recurrent says whether the network reads a sequence of bars.
func (m Model) Recurrent() bool { return m.Type != MLP }

// Window is the number of bars read for one decision.
func (m Model) Window() int {
	if m.Recurrent() {
		return m.SequenceLength
	}
	return 1
}

// Weights counts the parameters of the network with a number of inputs and outputs.
func (m Model) Weights(inputs, outputs int) int {
	n, in := 0, inputs
	gates := map[ModelType]int{LSTM: 4, GRU: 3}[m.Type]
	for range m.Layers {
		n += gates * m.HiddenSize * (in + m.HiddenSize + 2)
		in = m.HiddenSize
	}
	for _, h := range m.Hidden {
		n += (in + 1) * h
		in = h
	}
	return n + (in+1)*outputs
}

// OutputFormat is what a network answers with.
type OutputFormat string

// The formats.
const (
	Classification OutputFormat = "classification" // a class
	Regression     OutputFormat = "regression"     // an expected return
)

// Decisions says how answers of the network become signals.
type Decisions struct {
	Output     OutputFormat
	Confidence float64       // classification: below it, hold
	AllowShort bool          // a sell signal without a position opens a short one
	Separation time.Duration // least time between trades
	Cost       CostModel     // regression
}

// CostModel turns an expected return into a signal: buy above RoundTrip × MinEdge, sell below its negative.
type CostModel struct {
	RoundTrip float64
	MinEdge   float64
}

// SizeMode says what Backtest.PositionSize means.
type SizeMode string

// The modes.
const (
	SizeFraction SizeMode = "fraction" // a share of the equity
	SizeUnits    SizeMode = "units"    // a quantity
	SizeRisk     SizeMode = "risk"     // the share of the equity lost at the stop
)

// Backtest says what trading costs and how positions are sized.
type Backtest struct {
	Span           Span
	InitialCapital float64
	Commission     float64 // rate of the traded value, each side
	Slippage       float64 // rate of the price, each side
	Spread         float64 // bid to ask, as a rate of the price
	SizeMode       SizeMode
	PositionSize   float64
	LotSize        float64 // quantities are multiples of it; 0: any
	Leverage       float64
	StopLoss       float64 // fraction of the entry price; 0: none
	TakeProfit     float64 // fraction of the entry price; 0: none
	ExitAfter      int     // bars without a signal in its direction after which a position is closed; 0: never
	Flip           bool    // an opposite signal closes and reverses at once
}
