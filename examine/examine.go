package examine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// What an examination is made of.
const (
	Groups   = 6  // groups of the bars
	tested   = 2  // of them that a split trades
	Splits   = 15 // pairs of groups
	Paths    = 5  // in how many splits a group is traded
	Folds    = 4  // of the walk-forward: groups 2 to 5
	Ensemble = 5  // networks of an ensemble

	retrained = 3    // networks of the ensembles of a changed parameter
	embargo   = 0.01 // of the bars, beside each sealed group; the strategy's own if that is longer
	fewest    = 200  // bars at which decisions are possible that a group must have
)

// maxCPU is what the trainings of an examination may take of one core.
const maxCPU = 12 * time.Hour

// Finalist is all that an examination depends on.
type Finalist struct {
	Strategy  *strategy.Strategy
	Bars      []train.Series                         // research bars of each symbol; nothing of a holdout
	Related   []train.Series                         // research bars of symbols of the same kind
	Costs     func(symbol string) backtest.Overrides // that are paid; nil: the strategy's own
	Seed      uint64                                 // of the research
	Kernel    neural.Kernel
	Rules     evidence.ExaminationRules
	ScoreOnly bool // the cross-validation alone, without the spread over seeds
	Workers   int  // units made at once by Run; 0 means 1
}

// Result is what an examination found.
type Result = evidence.Examination

// Run examines a strategy. A strategy that cannot be examined, for want of bars or of time,
// has a result that says so.
func Run(ctx context.Context, in Finalist) (Result, error) {
	x, refused, err := New(in)
	if err != nil || refused != nil {
		return orEmpty(refused), err
	}
	done := make([]UnitResult, x.Units())
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(in.Workers, 1))
	for i := range done {
		g.Go(func() (err error) {
			done[i], err = x.Do(ctx, i)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return Result{}, err
	}
	return x.Result(done)
}

func orEmpty(r *Result) Result {
	if r == nil {
		return Result{}
	}
	return *r
}

// Examination is an examination that can be made unit by unit.
type Examination struct {
	in         Finalist
	main       *study
	changes    []change // of the walk-forward, without training again
	neighbours []Neighbour
	hold       [Groups][]float64 // returns of buy-and-hold in each group
}

// New prepares an examination. refused is the result of one that cannot be made.
func New(in Finalist) (x *Examination, refused *Result, err error) {
	main, err := newStudy(in.Strategy, in.Bars, in.Costs, in.Kernel)
	if err == nil {
		err = main.check()
	}
	if why := fewBars(err); why != "" {
		r := evidence.NotExamined(evidence.FewBars, why)
		return nil, &r, nil
	}
	if err != nil {
		return nil, nil, err
	}
	x = &Examination{in: in, main: main, changes: changes(in.Strategy), neighbours: Neighbours(in.Strategy)}
	if took := time.Duration(x.trainings()) * in.Strategy.Cost(main.m.Bars[0].Len()).CPU; took > maxCPU {
		r := evidence.NotExamined(evidence.TooLong, fmt.Sprintf("its trainings would take about %v of one core; at most %v are allowed",
			took.Round(time.Minute), maxCPU))
		return nil, &r, nil
	}
	for g := range x.hold {
		if x.hold[g], err = main.holdOf(g); err != nil {
			return nil, nil, err
		}
	}
	return x, nil, nil
}

// fewBars says why bars are too few to examine; "" if err says something else.
func fewBars(err error) string {
	if errors.Is(err, train.ErrFewSamples) {
		return err.Error()
	}
	return ""
}

// trainings is what the limit counts. It is the same with a score alone and with any related
// symbols, so that a strategy that is examined on its market is examined on each copy of it.
func (x *Examination) trainings() int {
	return Splits*Ensemble + Folds*(Ensemble+retrained*len(x.neighbours))
}

// Units is how many units there are.
func (x *Examination) Units() int {
	n := Splits
	if !x.in.ScoreOnly {
		n += Folds + len(x.neighbours) + len(x.in.Related)
	}
	return n
}

// Do makes a unit. When ctx ends it returns its cause.
func (x *Examination) Do(ctx context.Context, unit int) (UnitResult, error) {
	u := UnitResult{Unit: unit}
	var err error
	switch at := unit - Splits; {
	case at < 0:
		err = x.split(ctx, &u, unit)
	case at < Folds:
		err = x.fold(ctx, &u, at)
	case at < Folds+len(x.neighbours):
		err = x.neighbour(ctx, &u, x.neighbours[at-Folds])
	default:
		err = x.related(ctx, &u, x.in.Related[at-Folds-len(x.neighbours)])
	}
	if err != nil {
		return UnitResult{}, fmt.Errorf("%s: %w", x.Name(unit), err)
	}
	return u, nil
}

// Name says what a unit is, for people.
func (x *Examination) Name(unit int) string {
	switch at := unit - Splits; {
	case at < 0:
		return fmt.Sprintf("split %d of %d", unit+1, Splits)
	case at < Folds:
		return fmt.Sprintf("walk-forward fold %d of %d", at+1, Folds)
	case at < Folds+len(x.neighbours):
		return "parameter " + x.neighbours[at-Folds].Name
	default:
		return "symbol " + x.in.Related[at-Folds-len(x.neighbours)].Symbol
	}
}

// pairs lists the groups that each split trades, in the order of the splits.
func pairs() (list [][tested]int) {
	for a := range Groups {
		for b := a + 1; b < Groups; b++ {
			list = append(list, [tested]int{a, b})
		}
	}
	return list
}

// PathOf returns the path that a split's trading of a group belongs to: the n-th time that
// a group is traded is its part of path n.
func PathOf(split, group int) int {
	path := 0
	for _, p := range pairs()[:split] {
		if slices.Contains(p[:], group) {
			path++
		}
	}
	return path
}
