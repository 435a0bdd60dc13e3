package page

import (
	"fmt"
	"html/template"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/report"
)

const (
	bestHeight = 300
	mostDots   = 600 // of a figure; more are not told apart
)

// bestSoFar draws each trial, the best so far, and what the best of as many
// trials shows by luck.
func bestSoFar(s *report.Search) template.HTML {
	n := max(s.Funnel.Tried, 20)
	y := chart.Scale{Min: -1, Max: 2}
	var trials, finalists, claims []chart.XY
	var best []chart.XY
	top := 0.0
	for _, t := range s.Trials {
		at := chart.XY{X: float64(t.N), Y: t.Sharpe}
		y = y.Include(t.Sharpe)
		switch {
		case t.Claim:
			claims = append(claims, at)
		case t.Finalist:
			finalists = append(finalists, at)
		default:
			trials = append(trials, at)
		}
		if len(best) == 0 || t.Sharpe > top {
			top = t.Sharpe
			best = append(best, at)
		}
	}
	luck := luckCurve(s, n)
	for _, p := range luck {
		y = y.Include(p.Y)
	}
	if s.Low > 0 {
		y = y.Include(report.LowSharpe)
	}
	plot := chart.Plot{
		Label: bestLabel(s), Unit: "Sharpe, test part", Height: bestHeight, X: chart.Scale{Min: 1, Max: float64(n)}, Y: y.Pad(0.03),
		XTicks: []chart.Tick{{At: 1, Text: "trial 1", Edge: -1}},
	}
	for _, t := range chart.Numbers(plot.X.Ticks(5)) {
		if share := plot.X.At(t.At); share > 0.12 && share < 0.9 {
			plot.XTicks = append(plot.XTicks, t)
		}
	}
	plot.XTicks = append(plot.XTicks, chart.Tick{At: float64(n), Text: count(n), Edge: 1})
	plot.Layers = append(plot.Layers,
		chart.Area{Points: luck, Hatch: true},
		chart.Line{Points: luck, Class: "lu"},
		chart.Dots{Points: chart.Downsample(trials, mostDots), Class: "pt"},
	)
	bestAt, luckAt := 16.0, -8.0 // the label of the lower line stands below it
	if len(luck) == 0 || top > luck[len(luck)-1].Y {
		bestAt, luckAt = luckAt, bestAt
	}
	if len(best) > 0 {
		best = append(best, chart.XY{X: float64(s.Funnel.Tried), Y: top})
		plot.Layers = append(plot.Layers, chart.Line{Points: best, Class: "st", Step: true},
			chart.Text{X: float64(s.Funnel.Tried), Y: top, DX: -6, DY: bestAt, Edge: 1, Class: "k", Text: "best so far: " + chart.Number(top, 2)})
	}
	plot.Layers = append(plot.Layers, chart.Dots{Points: finalists, Class: "pt ring", Radius: 3.5},
		chart.Dots{Points: claims, Class: "pt k", Radius: 4})
	if len(luck) > 0 {
		last, reached := luck[len(luck)-1], s.LuckAt(s.Funnel.Tried) // the axis may be longer than the trials
		if s.Luck != nil {
			reached = *s.Luck
		}
		plot.Layers = append(plot.Layers, chart.Text{
			X: last.X, Y: last.Y, DX: -6, DY: luckAt, Edge: 1, Class: "i", Text: "luck alone: " + chart.Number(reached, 2),
		})
	}
	if s.Low > 0 {
		plot.Layers = append(plot.Layers, chart.Text{
			X: 1, Y: plot.Y.Min, DX: 6, DY: -6, Edge: -1, Text: fmt.Sprintf("↓ %d below %s", s.Low, chart.Number(report.LowSharpe, 0)),
		})
	}
	return plot.HTML()
}

// luckCurve is what the best of 1 to n trials shows by luck, at about a hundred
// places.
func luckCurve(s *report.Search, n int) []chart.XY {
	if s.StandardError == nil {
		return nil
	}
	var curve []chart.XY
	for i := 1; i < n; i += 1 + i/12 {
		curve = append(curve, chart.XY{X: float64(i), Y: s.LuckAt(i)})
	}
	return append(curve, chart.XY{X: float64(n), Y: s.LuckAt(n)})
}

func bestLabel(s *report.Search) string {
	text := plural(s.Funnel.Tried, "trial") + "."
	if s.Best != nil {
		text += fmt.Sprintf(" Best test Sharpe so far %s at trial %d.", chart.Number(s.Best.Sharpe, 2), s.Best.N)
	}
	if s.Luck != nil {
		text += fmt.Sprintf(" Luck alone reaches %s.", chart.Number(*s.Luck, 2))
	}
	return text
}
