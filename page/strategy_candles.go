package page

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/jobs"
)

// drawCandles draws bars with the trades on them, and what the network read below.
func drawCandles(d *details, in jobs.Inputs, trades []jobs.Trade, number, all int) candles {
	c := candles{At: d.at(), Title: in.Symbol + " " + string(in.Timeframe)}
	if len(in.Bars) == 0 {
		c.Note = "no bars"
		return c
	}
	c.Zoom = d.at() + "/bars.json?symbol=" + url.QueryEscape(in.Symbol) + "&"
	c.First, c.Last = in.Bars[0].Time, in.Bars[len(in.Bars)-1].Time
	link := func(n int) string { return fmt.Sprintf("%s/candles?trade=%d", d.at(), n) }
	if number > 1 {
		c.Previous = link(number - 1)
	}
	if number < all {
		c.Next = link(number + 1)
	}
	x := chart.Scale{Min: -0.5, Max: float64(len(in.Bars)) - 0.5}
	layers := []chart.Layer{chart.Candles{Bars: candleBars(in.Bars)}}
	shown := 0
	first, latest := 0, 0
	for _, t := range trades {
		if t.Symbol != "" && t.Symbol != in.Symbol || !overlaps(in.Bars, t) {
			continue
		}
		layers = append(layers, chart.Held{
			From: placeOf(in.Bars, t.EntryTime), To: placeOf(in.Bars, t.ExitTime), Entry: t.EntryPrice, Exit: t.ExitPrice,
			Long: t.Side == "long", Won: t.Net > 0, Chosen: t.Number == number,
		})
		if shown++; first == 0 {
			first = t.Number
		}
		latest = t.Number
	}
	low, high := priceRange(in.Bars)
	y := chart.Scale{Min: low, Max: high}.Logarithmic().Pad(0.05)
	c.Note = fmt.Sprintf("trade %d of %s", number, count(all))
	if shown > 1 {
		c.Note = fmt.Sprintf("trades %d to %d of %s", first, latest, count(all))
	}
	c.Chart = chart.Plot{
		Label: fmt.Sprintf("%s of %s with %s.", plural(len(in.Bars), "bar"), c.Title, plural(shown, "trade")), Unit: "price, log scale",
		Height: 300, Left: 6, X: x, Y: y, XTicks: barTicks(in.Bars, x), Layers: layers,
	}.HTML()
	for _, set := range in.Sets {
		c.Sets = append(c.Sets, candleSet{Name: set.ID, Indicator: set.Indicator, Chart: lanesOf(set, x)})
	}
	return c
}

func candleBars(rows []jobs.BarRow) []chart.Candle {
	list := make([]chart.Candle, len(rows))
	for i, b := range rows {
		list[i] = chart.Candle{Open: b.Open, High: b.High, Low: b.Low, Close: b.Close}
	}
	return list
}

func priceRange(rows []jobs.BarRow) (low, high float64) {
	low, high = rows[0].Low, rows[0].High
	for _, b := range rows {
		low, high = min(low, b.Low), max(high, b.High)
	}
	return low, high
}

func overlaps(rows []jobs.BarRow, t jobs.Trade) bool {
	return !t.ExitTime.Before(rows[0].Time) && !t.EntryTime.After(rows[len(rows)-1].Time)
}

// placeOf is the index of the bar of an instant, outside the window for one that is
// not in it.
func placeOf(rows []jobs.BarRow, at time.Time) float64 {
	if at.Before(rows[0].Time) {
		return -1
	}
	i, _ := slices.BinarySearchFunc(rows, at, func(b jobs.BarRow, at time.Time) int { return b.Time.Compare(at) })
	return float64(i)
}

// barTicks are about six days, or hours, of the window.
func barTicks(rows []jobs.BarRow, x chart.Scale) []chart.Tick {
	layout := "2 Jan"
	if rows[len(rows)-1].Time.Sub(rows[0].Time) < 48*time.Hour {
		layout = "2 Jan 15:04"
	}
	if rows[len(rows)-1].Time.Sub(rows[0].Time) > 400*24*time.Hour {
		layout = "Jan 2006"
	}
	var ticks []chart.Tick
	for k := range 7 {
		i := k * (len(rows) - 1) / 6
		t := chart.Tick{At: float64(i), Text: rows[i].Time.UTC().Format(layout)}
		switch k {
		case 0:
			t.Edge = -1
		case 6:
			t.Edge = 1
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// lanesOf draws one lane for each membership of a fuzzy set, from 0 to 1.
func lanesOf(set jobs.FuzzyInput, x chart.Scale) template.HTML {
	if len(set.Members) == 0 {
		return valuesOf(set, x)
	}
	n := float64(len(set.Members))
	p := chart.Plot{
		Label: "Memberships of " + set.ID + ".", Height: 20 * len(set.Members), Left: 6, X: x, Y: chart.Scale{Max: n}, YTicks: []chart.Tick{},
	}
	for k, m := range set.Members {
		base := n - float64(k) - 1
		p.YTicks = append(p.YTicks, chart.Tick{At: base + 0.25, Text: m.Name})
		var points []chart.XY
		for i, v := range m.Values {
			y := base
			if v != nil {
				y += 0.9 * *v
			}
			points = append(points, chart.XY{X: float64(i), Y: y})
		}
		p.Layers = append(p.Layers, chart.Area{Points: points, Base: base, Class: "mb"})
	}
	return p.HTML()
}

// valuesOf draws an indicator that the network reads as it is.
func valuesOf(set jobs.FuzzyInput, x chart.Scale) template.HTML {
	var values []float64
	var points []chart.XY
	for i, v := range set.Values {
		if v != nil {
			values = append(values, *v)
			points = append(points, chart.XY{X: float64(i), Y: *v})
		}
	}
	y := chart.Fit(values).Pad(0.05)
	return chart.Plot{
		Label: "Values of " + set.ID + ".", Height: 60, Left: 6, X: x, Y: y, YTicks: chart.Numbers(y.Ticks(2)),
		Layers: []chart.Layer{chart.Line{Points: points, Class: "st"}},
	}.HTML()
}
