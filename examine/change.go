package examine

import (
	"cmp"
	"fmt"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// change is one thing that a walk-forward is traded with otherwise. The networks are those
// of the walk-forward: nothing is trained again.
type change struct {
	kind    evidence.PerturbationKind
	name    string
	setting string             // see evidence.Perturbation
	factor  float64            // of the costs; 0 means 1
	late    int                // bars by which every order is later
	draw    int                // of the noise, from 1; 0 means none
	as      *strategy.Strategy // decides and leaves positions as this does; nil: as the finalist
}

// noise is the deviation of the factor by which the prices of a bar are multiplied, in
// deviations of the return of a bar.
const noise = 0.1

const draws = 3

// changes lists what is changed of a strategy; the first is nothing.
func changes(s *strategy.Strategy) []change {
	const paid = "the costs that it paid"
	list := []change{
		{},
		{kind: evidence.PerturbCosts, name: "costs x1.5", setting: paid, factor: 1.5},
		{kind: evidence.PerturbCosts, name: "costs x2", setting: paid, factor: 2},
		{kind: evidence.PerturbLate, name: "orders one bar late", setting: "orders filled at the next open", late: 1},
	}
	for d := range draws {
		list = append(list, change{
			kind: evidence.PerturbNoise, name: fmt.Sprintf("noise on prices, draw %d", d+1), setting: "prices without noise", draw: d + 1,
		})
	}
	for _, n := range Decisions(s) {
		list = append(list, change{kind: evidence.PerturbDecision, name: n.Name, setting: n.Setting, as: n.Strategy})
	}
	return list
}

// of is the strategy that decides.
func (c change) of(s *strategy.Strategy) *strategy.Strategy { return cmp.Or(c.as, s) }

func (c change) costs(cfg backtest.Config) backtest.Config {
	if c.factor != 0 {
		cfg.Commission *= c.factor
		cfg.Slippage *= c.factor
		cfg.Spread *= c.factor
	}
	return cfg
}

// delayed moves every signal to later bars. Stops and targets are not delayed.
func (c change) delayed(s []backtest.Signal) []backtest.Signal {
	if c.late == 0 {
		return s
	}
	moved := make([]backtest.Signal, len(s))
	copy(moved[min(c.late, len(s)):], s)
	return moved
}

// noisy are bars whose prices are a little off: the four prices of each bar are multiplied
// by one factor, so that a bar stays a bar. Bars of context symbols stay as they are.
func noisy(data []train.Series, seed uint64) []train.Series {
	out := make([]train.Series, len(data))
	for i, d := range data {
		out[i].Symbol, out[i].Context = d.Symbol, d.Context
		for j, b := range d.Bars {
			out[i].Bars = append(out[i].Bars, shaken(b, num.NewRand(num.Mix(seed, uint64(i), uint64(j)))))
		}
	}
	return out
}

func shaken(b *market.Bars, r *num.Rand) *market.Bars {
	size := float64(noise * deviation(b.Close))
	o := *b
	o.Open, o.High = make([]float64, b.Len()), make([]float64, b.Len())
	o.Low, o.Close = make([]float64, b.Len()), make([]float64, b.Len())
	for i := range b.Close {
		f := 1 + float64(size*r.Norm())
		if f < 0.5 {
			f = 0.5 // prices stay above 0
		}
		o.Open[i], o.High[i], o.Low[i], o.Close[i] = b.Open[i]*f, b.High[i]*f, b.Low[i]*f, b.Close[i]*f
	}
	return &o
}

// deviation is that of the returns from close to close.
func deviation(prices []float64) float64 {
	returns := evidence.Returns(prices)
	if len(returns) < 2 {
		return 0
	}
	m := num.Moments{Mean: num.Sum(returns) / float64(len(returns))}
	for _, x := range returns {
		m.Add(x)
	}
	return m.Deviation()
}
