package page

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/report"
)

// thresholdFigures is how many markets have a figure; the others have a row.
const thresholdFigures = 3

// threshold is what the next look at the holdout of a market needs.
type threshold struct {
	Market, NeededP, Needed string
	Looks                   int
	Figure                  template.HTML // empty before the first look
}

// Needed is whether a figure shows what looks needed: there was a look.
func (n overview) Needed() bool {
	return slices.ContainsFunc(n.Next, func(t threshold) bool { return t.Figure != "" })
}

func thresholdsOf(s *report.Search) (rows []threshold) {
	for i, m := range s.Thresholds {
		row := threshold{Market: plain(m.Name), NeededP: significant(&m.NeededP), Needed: number(m.Needed, 2), Looks: m.Looks}
		if i < thresholdFigures {
			row.Figure = drawThreshold(&m)
		}
		rows = append(rows, row)
	}
	return rows
}

// drawThreshold draws what each look at a market needed and reached, and what the
// next one needs. A look without a Sharpe ratio was made by hand: it counts, and
// it has no mark.
func drawThreshold(m *report.MarketThreshold) template.HTML {
	if m.Needed == nil {
		return ""
	}
	n := len(m.Newest)
	plot := chart.Plot{
		Label: thresholdLabel(m), Unit: "Sharpe, holdout", X: chart.Scale{Min: 0, Max: float64(n + 1)}, Y: chart.Scale{Min: 0, Max: *m.Needed},
	}
	for _, l := range m.Newest {
		if l.Needed != nil {
			plot.Y = plot.Y.Include(*l.Needed).Include(*l.Sharpe)
		}
	}
	plot.Y = plot.Y.Pad(0.12)
	if plot.Y.Min > -0.9 {
		plot.Y.Min = 0
	}
	every := 1 + n/8
	plot.XTicks = []chart.Tick{{At: float64(n) + 0.5, Text: "next"}} // first: a narrow page drops every second
	for k, l := range m.Newest {
		if k%every == 0 && n-k >= every {
			plot.XTicks = append(plot.XTicks, chart.Tick{At: float64(k) + 0.5, Text: strconv.Itoa(l.Number)})
		}
		if l.Needed == nil {
			continue
		}
		plot.Layers = append(plot.Layers, neededBox(k, *l.Needed)...)
		class := "pt ring"
		if l.Claim {
			class = "pt k"
		}
		plot.Layers = append(plot.Layers, chart.Dots{Points: []chart.XY{{X: float64(k) + 0.5, Y: *l.Sharpe}}, Class: class, Radius: 4})
		if n < 8 {
			plot.Layers = append(plot.Layers, chart.Text{
				X: float64(k) + 0.5, Y: max(*l.Sharpe, *l.Needed), DY: -8, Text: chart.Number(*l.Sharpe, 1),
			})
		}
	}
	plot.Layers = append(plot.Layers, neededBox(n, *m.Needed)...)
	plot.Layers = append(plot.Layers, chart.Text{
		X: float64(n) + 0.5, Y: *m.Needed, DY: -8, Class: "i", Text: chart.Number(*m.Needed, 1),
	})
	return plot.HTML()
}

// neededBox is hatched up to what a look needs.
func neededBox(k int, needed float64) []chart.Layer {
	top := []chart.XY{{X: float64(k) + 0.2, Y: needed}, {X: float64(k) + 0.8, Y: needed}}
	return []chart.Layer{chart.Area{Points: top, Hatch: true}, chart.Line{Points: top, Class: "lu"}}
}

func thresholdLabel(m *report.MarketThreshold) string {
	text := []string{fmt.Sprintf("%s at the holdout of %s.", plural(m.Looks, "look"), plain(m.Name))}
	for _, l := range m.Newest {
		if l.Needed != nil {
			text = append(text, fmt.Sprintf("Look %d needed %s and reached %s.", l.Number, chart.Number(*l.Needed, 2), chart.Number(*l.Sharpe, 2)))
		}
	}
	return strings.Join(append(text, fmt.Sprintf("The next needs about %s.", chart.Number(*m.Needed, 2))), " ")
}
