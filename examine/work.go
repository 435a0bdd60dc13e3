package examine

import (
	"context"
	"errors"

	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/train"
)

// split trains the ensemble of a split and trades its groups.
func (x *Examination) split(ctx context.Context, u *UnitResult, split int) error {
	e, err := x.main.train(ctx, x.main.splitFold(split), Ensemble, x.in.Seed, 'x', 's', uint64(split))
	if err != nil {
		return err
	}
	for _, g := range pairs()[split] {
		answers, err := e.answers(x.main.m, e.view, g)
		if err != nil {
			return err
		}
		p, err := x.main.part(answers, g, Ensemble, change{})
		if err != nil {
			return err
		}
		for i := range Ensemble {
			if x.in.ScoreOnly {
				break
			}
			signals, err := x.main.signals(answers, i, i+1, change{})
			if err != nil {
				return err
			}
			returns, _, _, err := x.main.trade(signals, g, change{})
			if err != nil {
				return err
			}
			p.Seeds = append(p.Seeds, sumsOf(returns))
		}
		u.Parts = append(u.Parts, p)
	}
	return nil
}

// part trades the ensemble of the first networks on a group.
func (st *study) part(answers [][][]float32, group, size int, c change) (GroupReturns, error) {
	signals, err := st.signals(answers, 0, size, c)
	if err != nil {
		return GroupReturns{}, err
	}
	returns, _, trades, err := st.trade(signals, group, c)
	return GroupReturns{Group: group, Returns: returns, Trades: trades}, err
}

// few is the index of the part of a fold that is traded by as many networks as those of a
// changed parameter: what these are compared with.
const few = -1

// fold trains the ensemble of a fold of the walk-forward and trades its group, as it is and
// with each change.
func (x *Examination) fold(ctx context.Context, u *UnitResult, fold int) error {
	e, err := x.main.train(ctx, x.main.walkFold(fold), Ensemble, x.in.Seed, 'x', 'w', uint64(fold))
	if err != nil {
		return err
	}
	g := walked(fold)
	answers, err := e.answers(x.main.m, e.view, g)
	if err != nil {
		return err
	}
	p, err := x.main.part(answers, g, retrained, change{})
	if err != nil {
		return err
	}
	p.Change = few
	u.Parts = append(u.Parts, p)
	for i, c := range x.changes {
		said := answers
		if c.draw > 0 {
			if said, err = x.shaken(e, g, c.draw); err != nil {
				return err
			}
		}
		if p, err = x.main.part(said, g, Ensemble, c); err != nil {
			return err
		}
		p.Change = i
		u.Parts = append(u.Parts, p)
	}
	return nil
}

// shaken asks the networks about bars with noise. They are traded at the real prices.
func (x *Examination) shaken(e *ensemble, group, draw int) ([][][]float32, error) {
	m, err := train.Gather(x.in.Strategy, noisy(x.in.Bars, num.Mix(x.in.Seed, 'x', 'n', uint64(draw))))
	if err != nil {
		return nil, err
	}
	view, err := m.View(e.ds.Norm)
	if err != nil {
		return nil, err
	}
	return e.answers(m, view, group)
}

// neighbour makes the walk-forward of a strategy with a changed parameter, trained again
// with the seeds of the walk-forward that it is compared with.
func (x *Examination) neighbour(ctx context.Context, u *UnitResult, n Neighbour) error {
	st, err := newStudy(n.Strategy, x.in.Bars, x.in.Costs, x.in.Kernel)
	if err == nil {
		st.windows = x.main.windows
		err = st.checkWalk()
	}
	if err == nil {
		err = x.walk(ctx, u, st, retrained)
	}
	return told(ctx, u, err)
}

// related makes the walk-forward of the strategy on another symbol.
func (x *Examination) related(ctx context.Context, u *UnitResult, d train.Series) error {
	st, err := newStudy(on(x.in.Strategy, d.Symbol), []train.Series{d}, x.in.Costs, x.in.Kernel)
	if err == nil {
		err = st.checkWalk()
	}
	if err == nil {
		err = x.walk(ctx, u, st, Ensemble)
	}
	return told(ctx, u, err)
}

func (x *Examination) walk(ctx context.Context, u *UnitResult, st *study, size int) error {
	for fold := range Folds {
		e, err := st.train(ctx, st.walkFold(fold), size, x.in.Seed, 'x', 'w', uint64(fold))
		if err != nil {
			return err
		}
		g := walked(fold)
		answers, err := e.answers(st.m, e.view, g)
		if err != nil {
			return err
		}
		p, err := st.part(answers, g, size, change{})
		if err != nil {
			return err
		}
		u.Parts = append(u.Parts, p)
	}
	return nil
}

// told makes an error of a changed strategy part of the unit: the finalist itself can be
// examined. The end of ctx stays an error.
func told(ctx context.Context, u *UnitResult, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return err
	}
	u.Parts, u.Undefined = nil, err.Error()
	return nil
}
