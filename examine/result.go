package examine

import (
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/strategy"
)

// Result makes the result of all units, in their order.
func (x *Examination) Result(units []UnitResult) (Result, error) {
	for i, u := range units {
		if u.Unit != i {
			return Result{}, fmt.Errorf("unit %d stands where unit %d belongs", u.Unit, i)
		}
	}
	if len(units) != x.Units() {
		return Result{}, fmt.Errorf("there are %d units of %d", len(units), x.Units())
	}
	r := Result{
		Reasons: []evidence.Reason{}, Seeds: []*float64{}, Perturbed: []evidence.Perturbation{},
		Bars: x.main.bars, Groups: Groups, Splits: Splits, Ensemble: Ensemble,
	}
	x.paths(&r, units[:Splits])
	if x.in.ScoreOnly {
		return r, nil
	}
	x.seeds(&r, units[:Splits])
	x.walked(&r, units[Splits:])
	r.Conclude(x.in.Rules)
	return r, nil
}

// paths assembles the paths, and the mean of their returns bar by bar: an account that is
// divided among the paths in equal shares at every bar.
func (x *Examination) paths(r *Result, splits []UnitResult) {
	hold := slices.Concat(x.hold[:]...)
	var parts [Paths][Groups]GroupReturns
	for i, u := range splits {
		for _, p := range u.Parts {
			parts[PathOf(i, p.Group)][p.Group] = p
		}
	}
	pooled, trades := make([]float64, len(hold)), 0
	for _, path := range parts {
		returns, n := joined(path[:])
		trades += n
		for i, v := range returns {
			pooled[i] += v / Paths
		}
		r.Paths = append(r.Paths, evidence.PathOf(returns, hold, x.main.perYear, n))
	}
	all := evidence.PathOf(pooled, hold, x.main.perYear, trades)
	r.Pooled, r.Score = &all, evidence.WeakerZ(all.SharpeZ, all.AlphaZ)
}

func joined(parts []GroupReturns) (returns []float64, trades int) {
	for _, p := range parts {
		returns, trades = append(returns, p.Returns...), trades+p.Trades
	}
	return returns, trades
}

// seeds is what each network of the ensembles earns alone, over all paths.
func (x *Examination) seeds(r *Result, splits []UnitResult) {
	var sums [Ensemble]Sums
	for _, u := range splits {
		for _, p := range u.Parts {
			for i, s := range p.Seeds {
				sums[i] = sums[i].add(s)
			}
		}
	}
	for _, s := range sums {
		r.Seeds = append(r.Seeds, s.sharpe(x.main.perYear))
	}
}

// walked measures the walk-forward and everything that was changed in it.
func (x *Examination) walked(r *Result, units []UnitResult) {
	folds, rest := units[:Folds], units[Folds:]
	hold := slices.Concat(x.hold[Groups-Folds:]...)
	with := func(change int) evidence.Path {
		var parts []GroupReturns
		for _, u := range folds {
			for _, p := range u.Parts {
				if p.Change == change {
					parts = append(parts, p)
				}
			}
		}
		returns, trades := joined(parts)
		return evidence.PathOf(returns, hold, x.main.perYear, trades)
	}
	base, fewer := with(0), with(few)
	r.WalkForward = &base
	for i, c := range x.changes[1:] {
		r.Perturbed = append(r.Perturbed, perturbation(c.kind, c.name, c.setting, with(i+1), base))
	}
	for i, u := range rest {
		if i < len(x.neighbours) {
			n := x.neighbours[i]
			r.Perturbed = append(r.Perturbed, x.retrained(u, evidence.PerturbParameter, n.Name, n.Setting, fewer))
			continue
		}
		symbol := x.in.Related[i-len(x.neighbours)].Symbol
		r.Perturbed = append(r.Perturbed, x.retrained(u, evidence.PerturbSymbol, symbol, "", base))
	}
}

// retrained compares the walk-forward of a unit.
func (x *Examination) retrained(u UnitResult, kind evidence.PerturbationKind, name, setting string,
	against evidence.Path,
) evidence.Perturbation {
	if u.Undefined != "" {
		return evidence.Perturbation{Kind: kind, Name: name, Setting: setting, Undefined: u.Undefined}
	}
	returns, trades := joined(u.Parts)
	s := evidence.EstimateSharpe(returns, x.main.perYear)
	return perturbation(kind, name, setting, evidence.Path{Sharpe: s.Ratio(), Trades: trades}, against)
}

// perturbation compares a changed walk-forward with the one that was not changed. One
// without a trade has earned nothing: its Sharpe ratio stays undefined and does not count as positive.
func perturbation(kind evidence.PerturbationKind, name, setting string, path, against evidence.Path) evidence.Perturbation {
	p := evidence.Perturbation{Kind: kind, Name: name, Setting: setting, Sharpe: path.Sharpe, Trades: path.Trades}
	if p.Sharpe != nil && against.Sharpe != nil && *against.Sharpe > 0 {
		p.Kept = new(*p.Sharpe / *against.Sharpe)
	}
	return p
}

// on is the strategy on another symbol.
func on(s *strategy.Strategy, symbol string) *strategy.Strategy {
	c := *s
	c.Data.Symbols = []string{symbol}
	parsed, _, err := strategy.Parse(c.YAML(), s.Name)
	if err != nil {
		return &c
	}
	return parsed
}
