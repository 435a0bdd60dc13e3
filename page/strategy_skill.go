package page

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/evidence"
)

// skill draws the Sharpe ratios beside what luck shows.
func (f *facts) skill() []figure {
	var list []figure
	if g := f.assessment.Figures; g != nil && g.Test.Sharpe.Annualized != nil && g.Test.Sharpe.AnnualizedError != nil {
		list = append(list, figure{
			ID: "skill", Title: "Skill beside luck, test part", Note: "Sharpe ratio per year",
			Chart: density{
				best: g.Trials, value: *g.Test.Sharpe.Annualized, unit: *g.Test.Sharpe.AnnualizedError,
				line:  evidence.BestByLuck(g.Trials) * *g.Test.Sharpe.AnnualizedError,
				label: fmt.Sprintf("best of %s by luck: ", count(g.Trials)),
			}.draw().HTML(),
		})
	}
	if needed := f.needed(); needed != nil && f.look.Look.Holdout.Sharpe.Annualized != nil {
		h := f.look.Look.Holdout.Sharpe
		list = append(list, figure{
			ID: "skill-holdout", Title: "Skill beside luck, holdout", Note: "each holdout look raises the bar",
			Chart: density{
				best: 1, value: *h.Annualized, unit: *h.AnnualizedError, line: *needed, label: "needed: ", about: "one strategy without an edge",
			}.draw().HTML(),
		})
	}
	return list
}

// density is how often the best of some strategies without an edge shows a
// Sharpe ratio, and where a strategy lies.
type density struct {
	best  int     // of how many
	value float64 // of this strategy
	unit  float64 // the standard error
	line  float64 // what luck reaches, or what is needed
	label string  // of the line
	about string  // beside the curve
}

// at is the density of the best of n standard normal numbers.
func (d density) at(z float64) float64 {
	n := float64(max(d.best, 1))
	return n * math.Exp(-z*z/2) * math.Pow(evidence.NormCDF(z), n-1)
}

func (d density) draw() chart.Plot {
	middle := evidence.BestByLuck(d.best)
	x := chart.Scale{Min: (middle - 3.2) * d.unit, Max: (middle + 3.2) * d.unit}
	x = x.Include(d.value - d.unit).Include(d.value + d.unit).Include(d.line).Pad(0.04)
	var curve []chart.XY
	top := 0.0
	for i := range 81 {
		z := middle - 3.5 + 7*float64(i)/80
		y := d.at(z)
		top = max(top, y)
		curve = append(curve, chart.XY{X: z * d.unit, Y: y})
	}
	p := chart.Plot{
		Label: fmt.Sprintf("Sharpe ratio of this strategy %s, standard error %s. %s%s.", chart.Number(d.value, 2), chart.Number(d.unit, 2),
			capital(d.label), chart.Number(d.line, 2)),
		Height: 140, Left: 3, X: x, Y: chart.Scale{Min: 0, Max: top * 1.35}, XTicks: inside(chart.Numbers(x.Ticks(6)), x), YTicks: []chart.Tick{},
	}
	edge := 1
	if x.At(d.line) < 0.5 {
		edge = -1
	}
	mine := 0
	if at := x.At(d.value); at < 0.2 {
		mine = -1
	} else if at > 0.8 {
		mine = 1
	}
	low := top * 0.42
	p.Layers = []chart.Layer{
		chart.Area{Points: curve, Hatch: true},
		chart.Line{Points: curve, Class: "mk"},
		chart.Vertical{X: d.line, Class: "lu"},
		chart.Text{X: d.line, Y: top * 1.3, DX: float64(-6 * edge), DY: 4, Edge: edge, Class: "i", Text: d.label + chart.Number(d.line, 2)},
		chart.Horizontal{From: d.value - d.unit, To: d.value + d.unit, Y: low, Class: "wh"},
		chart.Dots{Points: []chart.XY{{X: d.value, Y: low}}, Class: "pt k", Radius: 4},
		chart.Text{
			X: d.value, Y: low, DY: -10, Edge: mine, Class: "k",
			Text: fmt.Sprintf("this strategy: %s ± %s", chart.Number(d.value, 2), chart.Number(d.unit, 2)),
		},
	}
	if d.about != "" {
		p.Layers = append(p.Layers, chart.Text{X: middle * d.unit, Y: 0, DY: -6, Class: "", Text: d.about})
	}
	return p
}

// notes are what a reader should know before trusting the figures.
func (f *facts) notes() []string {
	var notes []string
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if f.trial != nil && f.trial.MadeUp != nil && *f.trial.MadeUp {
		say("The prices are made up. An edge here says nothing of a real market.")
	}
	if t := f.training; t != nil && t.Test != nil {
		if t.Test.ClassMetrics != nil {
			for _, c := range t.Test.Classes {
				if c.Predicted == 0 && c.Samples > 0 {
					say("The model never answers %s on the test part.", c.Name)
				}
			}
		}
		reached, base, where := fineShare(t.Test.Accuracy), fineShare(t.Test.BaselineAccuracy), "above"
		switch {
		case reached == base:
			where = "equal to"
		case t.Test.Accuracy < t.Test.BaselineAccuracy:
			where = "below"
		}
		say("Test accuracy %s is %s the majority-class baseline, %s.", reached, where, base)
	}
	if b := f.backtest; b != nil {
		m := b.Metrics
		if m.LosingTrades > 0 && m.AvgWin != nil && m.LargestLoss != nil && *m.AvgWin > 0 && -*m.LargestLoss > 10**m.AvgWin {
			say("The largest loss is %.0f times the average win. A win rate of %s says little here.", -*m.LargestLoss / *m.AvgWin, share(m.WinRate))
		}
	}
	for _, c := range f.result.Costs {
		if c.BelowDefault {
			say("The costs of %s are below the default of its asset class.", c.Symbol)
		}
	}
	if a := f.assessment; a != nil && a.Figures != nil && f.trial != nil && f.trial.MarketTrials > a.Figures.Trials {
		say("The verdict counted %s. The ledger holds %s now; a new look would count them all.",
			plural(a.Figures.Trials, "trial"), count(f.trial.MarketTrials))
	}
	for _, text := range f.result.Instead {
		say("%s", plain(text))
	}
	for _, text := range f.result.Warnings {
		say("%s", plain(text))
	}
	for _, s := range f.result.Data {
		say("Data: %s.", plain(s.String()))
	}
	return notes
}
