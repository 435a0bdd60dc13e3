package strategy

import "github.com/ktrdr/ktrdr/label"

// LabelSource names what makes the labels.
type LabelSource string

// The sources.
const (
	Zigzag        LabelSource = "zigzag"
	ForwardReturn LabelSource = "forward_return"
	TripleBarrier LabelSource = "triple_barrier"
	Regime        LabelSource = "regime"
	Context       LabelSource = "context"
)

// Labels says what the network should have answered. Only the source's own parameters are set.
type Labels struct {
	Source        LabelSource
	Zigzag        label.Zigzag
	ForwardReturn label.ForwardReturn
	TripleBarrier label.TripleBarrier
	Regime        label.Regime
	Context       label.Context
}

// Labeler is the source that makes the labels.
func (l Labels) Labeler() label.Source {
	switch l.Source {
	case ForwardReturn:
		return l.ForwardReturn
	case TripleBarrier:
		return l.TripleBarrier
	case Regime:
		return l.Regime
	case Context:
		return l.Context
	case Zigzag:
	}
	return l.Zigzag
}

// Classes names the classes of the labels; nil for a regression.
func (l Labels) Classes() []string {
	switch l.Source {
	case ForwardReturn:
		return nil
	case Regime:
		return label.RegimeNames
	case Context:
		return label.ContextNames
	case Zigzag, TripleBarrier:
	}
	return label.SignalNames
}

// Signals says what each class means for a trader: 1 buy, 0 hold, -1 sell. A market that
// trends up or looks bullish is bought, one that trends down or looks bearish is sold.
func (l Labels) Signals() []int8 {
	switch l.Source {
	case ForwardReturn:
		return nil
	case Regime:
		return []int8{1, -1, 0, 0}
	case Context:
		return []int8{1, -1, 0}
	case Zigzag, TripleBarrier:
	}
	return []int8{1, 0, -1}
}

// Loss is what training makes small.
type Loss string

// The losses: the first two of a classification, the others of a regression.
const (
	CrossEntropy Loss = "cross_entropy"
	Focal        Loss = "focal"
	Huber        Loss = "huber"
	MSE          Loss = "mse"
)

// Optimizer is how weights follow their gradient.
type Optimizer string

// The optimizers.
const (
	Adam  Optimizer = "adam"
	AdamW Optimizer = "adamw"
)

// WeightMode is where class weights come from.
type WeightMode string

// The modes.
const (
	AutoWeights WeightMode = "auto" // inverse frequency in the training samples, summing to the number of classes
	NoWeights   WeightMode = "none"
	SetWeights  WeightMode = "set" // the list in the strategy
)

// Schedule is how the learning rate changes over the epochs.
type Schedule string

// The schedules.
const (
	Constant    Schedule = "none"
	Step        Schedule = "step"
	Exponential Schedule = "exponential"
	Cosine      Schedule = "cosine"
	Plateau     Schedule = "plateau"
)

// Scheduler is a schedule with its parameters; those of others are zero.
type Scheduler struct {
	Type      Schedule
	Warmup    int     // epochs of linear growth at the start
	StepSize  int     // step: epochs between falls
	Gamma     float64 // step, exponential, plateau: factor of a fall
	MinRate   float64 // cosine, plateau: least rate
	Patience  int     // plateau: epochs without improvement before a fall
	Threshold float64 // plateau: relative improvement that counts
}

// Monitor is what early stopping watches.
type Monitor string

// What can be watched.
const (
	ValidationLoss     Monitor = "val_loss"
	ValidationAccuracy Monitor = "val_accuracy"
)

// EarlyStopping ends training when the validation no longer improves. All but Enabled is zero when it is off.
type EarlyStopping struct {
	Enabled  bool
	Patience int     // epochs without improvement
	MinDelta float64 // improvement that counts
	Monitor  Monitor
}

// Training says how the network is trained.
type Training struct {
	Labels        Labels
	Epochs        int
	BatchSize     int
	LearningRate  float64
	Loss          Loss
	FocalGamma    float64 // focal
	HuberDelta    float64 // huber
	Optimizer     Optimizer
	WeightDecay   float64
	GradientClip  float64 // longest gradient; 0: any
	WeightMode    WeightMode
	ClassWeights  []float64 // with SetWeights
	Scheduler     Scheduler
	EarlyStopping EarlyStopping
	Split         Fractions
	Embargo       float64 // fraction of the bars between the parts of the split
	Seed          int     // 0: the seed of the operation
}

// Fractions divide the samples by time, and sum to 1. Validation and Test may be 0.
type Fractions struct {
	Train, Validation, Test float64
}
