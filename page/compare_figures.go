package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
)

const daysOfAYear = 365.25

// growth is an equity curve that starts at 1 on the day before the first return.
func growth(returns []jobs.Point) []chart.XY {
	if len(returns) == 0 {
		return nil
	}
	value := 1.0
	points := []chart.XY{{X: float64(returns[0].Time.AddDate(0, 0, -1).Unix()), Y: 1}}
	for _, r := range returns {
		value *= 1 + r.Value
		points = append(points, chart.XY{X: float64(r.Time.Unix()), Y: value})
	}
	return points
}

// curve is what a strategy did on one part.
type curve struct {
	i      int // of the strategy
	points []chart.XY
	claim  bool
}

// compareEquity draws the equity of each strategy. Each part starts at 1. The
// holdout of a strategy is drawn only if it was opened.
func compareEquity(c *report.Compared, q compareQuery) (template.HTML, string) {
	const most = 300 // points of a curve
	var test, holdout []curve
	missingDays := 0
	for i, s := range c.Strategies {
		if points := growth(s.Returns); points != nil && q.partOrBoth() != "holdout" {
			test = append(test, curve{i, chart.Downsample(points, most), s.Claim})
		}
		if s.Look == nil || q.partOrBoth() == "test" {
			continue
		}
		if points := growth(s.Look.Returns); points != nil {
			holdout = append(holdout, curve{i, chart.Downsample(points, most), s.Claim})
		} else {
			missingDays++
		}
	}
	all := slices.Concat(test, holdout)
	if len(all) == 0 {
		return "", "No holdout was opened."
	}
	plot := chart.Plot{
		Unit: "× start", Height: 340, Left: 5, X: chart.Scale{Min: math.Inf(1), Max: math.Inf(-1)}, Y: chart.Scale{Min: 1, Max: 1},
	}
	for _, l := range all {
		plot.X = plot.X.Include(l.points[0].X).Include(l.points[len(l.points)-1].X)
		for _, p := range l.points {
			plot.Y = plot.Y.Include(p.Y)
		}
	}
	plot.XTicks = monthTicks(plot.X)
	end := plot.X.Max
	plot.X.Max += (plot.X.Max - plot.X.Min) * 0.16 // room for the labels
	held := compareHold(c, q)
	for _, l := range held {
		for _, p := range l.Points {
			plot.Y = plot.Y.Include(p.Y)
		}
	}
	luck := equityByLuck(c, test)
	for _, p := range luck {
		plot.Y = plot.Y.Include(p.Y)
	}
	plot.Y = plot.Y.Pad(0.04)
	if q.scale != "linear" {
		plot.Y = plot.Y.Logarithmic()
		plot.Unit += ", log scale"
	}
	plot.Label = equityLabel(c)
	if len(holdout) > 0 {
		from := holdout[0].points[0].X
		plot.Layers = append(plot.Layers, chart.Zone{From: from, To: end, Class: "ho", Text: "Holdout", Note: "each opened once"})
	}
	if len(test) > 0 {
		plot.Layers = append(plot.Layers, chart.Zone{From: plot.X.Min, To: plot.X.Min, Text: "Test", Note: "the search chose by it"})
	}
	if len(luck) > 0 {
		plot.Layers = append(plot.Layers, chart.Line{Points: luck, Class: "lu"})
	}
	for _, l := range held {
		last := l.Points[len(l.Points)-1]
		plot.Layers = append(plot.Layers, l.Line, chart.Text{X: last.X, Y: last.Y, DX: -4, DY: 18, Edge: 1, Text: l.name})
	}
	for _, l := range all {
		plot.Layers = append(plot.Layers, chart.Line{Points: l.points, Class: "st " + colour(l)})
	}
	plot.Layers = append(plot.Layers, compareLabels(test, &plot, len(holdout) > 0)...)
	plot.Layers = append(plot.Layers, compareLabels(holdout, &plot, false)...)
	note := ""
	if missingDays > 0 {
		note = fmt.Sprintf("%s made by an earlier version and kept no daily returns.", have(missingDays, "look", "was", "were"))
	}
	return plot.HTML(), note
}

