package page

import (
	"context"
	"fmt"

	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
)

// fuzzySets are the memberships of a strategy.
type fuzzySets struct {
	At      string
	Figures []figure
}

func (p *Pages) readFuzzy(ctx context.Context, d *details) (any, error) {
	ask := api.InputsRequest{ByID: api.ByID{ID: d.training}, InputsQuery: jobs.InputsQuery{Limit: 1}}
	in, err := client.Call(ctx, p.lab, api.GetInputs, ask)
	if err != nil {
		return nil, err
	}
	f := fuzzySets{At: d.at()}
	for _, set := range in.Sets {
		title := set.ID
		if set.Timeframe != in.Timeframe {
			title += " " + string(set.Timeframe)
		}
		f.Figures = append(f.Figures, figure{
			ID: "set-" + set.ID + "-" + string(set.Timeframe), Title: title, Note: noteOf(set),
			Chart: shapesOf(set).HTML(),
		})
	}
	return f, nil
}

func noteOf(set jobs.FuzzyInput) string {
	if len(set.Members) == 0 {
		return set.Indicator + "; read as it is; grey: distribution in the test part"
	}
	return set.Indicator + "; grey: distribution in the test part"
}

// shapesOf draws memberships above the distribution of the indicator.
func shapesOf(set jobs.FuzzyInput) chart.Plot {
	x := chart.Scale{Min: set.Low, Max: set.High}
	p := chart.Plot{
		Label: fmt.Sprintf("Fuzzy set %s with %s.", set.ID, plural(len(set.Members), "membership")), Unit: "membership", Height: 130,
		X: x, Y: chart.Scale{Max: 1.08}, XTicks: inside(chart.Numbers(x.Ticks(5)), x), YTicks: chart.Numbers([]float64{0, 0.5, 1}),
	}
	if len(set.Members) == 0 {
		p.Label, p.Unit, p.YTicks = "How often the test part has each value of "+set.ID+".", "bars", []chart.Tick{}
	}
	most := 1
	for _, n := range set.Counts {
		most = max(most, n)
	}
	h := chart.Histogram{Class: func(int) string { return "of" }}
	for i, n := range set.Counts {
		step := (set.High - set.Low) / float64(len(set.Counts))
		h.From, h.To = append(h.From, set.Low+step*float64(i)), append(h.To, set.Low+step*float64(i+1))
		h.Y = append(h.Y, 0.5*float64(n)/float64(most))
	}
	p.Layers = append(p.Layers, h)
	for k, m := range set.Members {
		class := fmt.Sprintf("f%d", k%5+1)
		points := make([]chart.XY, len(m.Curve))
		top := 0
		for i, y := range m.Curve {
			points[i] = chart.XY{X: set.Low + (set.High-set.Low)*float64(i)/float64(len(m.Curve)-1), Y: y}
			if y > m.Curve[top] {
				top = i
			}
		}
		edge := 0
		if share := x.At(points[top].X); share < 0.08 {
			edge = -1
		} else if share > 0.92 {
			edge = 1
		}
		p.Layers = append(p.Layers, chart.Line{Points: points, Class: "fs " + class},
			chart.Text{X: points[top].X, Y: 1, DY: -8, Edge: edge, Class: "i", Text: m.Name})
	}
	return p
}
