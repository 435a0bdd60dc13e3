package examine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr/fuzzy"
	"github.com/ktrdr/ktrdr/strategy"
)

// lower and higher are one rung of a threshold: four fifths, and five quarters. One undoes
// the other.
const (
	lower  = 0.8
	higher = 1.25
)

// fuzzyNeighbours are the neighbours of the thresholds of each fuzzy variable that an input
// reads: all thresholds of the variable stand closer to their middle, or farther from it.
func fuzzyNeighbours(s *strategy.Strategy) (all [][]Neighbour) {
	for i := range s.FuzzySets {
		if !slices.ContainsFunc(s.Inputs, func(in strategy.Input) bool { return !in.IsRaw() && in.Set == i }) {
			continue
		}
		var two []Neighbour
		for _, by := range []float64{lower, higher} {
			if changed := stretched(s, i, by); changed != nil {
				name := s.FuzzySets[i].ID + " thresholds"
				two = append(two, Neighbour{fmt.Sprintf("%s x%v", name, by), name + " as they are", changed})
			}
		}
		all = append(all, two)
	}
	return all
}

// stretched moves the thresholds of a fuzzy variable; nil if that is not a strategy.
func stretched(s *strategy.Strategy, at int, by float64) *strategy.Strategy {
	c := *s
	c.FuzzySets = slices.Clone(s.FuzzySets)
	set := &c.FuzzySets[at]
	set.Members = slices.Clone(set.Members)
	middle := midpoint(set.Members)
	for i := range set.Members {
		m := set.Members[i].Membership
		p := m.Params()
		for k := range p {
			switch {
			case k == 1 && m.Shape() == fuzzy.Gaussian: // its width
				p[k] *= by
			case k == 1 && m.Shape() == fuzzy.Sigmoid: // how steep it is
				p[k] /= by
			default:
				p[k] = middle + float64(by*(p[k]-middle))
			}
		}
		moved, err := fuzzy.New(m.Shape(), p)
		if err != nil {
			return nil
		}
		set.Members[i].Membership = moved
	}
	return reread(&c)
}

// midpoint is half way between the lowest and the highest threshold.
func midpoint(members []strategy.Member) float64 {
	var at []float64
	for _, m := range members {
		p := m.Membership.Params()
		if s := m.Membership.Shape(); s == fuzzy.Gaussian || s == fuzzy.Sigmoid {
			p = p[:1]
		}
		at = append(at, p...)
	}
	if len(at) == 0 {
		return 0
	}
	return slices.Min(at)/2 + slices.Max(at)/2
}

// Decisions are the strategies of which one parameter of the decision or of the exit is one
// rung lower or higher. Their networks are those of the strategy.
func Decisions(s *strategy.Strategy) (list []Neighbour) {
	d, b := s.Decisions, s.Backtest
	change := func(name string, at float64, to []float64, set func(c *strategy.Strategy, to float64)) {
		for _, v := range to {
			c := *s
			set(&c, v)
			changed := reread(&c)
			if v == at || changed == nil {
				continue
			}
			was := name + " " + short(at)
			list = append(list, Neighbour{was + " -> " + short(v), was, changed})
		}
	}
	if classes := len(s.Training.Labels.Classes()); d.Output != strategy.Regression && classes > 0 {
		change("confidence_threshold", d.Confidence, confidences(d.Confidence, classes),
			func(c *strategy.Strategy, to float64) { c.Decisions.Confidence = to })
	}
	if d.Output == strategy.Regression {
		change("min_edge_multiplier", d.Cost.MinEdge, factors(d.Cost.MinEdge),
			func(c *strategy.Strategy, to float64) { c.Decisions.Cost.MinEdge = to })
	}
	if b.ExitAfter > 0 {
		change("exit_after", float64(b.ExitAfter), bars(b.ExitAfter), func(c *strategy.Strategy, to float64) { c.Backtest.ExitAfter = int(to) })
	}
	if bar := s.Data.Base.End(0); d.Separation > 0 && bar > 0 {
		n := int(math.Round(d.Separation.Seconds() / float64(bar)))
		change("min_signal_separation in bars", float64(n), bars(n), func(c *strategy.Strategy, to float64) {
			c.Decisions.Separation = time.Duration(to) * time.Duration(bar) * time.Second
		})
	}
	if b.StopLoss > 0 {
		change("stop_loss", b.StopLoss, factors(b.StopLoss), func(c *strategy.Strategy, to float64) { c.Backtest.StopLoss = to })
	}
	if b.TakeProfit > 0 {
		change("take_profit", b.TakeProfit, factors(b.TakeProfit), func(c *strategy.Strategy, to float64) { c.Backtest.TakeProfit = to })
	}
	return list
}

// chance is what a network says of each class that knows nothing.
func chance(classes int) float64 { return 1 / float64(classes) }

// confidences are the thresholds one rung below and above one. What counts of a
// threshold is how far it is above chance, so that is what moves, by a hundredth at least.
func confidences(at float64, classes int) []float64 {
	step := max(float64((at-chance(classes))/4), 0.01)
	return []float64{max(at-step, 0), min(at+step, 1)}
}

func factors(at float64) []float64 { return []float64{at * lower, at * higher} }

func bars(at int) []float64 {
	r := rungs(at)
	return []float64{float64(max(r[0], 1)), float64(r[1])}
}

// short is a number with at most four digits.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