// heldMarket is buy and hold of a market on one part.
type heldMarket struct {
	chart.Line
	name string
}

// compareHold is buy and hold of each market: on the test part, and on the holdout
// only as far as a look opened it.
func compareHold(c *report.Compared, q compareQuery) (lines []heldMarket) {
	drawn := map[string]bool{}
	add := func(part, market string, points []jobs.Point) {
		if skip := q.partOrBoth() != "both" && q.partOrBoth() != part; skip || len(points) == 0 || drawn[part+market] {
			return
		}
		drawn[part+market] = true
		line := heldMarket{chart.Line{Class: "mk dh"}, "buy and hold " + plain(market)}
		for _, p := range points {
			line.Points = append(line.Points, chart.XY{X: float64(p.Time.Unix()), Y: p.Value})
		}
		lines = append(lines, line)
	}
	for _, s := range c.Strategies {
		add("test", s.Symbols, s.Hold)
		if s.Look != nil {
			add("holdout", s.Symbols, s.Look.Hold)
		}
	}
	return lines
}

func colour(l curve) string {
	class := "co" + strconv.Itoa(l.i+1)
	if l.claim {
		class += " on"
	}
	return class
}

// compareLabels name the curves where they end, one below the other. Inside the plot
// there is room for the letters only.
func compareLabels(curves []curve, plot *chart.Plot, inside bool) (labels []chart.Layer) {
	const apart, top = 15, 20 // pixels
	curves = slices.Clone(curves)
	slices.SortFunc(curves, func(a, b curve) int { return cmp.Compare(b.points[len(b.points)-1].Y, a.points[len(a.points)-1].Y) })
	last := float64(top - apart)
	for _, l := range curves {
		end := l.points[len(l.points)-1]
		y := (1 - plot.Y.At(end.Y)) * float64(plot.Height)
		last = max(y, last+apart)
		label := chart.Text{X: end.X, Y: end.Y, DX: 6, DY: last - y + 4, Edge: -1, Class: "sc " + colour(l), Text: letterOf(l.i)}
		if inside {
			label.DX, label.Edge = -18, 1
		} else {
			label.Text += " " + percent(new(end.Y-1))
		}
		labels = append(labels, label)
	}
	return labels
}

// equityByLuck is how the best of the counted trials grows by luck on the test
// part, with the median volatility of the compared strategies.
func equityByLuck(c *report.Compared, test []curve) []chart.XY {
	if c.Luck == nil || len(test) == 0 {
		return nil
	}
	var volatility []float64
	for _, l := range test {
		volatility = append(volatility, yearlyVolatility(c.Strategies[l.i].Returns))
	}
	slices.Sort(volatility)
	longest := slices.MaxFunc(test, func(a, b curve) int { return len(a.points) - len(b.points) }).points
	from, to := longest[0].X, longest[len(longest)-1].X
	years := (to - from) / (daysOfAYear * 24 * 3600)
	rate := *c.Luck * volatility[len(volatility)/2]
	var line []chart.XY
	const steps = 20 // it is bent on a linear scale
	for i := range steps + 1 {
		share := float64(i) / steps
		line = append(line, chart.XY{X: from + share*(to-from), Y: math.Exp(rate * share * years)})
	}
	return line
}

func yearlyVolatility(returns []jobs.Point) float64 {
	if len(returns) < 2 {
		return 0
	}
	mean, squares := 0.0, 0.0
	for _, r := range returns {
		mean += r.Value / float64(len(returns))
	}
	for _, r := range returns {
		squares += (r.Value - mean) * (r.Value - mean)
	}
	span := returns[len(returns)-1].Time.Sub(returns[0].Time).Hours() / 24
	perYear := float64(len(returns)-1) / max(span, 1) * daysOfAYear
	return math.Sqrt(squares / float64(len(returns)-1) * perYear)
}

