package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

// Material is the features and labels of a strategy's bars before any split. They are
// computed once. Each fold of a cross-validation is a Dataset of its own:
//
//	strategy, bars ──Gather──▶ Material ──Fold──▶ Dataset ──Start──▶ Run ──Network──▶ network
//	                              └── View, with the fold's scaling ──▶ Answers ──▶ Decide ──▶ signals
//
// A Material is not changed after Gather, and may be used by several goroutines.
type Material struct {
	Bars []*market.Bars // base bars of each symbol

	strategy *strategy.Strategy
	matrix   *feature.Matrix
	symbols  []labelled
	decides  [][]bool // of each bar of each symbol: the network may be asked
	reads    int      // see Reads
	class    []int8
	target   []float32
	names    []string
}

// Window is a stretch of time: opening instants of bars from From on and before To.
type Window struct{ From, To int64 }

// Fold says which samples a network may be trained on: all but those that touch a
// Sealed window.
//
//	training ●──┤ ●──┤ ╳──┤ ╳─────│ sealed window │╳ ╳ ╳ ╳ ●──┤ ●──┤
//	               embargo▔▔▔▔▔▔▔▔│               │▔▔▔▔▔▔▔▔ embargo or Reads, the longer
//
// A sample is left out if its label looks into the window or into the embargo before
// it, and if its features read a bar of the window.
type Fold struct {
	Sealed  []Window
	Embargo float64 // fraction of the bars of a symbol
}

// ErrFewSamples says that a fold leaves too few samples to train on.
var ErrFewSamples = errors.New("too few samples")

// Gather computes the features and labels of the bars of one or several symbols. The
// material is of the strategy without its seed: an ensemble has seeds of its own.
func Gather(s *strategy.Strategy, data []Series) (*Material, error) {
	data, err := readingAll(s, data)
	if err != nil {
		return nil, err
	}
	free := *s
	free.Training.Seed = 0
	m := &Material{strategy: &free}
	b := newBuilder(s, data, Options{})
	b.gathered = m
	for _, d := range data {
		if err := b.add(d); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Symbol, err)
		}
	}
	if err := b.flight.Err(); err != nil {
		return nil, err
	}
	m.matrix, m.symbols, m.names = b.matrix, b.symbols, b.ds.Features
	b.ds.Table.Rows = b.matrix.Rows
	b.writeLabels()
	m.class, m.target = b.ds.Table.Class, b.ds.Table.Target
	return m, nil
}

// note keeps of a symbol where its network may be asked.
func (m *Material) note(bars *market.Bars, x *feature.Matrix, need need) {
	ok := make([]bool, x.Rows)
	for i := range ok {
		ok[i] = need.met(x, i)
	}
	m.Bars, m.decides = append(m.Bars, bars), append(m.decides, ok)
	m.reads = max(m.reads, x.First+need.window)
}

// Reads is how many bars up to and including its own a decision reads: until the first
// row with all features, and over the window of a recurrent network.
func (m *Material) Reads() int { return m.reads }

// Decides lists the instants of the bars, of all symbols, at which a network may be asked.
func (m *Material) Decides() []int64 {
	var times []int64
	for k, ok := range m.decides {
		for i, is := range ok {
			if is {
				times = append(times, m.Bars[k].Time[i])
			}
		}
	}
	slices.Sort(times)
	return times
}

// Rows are the bars of a symbol that a window has, as indexes from and before.
func (m *Material) Rows(symbol int, w Window) (from, to int) {
	t := m.Bars[symbol].Time
	from = sort.Search(len(t), func(i int) bool { return t[i] >= w.From })
	to = sort.Search(len(t), func(i int) bool { return t[i] >= w.To })
	return from, to
}

