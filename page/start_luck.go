package page

import (
	"html/template"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
)

// luckOf draws what luck reaches on a market, now and after a request.
func luckOf(p *research.Preview) template.HTML {
	unit := 1.0
	if p.StandardError != nil {
		unit = *p.StandardError
	}
	return luckFigure(unit, p.Trials, p.TrialsAfter)
}

// luckFigure draws what the best of 1 to n trials shows by luck, in units of a
// standard error, and marks the trials there are and those there will be.
func luckFigure(unit float64, now, after int) template.HTML {
	n := max(after+after/4, 200)
	luck := func(n int) chart.XY { return chart.XY{X: float64(n), Y: evidence.BestByLuck(n) * unit} }
	var curve []chart.XY
	for i := 1; i < n; i += 1 + i/12 {
		curve = append(curve, luck(i))
	}
	curve = append(curve, luck(n))
	plot := chart.Plot{
		Label: "What luck alone reaches by number of trials", Unit: "Sharpe", Height: 240, X: chart.Scale{Min: 1, Max: float64(n)},
		Y:      chart.Scale{Min: 0, Max: luck(n).Y * 1.1},
		XTicks: []chart.Tick{{At: 1, Text: "trial 1", Edge: -1}, {At: float64(n), Text: count(n), Edge: 1}},
		Layers: []chart.Layer{
			chart.Area{Points: curve, Hatch: true},
			chart.Line{Points: curve, Class: "lu"},
			chart.Text{X: float64(n), Y: luck(n).Y, DX: -6, DY: 18, Edge: 1, Class: "i", Text: "what luck alone reaches"},
		},
	}
	if unit == 1 {
		plot.Unit = "Sharpe, in standard errors"
	}
	for _, t := range chart.Numbers(plot.X.Ticks(5)) {
		if share := plot.X.At(t.At); share > 0.12 && share < 0.9 {
			plot.XTicks = append(plot.XTicks, t)
		}
	}
	plot.Layers = append(plot.Layers, luckMarks(luck(max(now, 1)), luck(after), after > now)...)
	return plot.HTML()
}

// luckMarks are the points of now and of afterwards. The first trial alone changes nothing:
// one point is both.
func luckMarks(now, then chart.XY, more bool) []chart.Layer {
	mark := chart.Dots{Points: []chart.XY{then}, Class: "pt k", Radius: 4}
	switch {
	case !more:
		return nil
	case now == then:
		return []chart.Layer{luckMark(then, "now and afterwards", -1, -9), mark}
	}
	return []chart.Layer{
		luckMark(now, "now", 1, -9), luckMark(then, "afterwards", -1, 18),
		chart.Dots{Points: []chart.XY{now}, Class: "pt ring", Radius: 3.5},
		mark,
	}
}

// luckMark names a point beside it.
func luckMark(at chart.XY, name string, edge int, down float64) chart.Layer {
	return chart.Text{X: at.X, Y: at.Y, DX: -7 * float64(edge), DY: down, Edge: edge, Class: "k", Text: name + " " + chart.Number(at.Y, 2)}
}