func monthTicks(x chart.Scale) (ticks []chart.Tick) {
	from, to := time.Unix(int64(x.Min), 0).UTC(), time.Unix(int64(x.Max), 0).UTC()
	months := int(to.Sub(from).Hours()/24/30.4) + 1
	step := max(1, (months+4)/5)
	for at := time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, time.UTC); at.Before(to); at = at.AddDate(0, step, 0) {
		ticks = append(ticks, chart.Tick{At: float64(at.Unix()), Text: at.Format("Jan 2006")})
	}
	return ticks
}

func equityLabel(c *report.Compared) string {
	text := []string{"Equity, each part starts at 1."}
	for i, s := range c.Strategies {
		one := fmt.Sprintf("%s: test %s", letterOf(i), percent(s.NetReturn))
		if s.Look != nil {
			one += ", holdout " + percent(s.Look.Return)
		}
		text = append(text, one+".")
	}
	return strings.Join(text, " ")
}

// ball is the letter of a strategy in a circle, filled if it claims an edge.
func ball(at chart.XY, i int, claim bool) []chart.Layer {
	class := colour(curve{i: i, claim: claim})
	return []chart.Layer{
		chart.Dots{Points: []chart.XY{at}, Class: "ball " + class, Radius: 8.5},
		chart.Text{X: at.X, Y: at.Y, DY: 4, Class: "ball " + class, Text: letterOf(i)},
	}
}

// compareScatter draws the test part against the holdout of all looks. What luck
// explains on the test part is hatched.
func compareScatter(c *report.Compared) (template.HTML, string) {
	x, y := chart.Scale{Min: 0, Max: 1}, chart.Scale{Min: 0, Max: 1}
	shown := 0
	for _, l := range c.Looks {
		if l.Sharpe == nil || l.TestSharpe == nil {
			continue
		}
		shown++
		x, y = x.Include(*l.TestSharpe), y.Include(*l.Sharpe)
		if l.Needed != nil {
			y = y.Include(*l.Needed)
		}
	}
	luck := 0.0
	if c.Luck != nil {
		luck = *c.Luck
		x = x.Include(luck)
	}
	for _, s := range c.Sealed {
		x = x.Include(max(s, -1))
	}
	x, y = x.Pad(0.06), y.Pad(0.05)
	rug := y.Min - (y.Max-y.Min)*0.08
	axis := y.Min
	y.Min = rug - (y.Max-y.Min)*0.04
	plot := chart.Plot{
		Label: fmt.Sprintf("Test Sharpe against holdout Sharpe of %s. %s sealed.", plural(shown, "look"),
			have(c.SealedAll, "holdout", "stays", "stay")),
		Unit: "Sharpe, holdout", Height: 340, Left: 5, X: x, Y: y, XTicks: chart.Numbers(x.Ticks(5)),
	}
	plot.YTicks = append(chart.Numbers(chart.Scale{Min: axis, Max: y.Max}.Ticks(5)), chart.Tick{At: rug, Text: "sealed"})
	if luck > 0 {
		plot.Layers = append(plot.Layers, chart.Area{Points: []chart.XY{{X: x.Min, Y: y.Max}, {X: luck, Y: y.Max}}, Base: axis, Hatch: true},
			chart.Line{Points: []chart.XY{{X: luck, Y: axis}, {X: luck, Y: y.Max}}, Class: "lu"},
			chart.Text{X: luck, Y: y.Max, DX: -5, DY: 14, Edge: 1, Class: "i", Text: "luck reaches " + chart.Number(luck, 2)})
	}
	from, to := max(x.Min, axis), min(x.Max, y.Max)
	plot.Layers = append(plot.Layers, chart.Line{Points: []chart.XY{{X: from, Y: from}, {X: to, Y: to}}, Class: "mk"},
		chart.Text{X: from + (to-from)*0.6, Y: from + (to-from)*0.6, DX: 6, DY: 16, Edge: -1, Text: "holdout = test"})
	var ticks []chart.XY
	half := (y.Max - y.Min) * 0.015
	for _, s := range c.Sealed {
		s = max(s, x.Min)
		ticks = append(ticks, chart.XY{X: s, Y: rug - half}, chart.XY{X: s, Y: rug + half}, chart.XY{X: math.NaN()})
	}
	plot.Layers = append(plot.Layers, chart.Line{Points: ticks, Class: "rug"})
	width := (x.Max - x.Min) * 0.015
	for _, l := range c.Looks {
		if l.Sharpe == nil || l.TestSharpe == nil {
			continue
		}
		at := chart.XY{X: *l.TestSharpe, Y: *l.Sharpe}
		i := slices.IndexFunc(c.Strategies, func(s report.ComparedStrategy) bool { return s.Operation == l.Research })
		class := "mk"
		if i >= 0 {
			class = "st " + colour(curve{i: i})
		}
		if l.Needed != nil {
			plot.Layers = append(plot.Layers, chart.Line{Points: []chart.XY{{X: at.X, Y: *l.Needed}, at}, Class: class},
				chart.Line{Points: []chart.XY{{X: at.X - width, Y: *l.Needed}, {X: at.X + width, Y: *l.Needed}}, Class: "lu"})
		}
		if i < 0 {
			plot.Layers = append(plot.Layers, chart.Dots{Points: []chart.XY{at}, Class: "pt", Radius: 4})
			continue
		}
		plot.Layers = append(plot.Layers, ball(at, i, l.Claim)...)
	}
	note := fmt.Sprintf("Sharpe, test part. Filled: claimed. Ticks below: %s sealed.",
		have(c.SealedAll, "strategy", "whose holdout stays", "whose holdouts stay"))
	if outside := len(slices.DeleteFunc(slices.Clone(c.Sealed), func(s float64) bool { return s >= x.Min })); outside > 0 {
		note += fmt.Sprintf(" The first tick stands for %d below %s.", outside, chart.Number(x.Min, 1))
	}
	return plot.HTML(), note
}