// kept returns the samples of a symbol, by index in its set, that touch no sealed window.
func (m *Material) kept(symbol int, f Fold) (list []int) {
	l := m.symbols[symbol]
	gap := int32(f.Embargo * float64(len(l.time)))
	after := max(gap, int32(m.reads-1))
	var sealed [][2]int32
	for _, w := range f.Sealed {
		if from, to := m.Rows(symbol, w); from < to {
			sealed = append(sealed, [2]int32{int32(from) - gap, int32(to) + after})
		}
	}
	for i, row := range l.set.Row {
		if !slices.ContainsFunc(sealed, func(w [2]int32) bool { return l.set.End[i] >= w[0] && row < w[1] }) {
			list = append(list, i)
		}
	}
	return list
}

// Fold makes the dataset of a fold. The latest of its samples are the validation part,
// in the proportion that the strategy's split gives it beside the training part. The
// error wraps ErrFewSamples if the fold leaves too few to train on.
func (m *Material) Fold(f Fold) (*Dataset, error) {
	s := m.strategy
	ds := &Dataset{Features: m.names, Classes: s.Training.Labels.Classes(), strategy: s.Hash()}
	for k, l := range m.symbols {
		ds.Symbols = append(ds.Symbols, Block{Symbol: m.Bars[k].Symbol, First: int(l.offset), Time: l.time})
	}
	ds.Table = neural.Dataset{Rows: m.matrix.Rows, Inputs: m.matrix.Cols, Stride: m.matrix.Stride, Class: m.class, Target: m.target}
	if l := s.Training.Labels; l.Source == strategy.TripleBarrier && l.TripleBarrier.Weights {
		ds.Table.Weight = make([]float32, m.matrix.Rows)
	}
	if err := m.divide(ds, f); err != nil {
		return nil, err
	}
	ds.Norm = feature.Fit(m.matrix, ds.Train)
	view, err := m.View(ds.Norm)
	if err != nil {
		return nil, err
	}
	ds.Table.X = view.X
	if ds.Classes == nil {
		ds.Table.Target = slices.Clone(m.target)
		ds.Unit = unitOf(ds.Table.Target, ds.Train)
		ds.Unit.scale(ds.Table.Target)
	}
	return ds, nil
}

// Check says, with an error that wraps ErrFewSamples, that a fold leaves too few samples.
func (m *Material) Check(f Fold) error {
	ds := &Dataset{Classes: m.strategy.Training.Labels.Classes()}
	ds.Table.Class = m.class
	return m.divide(ds, f)
}

// divide sorts the samples that a fold leaves into training and validation part.
func (m *Material) divide(ds *Dataset, f Fold) error {
	kept := make([][]int, len(m.symbols))
	var times []int64
	for k, l := range m.symbols {
		kept[k] = m.kept(k, f)
		for _, i := range kept[k] {
			times = append(times, l.at(i))
		}
	}
	if len(times) == 0 {
		return fmt.Errorf("%w: none is left outside the sealed bars", ErrFewSamples)
	}
	slices.Sort(times)
	border := times[len(times)-1] + 1
	split := m.strategy.Training.Split
	if share := split.Train / (split.Train + split.Validation); share < 1 {
		border = times[min(int(float64(share*float64(len(times)))+0.5), len(times)-1)]
	}
	for k := range m.symbols {
		m.share(ds, k, kept[k], border, f.Embargo)
	}
	return m.enough(ds)
}

// share gives the samples of one symbol to the two parts.
func (m *Material) share(ds *Dataset, k int, kept []int, border int64, embargo float64) {
	l := m.symbols[k]
	limit := int32(sort.Search(len(l.time), func(i int) bool { return l.time[i] >= border })) - int32(embargo*float64(len(l.time)))
	var row, end [2][]int32
	for _, i := range kept {
		part := 0
		switch {
		case l.at(i) >= border:
			part = 1
		case border <= l.time[len(l.time)-1] && l.set.End[i] >= limit:
			continue
		}
		row[part], end[part] = append(row[part], l.set.Row[i]), append(end[part], l.set.End[i])
	}
	for part, into := range [2]*[]int32{&ds.Train, &ds.Validation} {
		for _, r := range row[part] {
			*into = append(*into, l.offset+r)
		}
		if ds.Table.Weight != nil {
			for i, w := range label.Uniqueness(row[part], end[part], len(l.time)) {
				ds.Table.Weight[l.offset+row[part][i]] = w
			}
		}
	}
}

