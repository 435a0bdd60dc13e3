package examine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// study is a strategy on some bars, cut into groups.
type study struct {
	s      *strategy.Strategy
	data   []train.Series
	costs  func(symbol string) backtest.Overrides
	kernel neural.Kernel

	m       *train.Material
	windows [Groups]train.Window
	bars    int     // at which decisions are possible
	perYear float64 // bars
}

func newStudy(s *strategy.Strategy, data []train.Series, costs func(string) backtest.Overrides, k neural.Kernel) (*study, error) {
	m, err := train.Gather(s, data)
	if err != nil {
		return nil, err
	}
	st := &study{s: s, data: data, costs: costs, kernel: k, m: m}
	times := m.Decides()
	st.bars = len(times)
	if len(times) < Groups*fewest {
		return nil, fmt.Errorf("%w: decisions are possible at %d bars, and %d groups of %d are needed", train.ErrFewSamples, len(times),
			Groups, fewest)
	}
	st.windows = cut(times)
	st.perYear = backtest.BarsPerYear(&market.Bars{Timeframe: s.Data.Base, Time: union(m.Bars, math.MinInt64, math.MaxInt64)})
	return st, nil
}

// cut divides instants into groups of as many bars each as can be.
func cut(times []int64) (w [Groups]train.Window) {
	for g := range w {
		from, to := g*len(times)/Groups, (g+1)*len(times)/Groups
		w[g] = train.Window{From: times[from], To: times[len(times)-1] + 1}
		if to < len(times) {
			w[g].To = times[to]
		}
	}
	return w
}

// union lists the instants from one on and before another at which any symbol has a bar.
func union(bars []*market.Bars, from, to int64) []int64 {
	var times []int64
	for _, b := range bars {
		i := sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= from })
		j := sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= to })
		times = append(times, b.Time[i:j]...)
	}
	slices.Sort(times)
	return slices.Compact(times)
}

func (st *study) gap() float64 { return max(embargo, st.s.Training.Embargo) }

// splitFold seals the groups that a split trades.
func (st *study) splitFold(split int) train.Fold {
	f := train.Fold{Embargo: st.gap()}
	for _, g := range pairs()[split] {
		f.Sealed = append(f.Sealed, st.windows[g])
	}
	return f
}

// walkFold seals a group and everything after it.
func (st *study) walkFold(fold int) train.Fold {
	return train.Fold{Embargo: st.gap(), Sealed: []train.Window{{From: st.windows[walked(fold)].From, To: math.MaxInt64}}}
}

// walked is the group that a fold of the walk-forward trades.
func walked(fold int) int { return Groups - Folds + fold }

// check says, with an error that wraps train.ErrFewSamples, that a fold cannot be trained.
func (st *study) check() error {
	for i := range Splits {
		if err := st.m.Check(st.splitFold(i)); err != nil {
			return fmt.Errorf("split %d of %d: %w", i+1, Splits, err)
		}
	}
	return st.checkWalk()
}

func (st *study) checkWalk() error {
	for i := range Folds {
		if err := st.m.Check(st.walkFold(i)); err != nil {
			return fmt.Errorf("fold %d of %d of the walk-forward: %w", i+1, Folds, err)
		}
	}
	return nil
}

// ensemble is networks that were trained on the same fold.
type ensemble struct {
	st   *study
	ds   *train.Dataset
	nets []*neural.Net
	view *neural.Dataset // what the networks are asked about
}

// train trains an ensemble on a fold. Its seeds are mixed from those given and their index.
func (st *study) train(ctx context.Context, f train.Fold, size int, seed ...uint64) (*ensemble, error) {
	ds, err := st.m.Fold(f)
	if err != nil {
		return nil, err
	}
	seeds := make([]uint64, size)
	for i := range seeds {
		seeds[i] = num.Mix(append(slices.Clone(seed), uint64(i))...)
	}
	e := &ensemble{st: st, ds: ds, view: &ds.Table}
	e.nets, err = st.m.Ensemble(ctx, ds, st.kernel, seeds...)
	return e, err
}

// answers are what each network says of the bars of each symbol in a group.
func (e *ensemble) answers(m *train.Material, view *neural.Dataset, group int) ([][][]float32, error) {
	all := make([][][]float32, len(m.Bars))
	for k := range m.Bars {
		from, to := m.Rows(k, e.st.windows[group])
		for _, net := range e.nets {
			a, err := m.Answers(view, e.ds.Unit, net, k, from, to)
			if err != nil {
				return nil, err
			}
			all[k] = append(all[k], a)
		}
	}
	return all, nil
}

// signals decides by the mean of the answers of some of the networks.
func (st *study) signals(answers [][][]float32, from, to int, c change) ([][]backtest.Signal, error) {
	all := make([][]backtest.Signal, len(answers))
	for k := range answers {
		var err error
		if all[k], err = st.m.Decide(c.of(st.s), train.Average(answers[k][from:to])); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// trade trades signals on the bars of a group. Each group begins and ends without a
// position. The returns have one entry for each pair of neighbouring bars.
func (st *study) trade(signals [][]backtest.Signal, group int, c change) (returns, hold []float64, trades int, err error) {
	w := st.windows[group]
	length := len(union(st.m.Bars, w.From, w.To)) - 1
	var accounts []backtest.Account
	var bars []*market.Bars
	for k, b := range st.m.Bars {
		from, to := st.m.Rows(k, w)
		if to-from < 2 {
			continue // it has no return in this group
		}
		var o backtest.Overrides
		if st.costs != nil {
			o = st.costs(b.Symbol)
		}
		cfg := c.costs(train.BacktestConfig(c.of(st.s), o)).Share(len(st.m.Bars))
		part := b.Slice(from, to)
		run, err := backtest.Backtest(part, c.delayed(signals[k]), cfg)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("%s: %w", b.Symbol, err)
		}
		accounts, bars = append(accounts, backtest.Account{Symbol: b.Symbol, Result: run}), append(bars, part)
	}
	if len(accounts) == 0 {
		return make([]float64, max(length, 0)), make([]float64, max(length, 0)), 0, nil
	}
	all, err := backtest.Combine(st.s.Data.Base, accounts)
	if err != nil {
		return nil, nil, 0, err
	}
	p, err := evidence.PartOfPortfolio(bars, all)
	if err != nil {
		return nil, nil, 0, err
	}
	return fill(p.Returns, length), fill(p.Hold, length), len(p.Trades), nil
}

// fill gives returns the length of their group: an account that was used up earns nothing more.
func fill(x []float64, length int) []float64 {
	return append(x, make([]float64, max(length-len(x), 0))...)[:length]
}

// holdOf is buy-and-hold in a group.
func (st *study) holdOf(group int) ([]float64, error) {
	idle := make([][]backtest.Signal, len(st.m.Bars))
	for k := range idle {
		from, to := st.m.Rows(k, st.windows[group])
		idle[k] = make([]backtest.Signal, to-from)
	}
	_, hold, _, err := st.trade(idle, group, change{})
	return hold, err
}