// mostBars is how many looks have a bar: the newest.
const mostBars = 24

// compareLooks draws what each look needed and reached, in the order opened.
func compareLooks(c *report.Compared) template.HTML {
	looks := slices.DeleteFunc(slices.Clone(c.Looks), func(l report.ComparedLook) bool { return l.Needed == nil })
	if len(looks) == 0 {
		return ""
	}
	looks = looks[max(0, len(looks)-mostBars):]
	plot := chart.Plot{
		Label: "Holdout looks in order: needed and reached.", Unit: "Sharpe, holdout", X: chart.Scale{Min: 0, Max: float64(len(looks))},
		Y: chart.Scale{Min: 0, Max: 1},
	}
	for _, l := range looks {
		plot.Y = plot.Y.Include(*l.Needed).Include(*l.Sharpe)
	}
	plot.Y = plot.Y.Pad(0.12)
	if plot.Y.Min < 0 && plot.Y.Min > -0.9 {
		plot.Y.Min = 0
	}
	every := max(1, len(looks)/8)
	for k, l := range looks {
		x := float64(k)
		box := []chart.XY{{X: x + 0.2, Y: *l.Needed}, {X: x + 0.8, Y: *l.Needed}}
		plot.Layers = append(plot.Layers, chart.Area{Points: box, Hatch: true}, chart.Line{Points: box, Class: "lu"})
		at := chart.XY{X: x + 0.5, Y: *l.Sharpe}
		if i := slices.IndexFunc(c.Strategies, func(s report.ComparedStrategy) bool { return s.Operation == l.Research }); i >= 0 {
			plot.Layers = append(plot.Layers, ball(at, i, l.Claim)...)
		} else {
			plot.Layers = append(plot.Layers, chart.Dots{Points: []chart.XY{at}, Class: "pt", Radius: 4})
		}
		if k%every == 0 {
			plot.XTicks = append(plot.XTicks, chart.Tick{At: x + 0.5, Text: "look " + strconv.Itoa(l.Number)})
		}
	}
	return plot.HTML()
}
