package page

import (
	"context"
	"fmt"
	"html/template"
	"time"

	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
)

const seriesPoints = 400

// readPrices draws the closes of a series. They end where the holdout begins.
func (p *Pages) readPrices(ctx context.Context, in api.SeriesRequest) (template.HTML, error) {
	got, err := client.Call(ctx, p.lab, api.SeriesBars, api.BarsRequest{SeriesRequest: in, BarsQuery: jobs.BarsQuery{Points: seriesPoints}})
	if err != nil || len(got.Bars) < 2 {
		return "", err
	}
	return pricesOf(got), nil
}

func pricesOf(s jobs.SeriesBars) template.HTML {
	first, last := s.Bars[0].Time, s.Bars[len(s.Bars)-1].Time
	low, high, closes := s.Bars[0].Low, s.Bars[0].High, make([]chart.XY, len(s.Bars))
	for i, b := range s.Bars {
		low, high = min(low, b.Low), max(high, b.High)
		closes[i] = chart.XY{X: float64(b.Time.Unix()), Y: b.Close}
	}
	label := fmt.Sprintf("%s %s from %s to %s, between %s and %s", s.Symbol, s.Timeframe, first.Format(time.DateOnly),
		last.Format(time.DateOnly), price(low), price(high))
	return chart.Plot{
		Label: label, Unit: "close, log scale", Height: 240, Left: 6,
		X: chart.Scale{Min: float64(first.Unix()), Max: float64(last.Unix())}, Y: chart.Scale{Min: low, Max: high}.Logarithmic().Pad(0.04),
		XTicks: timeTicks(first, last), Layers: []chart.Layer{chart.Line{Points: closes, Class: "st"}},
	}.HTML()
}
