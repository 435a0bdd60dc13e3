package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

// Signals are what a model says of a series of bars: of each bar, known at its
// close. They do not know of a position; package backtest does.
type Signals struct {
	Symbol    string
	Timeframe market.Timeframe
	Time      []int64 // opening instants of the bars; shared with them

	Outputs    int       // answers per bar
	Answers    []float32 // probabilities of the classes, or forecast returns, bar after bar; NaN where there are none
	Signal     []backtest.Signal
	Confidence []float32

	First   int               // the first bar with an answer; the number of bars if none has
	classes []backtest.Signal // what each class means for a trader; nil of a regression
}

// Answer is what the model says of one bar.
func (s *Signals) Answer(bar int) []float32 { return s.Answers[bar*s.Outputs:][:s.Outputs] }

// Predict asks a model about every bar of a symbol, as far as the strategy may
// be used on it. What it says of a bar depends on the bars up to it alone.
func Predict(m *TrainedModel, data Series) (*Signals, error) {
	return PredictLast(m, data, math.MaxInt)
}

// PredictLast is Predict for the last bars. Those before are read, and have no answer.
func PredictLast(m *TrainedModel, data Series, last int) (*Signals, error) {
	s := m.Strategy
	if err := m.Allows(data.Symbol); err != nil {
		return nil, err
	}
	data, err := data.reading(s)
	if err != nil {
		return nil, err
	}
	matrix, err := feature.Build(s, data.all())
	if err != nil {
		return nil, fmt.Errorf("features of %s: %w", data.Symbol, err)
	}
	if err := m.Info.Norm.Apply(matrix); err != nil {
		return nil, fmt.Errorf("features of %s: %w", data.Symbol, err)
	}
	out := &Signals{
		Symbol: data.Symbol, Timeframe: data.base().Timeframe, Time: data.base().Time, Outputs: m.Net.Spec().Outputs,
	}
	if err := out.ask(m, matrix, max(0, matrix.Rows-last)); err != nil {
		return nil, fmt.Errorf("%s: %w", data.Symbol, err)
	}
	if err := out.decide(s); err != nil {
		return nil, fmt.Errorf("decisions of strategy %s: %w", s.Name, err)
	}
	return out, nil
}

// Allows refuses symbols that the strategy's deployment leaves out. The symbols that
// the model was trained on are those of its data, which a request may have chosen.
func (m *TrainedModel) Allows(symbol string) error {
	if m.Strategy.Deployment.Symbols != strategy.TrainingOnly {
		return m.Strategy.Allows(symbol, m.Strategy.Data.Base)
	}
	var trained []string
	for _, s := range m.Info.Sources {
		if s.Symbol == symbol {
			return nil
		}
		if !slices.Contains(trained, s.Symbol) {
			trained = append(trained, s.Symbol)
		}
	}
	return fmt.Errorf("strategy %s may be used only on the symbols it was trained on (%s), and %s is not one: see its "+
		"deployment.target_symbols", m.Strategy.Name, strings.Join(trained, ", "), symbol)
}

// asked is how many bars the network is asked about at once. The answers do not depend on it.
const asked = 8192

// ask fills in the answers from a row on, run by run of usable rows.
func (s *Signals) ask(model *TrainedModel, m *feature.Matrix, from int) error {
	s.Answers = make([]float32, m.Rows*s.Outputs)
	table := neural.Dataset{Rows: m.Rows, Inputs: m.Cols, Stride: m.Stride, X: m.X}
	predictor, need := neural.NewPredictor(model.Net, 0), needOf(model.Strategy)
	rows := make([]int32, 0, asked)
	s.First = m.Rows
	for row := 0; row < m.Rows; {
		if row < from || !need.met(m, row) {
			for i := range s.Answer(row) {
				s.Answers[row*s.Outputs+i] = float32(math.NaN())
			}
			row++
			continue
		}
		s.First = min(s.First, row)
		for rows = rows[:0]; row < m.Rows && len(rows) < asked && need.met(m, row); row++ {
			rows = append(rows, int32(row))
		}
		piece := s.Answers[int(rows[0])*s.Outputs : row*s.Outputs]
		if err := predictor.Predict(&table, rows, piece); err != nil {
			return err
		}
		model.Answers(piece)
	}
	return nil
}

// Answers makes what the network puts out into what the model says: the
// probabilities of the classes, or forecast returns.
func (m *TrainedModel) Answers(outputs []float32) {
	if n := m.Net.Spec().Outputs; n > 1 {
		neural.Softmax(outputs, n)
		return
	}
	m.Info.Unit.unscale(outputs)
}

// decide makes signals of the answers, as the strategy says.
func (s *Signals) decide(st *strategy.Strategy) (err error) {
	d := st.Decisions
	if d.Output == strategy.Regression {
		s.Signal, s.Confidence, err = backtest.FromRegression(s.Answers, backtest.CostModel{
			RoundTripCost: d.Cost.RoundTrip, MinEdgeMultiplier: d.Cost.MinEdge,
		})
		return err
	}
	for _, x := range st.Training.Labels.Signals() {
		s.classes = append(s.classes, backtest.Signal(x))
	}
	if len(s.classes) != s.Outputs {
		return errors.New("the network has another number of classes than the labels")
	}
	s.Signal, s.Confidence, err = backtest.FromProbabilities(s.Answers, backtest.Decision{Threshold: d.Confidence, Classes: s.classes})
	return err
}

// Holds counts the bars from one on at which there was no signal.
func (s *Signals) Holds(from int) metrics.Holds {
	var h metrics.Holds
	for bar := from; bar < len(s.Signal); bar++ {
		switch {
		case math.IsNaN(float64(s.Answers[bar*s.Outputs])):
			h.Undefined++
		case s.Signal[bar] != backtest.Hold:
			h.Followed++
		case s.classes != nil && s.classes[argmax(s.Answer(bar))] == backtest.Hold:
			h.Answered++
		default:
			h.Unsure++
		}
	}
	return h
}
