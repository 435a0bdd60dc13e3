package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/jobs"
)

// months is the table of monthly returns, in percent.
type months struct {
	Note string
	Rows []monthRow
}

type monthRow struct {
	Year  string
	Cells []monthCell
	Total string
}

type monthCell struct{ Text, Class string }

func monthNames() []string {
	return []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
}

// months makes the table from the returns of the days. A holdout has rows of its
// own, and only after a look.
func (f *facts) months() *months {
	if f.backtest == nil {
		return nil
	}
	t := &months{Note: "%, test part, net of costs", Rows: monthRows(f.backtest.Daily, "")}
	if f.look != nil {
		if opened := monthRows(f.look.Daily, " holdout"); opened != nil {
			t.Note, t.Rows = "%, test part and holdout, net of costs", append(t.Rows, opened...)
		}
	}
	if t.Rows == nil {
		return nil
	}
	return t
}

// monthRows are the years of the returns of days, with a word after the number of
// each year.
func monthRows(daily *jobs.Daily, word string) (rows []monthRow) {
	if daily == nil {
		return nil
	}
	days, err := daily.List()
	if err != nil || len(days) == 0 {
		return nil
	}
	type year struct {
		month [12]float64
		has   [12]bool
		all   float64
	}
	found := map[int]*year{}
	first, latest := days[0].Day.Year(), days[len(days)-1].Day.Year()
	largest := 0.0
	for _, d := range days {
		y := found[d.Day.Year()]
		if y == nil {
			y = &year{all: 1}
			for m := range y.month {
				y.month[m] = 1
			}
			found[d.Day.Year()] = y
		}
		m := d.Day.Month() - 1
		y.month[m] *= 1 + float64(d.Return)
		y.has[m], y.all = true, y.all*(1+float64(d.Return))
	}
	for _, y := range found {
		for m, has := range y.has {
			if has {
				largest = max(largest, math.Abs(y.month[m]-1))
			}
		}
	}
	for at := first; at <= latest; at++ {
		y := found[at]
		if y == nil {
			continue
		}
		row := monthRow{Year: strconv.Itoa(at) + word, Total: inPercent(y.all - 1)}
		for m, has := range y.has {
			c := monthCell{}
			if has {
				c = monthCell{inPercent(y.month[m] - 1), tint(y.month[m]-1, largest)}
			}
			row.Cells = append(row.Cells, c)
		}
		rows = append(rows, row)
	}
	return rows
}

// inPercent writes a fraction in percent, without the unit.
func inPercent(v float64) string {
	v *= 100
	return signed(&v, 1)
}

// tint is the class of a cell: hp for gains and hn for losses, in four steps by size.
func tint(v, largest float64) string {
	if largest == 0 || v == 0 {
		return ""
	}
	level := min(int(math.Abs(v)/largest*4), 3)
	if v < 0 {
		return fmt.Sprintf("hn h%d", level)
	}
	return fmt.Sprintf("hp h%d", level)
}

// returns is the distribution of the daily returns. The outermost one percent on
// each side is counted at the edges.
func (f *facts) returns() *figure {
	if f.backtest == nil || f.backtest.Daily == nil {
		return nil
	}
	days, err := f.backtest.Daily.List()
	if err != nil || len(days) < 20 {
		return nil
	}
	values := make([]float64, len(days))
	sum := 0.0
	for i, d := range days {
		values[i] = float64(d.Return)
		sum += values[i]
	}
	slices.Sort(values)
	worst, median := values[0], values[len(values)/2]
	reach := max(-values[len(values)/100], values[len(values)-1-len(values)/100])
	if reach <= 0 {
		return nil
	}
	const bins = 40
	counts := make([]float64, bins)
	below, above, top := 0, 0, 0.0
	for _, v := range values {
		at := int(math.Floor((v + reach) / (2 * reach) * bins))
		switch {
		case v < -reach:
			below++
		case v > reach:
			above++
		default:
			at = min(at, bins-1)
			counts[at]++
			top = max(top, counts[at])
		}
	}
	h := chart.Histogram{Y: counts, Class: func(i int) string {
		if i < bins/2 {
			return "los"
		}
		return "bar"
	}}
	for i := range bins {
		h.From = append(h.From, -reach+2*reach*float64(i)/bins+reach*0.004)
		h.To = append(h.To, -reach+2*reach*float64(i+1)/bins-reach*0.004)
	}
	mean := sum / float64(len(values))
	plot := chart.Plot{
		Unit: "days", Height: 150, X: chart.Scale{Min: -reach, Max: reach}, Y: chart.Scale{Max: top * 1.1},
		Label: fmt.Sprintf("Distribution of %s: mean %s, median %s, worst %s.", plural(len(days), "daily return"),
			fine(mean), fine(median), fine(worst)),
		Layers: []chart.Layer{chart.Vertical{X: 0, Class: "g0"}, h},
	}
	plot.XTicks = inside(percentTicks(plot.X.Ticks(5)), plot.X)
	outside := func(x float64, edge, n int, class, text string) {
		if n > 0 {
			plot.Layers = append(plot.Layers, chart.Text{X: x, Y: top, Edge: edge, Class: class, Text: fmt.Sprintf(text, n)})
		}
	}
	outside(-reach, -1, below, "neg", "← %d below")
	outside(reach, 1, above, "k", "%d above →")
	return &figure{
		ID: "returns", Title: "Daily returns", Chart: plot.HTML(),
		Note: fmt.Sprintf("%s, mean %s, median %s, worst %s", plural(len(days), "day"), fine(mean), fine(median), fine(worst)),
	}
}

// fine writes a small fraction in percent with two decimals.
func fine(v float64) string {
	v *= 100
	return signed(&v, 2) + " %"
}

// fineShare writes a share in percent with two decimals.
func fineShare(v float64) string { return chart.Number(100*v, 2) + " %" }
