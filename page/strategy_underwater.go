package page

import (
	"fmt"
	"html/template"

	"github.com/ktrdr/ktrdr/chart"
)

// drawUnderwater draws the drawdowns of the parts, as far as x shows them.
func drawUnderwater(parts []stretch, sealed *stretch, x chart.Scale) template.HTML {
	y := chart.Scale{Min: -0.01, Max: 0}
	plot := chart.Plot{Unit: "drawdown", Height: 76, Left: 5, X: x, XTicks: years(x)}
	var areas []chart.Layer
	var shown []stretch
	deepest := 0.0
	for _, p := range parts {
		class := "uw"
		if p.faint {
			class = "uw w"
		}
		depth := between(depths(p.account), x)
		if len(depth) == 0 {
			continue
		}
		for _, v := range depth {
			y = y.Include(v.Y)
			if !p.faint {
				deepest = min(deepest, v.Y)
			}
		}
		areas = append(areas, chart.Area{Points: chart.Downsample(depth, mostPoints), Class: class})
		p.from, p.to = max(p.from, x.Min), min(p.to, x.Max)
		shown = append(shown, p)
	}
	if sealed != nil {
		if part := *sealed; part.from < x.Max {
			part.from, part.to = max(part.from, x.Min), min(part.to, x.Max)
			shown = append(shown, part)
		}
	}
	plot.Layers = append(zones(shown, nil, false), areas...)
	plot.Y = y
	plot.YTicks = percentTicks(y.Ticks(3))
	plot.Label = fmt.Sprintf("Deepest drawdown by days %s.", share(&deepest))
	return plot.HTML()
}

// depths are how far an account is below its highest value until then.
func depths(account []chart.XY) []chart.XY {
	peak, depth := 1.0, make([]chart.XY, len(account))
	for i, v := range account {
		peak = max(peak, v.Y)
		depth[i] = chart.XY{X: v.X, Y: v.Y/peak - 1}
	}
	return depth
}

// between is a line as far as x shows it, cut at its ends.
func between(line []chart.XY, x chart.Scale) (cut []chart.XY) {
	edge := func(at float64) {
		if v := valueAt(line, at); v != nil && (len(cut) == 0 || cut[len(cut)-1].X < at) {
			cut = append(cut, chart.XY{X: at, Y: *v})
		}
	}
	edge(x.Min)
	for _, v := range line {
		if v.X > x.Min && v.X < x.Max {
			cut = append(cut, v)
		}
	}
	edge(x.Max)
	return cut
}