// enough refuses parts that cannot be trained on, and sets the weights of the classes.
func (m *Material) enough(ds *Dataset) error {
	t := m.strategy.Training
	if len(ds.Train) < LeastTraining {
		return fmt.Errorf("%w: %d are left to train on, and at least %d are needed", ErrFewSamples, len(ds.Train), LeastTraining)
	}
	if len(ds.Validation) == 0 && t.EarlyStopping.Enabled {
		return fmt.Errorf("%w: none is left for validation", ErrFewSamples)
	}
	if ds.Classes == nil {
		return nil
	}
	counts, occurring := make([]int, len(ds.Classes)), 0
	for _, row := range ds.Train {
		counts[m.class[row]]++
	}
	for _, n := range counts {
		occurring += min(n, 1)
	}
	if occurring < 2 {
		return fmt.Errorf("%w: all %d to train on have one label", ErrFewSamples, len(ds.Train))
	}
	ds.ClassWeights = classWeights(t, counts)
	return nil
}

// View is the table of the features, scaled as a fold found it. It has no labels.
func (m *Material) View(norm feature.Norm) (*neural.Dataset, error) {
	scaled := *m.matrix
	scaled.X = slices.Clone(m.matrix.X)
	if err := norm.Apply(&scaled); err != nil {
		return nil, err
	}
	return &neural.Dataset{Rows: scaled.Rows, Inputs: scaled.Cols, Stride: scaled.Stride, X: scaled.X}, nil
}

// Answers asks a network about the bars of a symbol from one up to another, which is
// excluded. Where it may not be asked the answer is NaN. unit is that of the fold.
func (m *Material) Answers(view *neural.Dataset, unit Unit, net *neural.Net, symbol, from, to int) ([]float32, error) {
	n, first := net.Spec().Outputs, int(m.symbols[symbol].offset)
	out := make([]float32, (to-from)*n)
	var rows []int32
	for i := from; i < to; i++ {
		if m.decides[symbol][i] {
			rows = append(rows, int32(first+i))
		}
		for j := range n {
			out[(i-from)*n+j] = float32(math.NaN())
		}
	}
	said := make([]float32, len(rows)*n)
	if err := neural.NewPredictor(net, 0).Predict(view, rows, said); err != nil {
		return nil, err
	}
	if n > 1 {
		neural.Softmax(said, n)
	} else {
		unit.unscale(said)
	}
	for i, row := range rows {
		copy(out[(int(row)-first-from)*n:][:n], said[i*n:])
	}
	return out, nil
}

// Average is the mean of the answers of several networks: the answer of an ensemble.
func Average(answers [][]float32) []float32 {
	mean := make([]float32, len(answers[0]))
	for i := range mean {
		sum := 0.0
		for _, a := range answers {
			sum += float64(a[i])
		}
		mean[i] = float32(sum / float64(len(answers)))
	}
	return mean
}

// Decide makes signals of answers, as a strategy with the labels of this one says.
func (m *Material) Decide(by *strategy.Strategy, answers []float32) ([]backtest.Signal, error) {
	s := Signals{Answers: answers, Outputs: max(len(m.strategy.Training.Labels.Classes()), 1)}
	err := s.decide(by)
	return s.Signal, err
}

// Ensemble trains networks on the dataset of a fold, one for each seed, to the end of each
// training. A seed in the strategy is not used. The error is the cause of ctx if that ended.
func (m *Material) Ensemble(ctx context.Context, ds *Dataset, k neural.Kernel, seeds ...uint64) ([]*neural.Net, error) {
	nets := make([]*neural.Net, len(seeds))
	for i, seed := range seeds {
		r, err := Start(ds, m.strategy, seed, k)
		if err != nil {
			return nil, err
		}
		for !r.Done() {
			if err := r.Epoch(ctx, nil); err != nil {
				return nil, err
			}
		}
		if nets[i], err = r.chosen(); err != nil {
			return nil, err
		}
	}
	return nets, nil
}
