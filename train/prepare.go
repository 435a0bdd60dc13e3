package train

import (
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

// Options narrow down what a strategy says itself.
type Options struct {
	// Span is the time to take samples from; a bound that is set wins over the
	// strategy's. Bars that close after its end are not looked at, by nothing;
	// bars before its start serve as history.
	Span strategy.Span

	// Split, if not nil, is where the parts begin, in place of the strategy's fractions.
	Split *metrics.Split
}

// Within fills in what the strategy says where the options say nothing.
func (o Options) Within(s *strategy.Strategy) Options {
	if o.Span.Start.IsZero() {
		o.Span.Start = s.Data.Span.Start
	}
	if o.Span.End.IsZero() {
		o.Span.End = s.Data.Span.End
	}
	return o
}

func (o Options) start() int64 { return instant(o.Span.Start) }
func (o Options) end() int64   { return instant(o.Span.End) }

// instant is 0 for a bound that is not set.
func instant(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Prepare makes the dataset of a strategy from the bars of one or several
// symbols. The error, where there is one, is a sentence about the data; the
// pre-flight tells the rest, and comes with the error of what it refuses.
func Prepare(s *strategy.Strategy, data []Series, opt Options) (*Dataset, metrics.Preflight, error) {
	opt = opt.Within(s)
	data, err := readingAll(s, data)
	if err != nil {
		return nil, metrics.Preflight{}, err
	}
	b := newBuilder(s, data, opt)
	for _, d := range data {
		if err := b.add(d); err != nil {
			return nil, metrics.Preflight{}, fmt.Errorf("%s: %w", d.Symbol, err)
		}
	}
	if err := b.flight.Err(); err != nil { // before samples are missed that cannot be there
		return nil, b.flight, err
	}
	ds, err := b.finish()
	if err != nil {
		return nil, metrics.Preflight{}, err
	}
	flight := b.preflight(ds)
	if err := flight.Err(); err != nil {
		return nil, flight, err
	}
	ds.Norm = feature.Fit(b.matrix, ds.Train)
	if err := ds.Norm.Apply(b.matrix); err != nil {
		return nil, flight, err
	}
	return ds, flight, nil
}

func readingAll(s *strategy.Strategy, data []Series) ([]Series, error) {
	if len(data) == 0 {
		return nil, errors.New("there are no data to train on")
	}
	var errs []error
	seen := map[string]bool{}
	out := make([]Series, len(data))
	for i, d := range data {
		if seen[d.Symbol] {
			errs = append(errs, fmt.Errorf("%s is given twice", d.Symbol))
		}
		seen[d.Symbol] = true
		var err error
		out[i], err = d.reading(s)
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

type builder struct {
	s   *strategy.Strategy
	opt Options

	total   int             // bars of all symbols, at most
	matrix  *feature.Matrix // the rows of all symbols
	symbols []labelled
	ds      *Dataset
	flight  metrics.Preflight // what is found on the way

	gathered *Material // what folds are made of; nil of a single training
}

func newBuilder(s *strategy.Strategy, data []Series, opt Options) *builder {
	ds := &Dataset{
		Features: text.Strings(s.Features()), Classes: s.Training.Labels.Classes(), strategy: s.Hash(), options: opt,
	}
	b := &builder{s: s, opt: opt, ds: ds, matrix: &feature.Matrix{}}
	for _, d := range data {
		b.total += d.base().Len()
	}
	return b
}

// add puts the rows and the samples of one symbol behind those that are there.
func (b *builder) add(d Series) error {
	block := Block{Symbol: d.Symbol, First: b.matrix.Rows, Sources: sources(d.Bars)}
	b.ds.context = sources(d.Context) // the same for every symbol
	d = d.before(b.opt.end())
	block.Time = d.base().Time
	for _, higher := range d.Bars[1:] {
		if message, refused := feature.Mismatch(d.base(), higher, b.opt.Span); message != "" {
			b.flight.Findings = append(b.flight.Findings, metrics.Finding{Error: refused, Code: metrics.CodeTimeframe, Message: message})
		}
	}
	for _, other := range d.Context {
		if message, refused := feature.MismatchContext(d.base(), other, b.opt.Span); message != "" {
			b.flight.Findings = append(b.flight.Findings, metrics.Finding{Error: refused, Code: metrics.CodeTimeframe, Message: message})
		}
	}
	m, err := feature.Build(b.s, d.all())
	if err != nil {
		return fmt.Errorf("features: %w", err)
	}
	set, err := b.s.Training.Labels.Labeler().Label(d.base())
	if err != nil {
		return err
	}
	start, need := b.opt.start(), needOf(b.s)
	set = set.Select(func(i int) bool {
		row := set.Row[i]
		return need.met(m, int(row)) && block.Time[row] >= start
	})
	b.symbols = append(b.symbols, labelled{set: set, time: block.Time, offset: int32(block.First)})
	b.ds.Symbols = append(b.ds.Symbols, block)
	if b.gathered != nil {
		b.gathered.note(d.base(), m, need)
	}
	b.join(m)
	return nil
}

// need is what must be there for a decision at a bar: enough bars have passed,
// and all rows that the network reads have their features.
type need struct{ history, window int }

func needOf(s *strategy.Strategy) need { return need{s.Data.History, s.Model.Window()} }

func (n need) met(m *feature.Matrix, row int) bool {
	return row >= n.history && m.Usable(row, n.window)
}

// join puts a matrix below the rows that are there.
func (b *builder) join(m *feature.Matrix) {
	if b.matrix.Rows == 0 {
		b.matrix = m
		return
	}
	if cap(b.matrix.X) < b.total*m.Stride {
		b.matrix.X = append(make([]float32, 0, b.total*m.Stride), b.matrix.X...)
	}
	b.matrix.X = append(b.matrix.X, m.X...)
	b.matrix.Rows += m.Rows
	for c, n := range m.Undefined {
		b.matrix.Undefined[c] += n
	}
}

// finish splits the samples and writes their labels into the table.
func (b *builder) finish() (*Dataset, error) {
	ds, m, t := b.ds, b.matrix, b.s.Training
	split, err := b.split()
	if err != nil {
		return nil, err
	}
	ds.Split = split
	ds.Table = neural.Dataset{Rows: m.Rows, Inputs: m.Cols, Stride: m.Stride, X: m.X}
	if t.Labels.Source == strategy.TripleBarrier && t.Labels.TripleBarrier.Weights {
		ds.Table.Weight = make([]float32, m.Rows)
	}
	parts := divide(b.symbols, split, t.Embargo, ds.Table.Weight)
	ds.Train, ds.Validation, ds.Test = parts[0].rows, parts[1].rows, parts[2].rows
	for i, p := range parts {
		ds.purged[i] = p.purged
	}
	b.writeLabels()
	if ds.Classes == nil {
		ds.Unit = unitOf(ds.Table.Target, ds.Train)
		ds.Unit.scale(ds.Table.Target)
	} else {
		counts := make([]int, len(ds.Classes))
		for _, row := range ds.Train {
			counts[ds.Table.Class[row]]++
		}
		ds.ClassWeights = classWeights(t, counts)
	}
	return ds, b.checkParts(split)
}

func (b *builder) split() (metrics.Split, error) {
	if b.opt.Split != nil {
		return *b.opt.Split, checkSplit(*b.opt.Split)
	}
	return instants(b.symbols, b.s.Training.Split)
}

// writeLabels writes every label into the row of its bar. Rows without one are
// in no part, and have a class that no loss accepts.
func (b *builder) writeLabels() {
	table := &b.ds.Table
	if b.ds.Classes == nil {
		table.Target = make([]float32, table.Rows)
	} else {
		table.Class = make([]int8, table.Rows)
		for i := range table.Class {
			table.Class[i] = -1
		}
	}
	for _, l := range b.symbols {
		for i, row := range l.set.Row {
			if table.Class != nil {
				table.Class[l.offset+row] = l.set.Class[i]
			} else {
				table.Target[l.offset+row] = float32(l.set.Value[i])
			}
		}
	}
}

func (b *builder) checkParts(s metrics.Split) error {
	asked := [3]bool{true, s.Test > s.Validation, s.End > s.Test}
	var errs []error
	for p, rows := range b.ds.parts() {
		if asked[p] && len(rows) == 0 {
			errs = append(errs,
				fmt.Errorf("split: no %s samples are left (%d were purged): use more data, labels that end sooner, or a smaller embargo", partNames[p],
					b.ds.purged[p]))
		}
	}
	return errors.Join(errs...)
}

// preflight looks at the dataset before it is normalised.
func (b *builder) preflight(ds *Dataset) metrics.Preflight {
	p := metrics.Preflight{Rows: ds.Table.Rows, Parts: ds.partReports(), Findings: b.flight.Findings}
	for _, l := range b.symbols {
		p.Samples += l.set.Len()
	}
	checkSamples(&p, ds.Classes, b.s.Model.Weights(len(ds.Features), b.s.Outputs()))
	checkFeatures(&p, feature.Preflight(b.s, b.matrix, ds.Train, p.Parts[0].Classes))
	checkLeaks(&p, newSurvey(ds))
	return p
}
