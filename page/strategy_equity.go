package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
)

// equity is the account against buy and hold, its drawdowns below, and a row for
// each part of the data.
type equity struct {
	Scale             string // log or linear
	Zoom              string // where the chart that zooms asks for more; "" of a short one
	Legend            []legend
	Curve, Underwater template.HTML
	Parts             []partRow
}

type partRow struct{ Name, Bars, Strategy, Hold, Luck, Sharpe, Error, Weight string }

// stretch is what is drawn of one part of the data. Each starts again at 1.
type stretch struct {
	from, to      float64 // Unix seconds
	name, note    string
	class         string  // of its zone
	faint         bool    // in sample
	validation    float64 // where a part of it for validation begins; 0: nowhere
	account, hold []chart.XY
	luck          float64 // where the line of luck ends; 0: it is not drawn
	luckName      string
	luckWord      string // before its end
}

const mostPoints = 400 // of a line

// testCurve is the account on the test part by days, from the returns that every
// backtest keeps.
func (f *facts) testCurve() []chart.XY {
	if f.backtest == nil || f.backtest.Daily == nil {
		return nil
	}
	days, err := f.backtest.Daily.List()
	if err != nil || len(days) == 0 {
		return nil
	}
	value := 1.0
	curve := []chart.XY{{X: float64(f.backtest.Start.Unix()), Y: 1}}
	for _, d := range days {
		value *= 1 + float64(d.Return)
		at := min(d.Day.AddDate(0, 0, 1).Unix(), f.backtest.End.Unix())
		curve = append(curve, chart.XY{X: float64(at), Y: value})
	}
	return curve
}

// test is the part that the search chose by.
func (f *facts) test() (stretch, bool) {
	curve := f.testCurve()
	if curve == nil {
		return stretch{}, false
	}
	s := stretch{
		from: float64(f.backtest.Start.Unix()), to: float64(f.backtest.End.Unix()), name: "Test", note: "the search chose by it", class: "te",
		account: curve,
	}
	if f.assessment == nil || f.assessment.Figures == nil {
		return s, true
	}
	g, volatility := f.assessment.Figures, f.backtest.Metrics.Volatility
	if g.ExpectedMax != nil && volatility != nil && g.Trials > 1 {
		s.luck = grows(*g.ExpectedMax, *volatility, s.from, s.to)
		s.luckName = fmt.Sprintf("the best of %s by luck", count(g.Trials))
	}
	return s, true
}

// grows is what 1 becomes with a Sharpe ratio and a volatility per year.
func grows(sharpe, volatility, from, to float64) float64 {
	return math.Exp(sharpe * volatility * (to - from) / secondsOfYear)
}

const secondsOfYear = 365.25 * 24 * 3600

// stretches are the parts in the order of time. What was not opened is not among
// them.
func (f *facts) stretches() []stretch {
	test, ok := f.test()
	if !ok {
		return nil
	}
	var list []stretch
	if lines := f.lines(); lines != nil {
		_, test.hold = drawn(lines.Test)
		if train, ok := f.inSample(lines.InSample, test.from); ok {
			list = append(list, train)
		}
	}
	list = append(list, test)
	if f.look != nil && f.look.Line != nil {
		list = append(list, f.holdout())
	}
	return list
}

// lines are what the assessment drew; nil of one by an earlier version.
func (f *facts) lines() *research.AssessedLines {
	if f.assessment == nil {
		return nil
	}
	return f.assessment.Lines
}

// drawn are the lines of a sketch.
func drawn(s *evidence.Sketch) (account, hold []chart.XY) {
	if s == nil {
		return nil, nil
	}
	for i, at := range s.Time {
		account = append(account, chart.XY{X: float64(at), Y: s.Account[i]})
		hold = append(hold, chart.XY{X: float64(at), Y: s.Hold[i]})
	}
	return account, hold
}

// inSample is the part that the model was fitted to. It ends where the test part
// begins.
func (f *facts) inSample(s *evidence.Sketch, end float64) (stretch, bool) {
	account, hold := drawn(s)
	if len(account) == 0 || account[0].X >= end {
		return stretch{}, false
	}
	part := stretch{
		from: account[0].X, to: end, name: "Train", note: "in sample, no evidence", class: "tr", faint: true, account: account, hold: hold,
	}
	if f.training != nil {
		part.validation = float64(f.training.Data.Split.Validation)
	}
	return part, true
}

// holdout is the part that a look opened.
func (f *facts) holdout() stretch {
	account, hold := drawn(f.look.Line)
	s := stretch{
		from: account[0].X, to: account[len(account)-1].X, name: "Holdout", note: "opened once", class: "ho", account: account, hold: hold,
	}
	sharpe := f.look.Look.Holdout.Sharpe
	if needed := f.needed(); needed != nil && sharpe.PerBar != nil && *sharpe.PerBar > 0 && sharpe.Annualized != nil {
		// mean and Sharpe ratio per bar give the volatility of this part
		years := (s.to - s.from) / secondsOfYear
		volatility := math.Log(last(account)) / years / *sharpe.Annualized
		if volatility > 0 {
			s.luck, s.luckName, s.luckWord = grows(*needed, volatility, s.from, s.to), "needed on the holdout", "needed"
		}
	}
	return s
}

func (f *facts) equity(linear bool) *equity {
	parts := f.stretches()
	if len(parts) == 0 {
		return nil
	}
	e := &equity{Scale: "log", Legend: []legend{{"", "strategy"}}}
	if linear {
		e.Scale = "linear"
	}
	x, sealed := f.shownSpan(parts), f.sealedSpan()
	var luck []string
	for _, p := range parts {
		if len(p.hold) > 0 && len(e.Legend) == 1 {
			e.Legend = append(e.Legend, legend{"mk", "buy and hold"})
		}
		if p.luck > 0 {
			luck = append(luck, p.luckName)
		}
	}
	if luck != nil {
		e.Legend = append(e.Legend, legend{"lu", strings.Join(luck, ", ")})
	}
	e.Curve, e.Underwater = drawEquity(parts, sealed, x, !linear), drawUnderwater(parts, sealed, x)
	e.Parts = f.partRows()
	if f.backtest.Curve > mostPoints {
		e.Zoom = "/strategies/" + string(f.op.ID) + "/equity.json?"
	}
	return e
}

// shownSpan is the time that the figures of the equity show.
func (f *facts) shownSpan(parts []stretch) chart.Scale {
	x := chart.Scale{Min: parts[0].from, Max: parts[len(parts)-1].to}
	if sealed := f.sealedSpan(); sealed != nil {
		x.Max = sealed.to
	}
	return x
}

// sealedSpan is where the holdout lies while it is not opened.
func (f *facts) sealedSpan() *stretch {
	if f.look != nil || len(f.spec.Sealed) == 0 {
		return nil
	}
	s := f.spec.Sealed[0]
	return &stretch{from: float64(s.From.Unix()), to: float64(s.To.Unix()), name: "Holdout", note: "sealed", class: "se"}
}

func zones(parts []stretch, sealed *stretch, named bool) []chart.Layer {
	var layers []chart.Layer
	if sealed != nil {
		parts = append(slices.Clone(parts), *sealed)
	}
	for _, p := range parts {
		z := chart.Zone{From: p.from, To: p.to, Class: p.class}
		if named {
			z.Text, z.Note = p.name, p.note
		}
		layers = append(layers, z, chart.Vertical{X: p.from, Class: "zb"})
		if p.validation > p.from && p.validation < p.to {
			v := chart.Zone{From: p.validation, To: p.to, Class: "va"}
			if named {
				v.Text = "Validation"
			}
			layers = append(layers, v)
		}
	}
	return layers
}

func drawEquity(parts []stretch, sealed *stretch, x chart.Scale, log bool) template.HTML {
	var values []float64
	for _, p := range parts {
		for _, line := range [][]chart.XY{p.account, p.hold} {
			for _, v := range line {
				values = append(values, v.Y)
			}
		}
		if p.luck > 0 {
			values = append(values, p.luck)
		}
	}
	y := chart.Fit(values, []float64{1})
	if log {
		y = y.Logarithmic()
	}
	y = y.Pad(0.06)
	plot := chart.Plot{Unit: "× start", Height: 300, Left: 5, X: x, Y: y, XTicks: years(x), Layers: zones(parts, sealed, true)}
	if y.Log {
		plot.Unit = "× start, log scale"
	}
	for i, p := range parts {
		faint := ""
		if p.faint {
			faint = " w"
		}
		plot.Layers = append(plot.Layers, chart.Line{Points: chart.Downsample(p.hold, mostPoints), Class: "mk"})
		if p.luck > 0 {
			plot.Layers = append(plot.Layers, chart.Line{Points: luckLine(p, y.Log), Class: "lu"})
		}
		plot.Layers = append(plot.Layers, chart.Line{Points: chart.Downsample(p.account, mostPoints), Class: "st" + faint})
		if i == len(parts)-1 {
			plot.Label = fmt.Sprintf("%s part: the strategy ends at %s times its start.", p.name, chart.Number(last(p.account), 3))
			plot.Layers = append(plot.Layers, endLabels(p, y, sealed != nil)...)
		}
	}
	return plot.HTML()
}

// luckLine is straight on a logarithmic scale.
func luckLine(p stretch, straight bool) []chart.XY {
	steps := 1
	if !straight {
		steps = 24
	}
	var line []chart.XY
	for i := range steps + 1 {
		t := float64(i) / float64(steps)
		line = append(line, chart.XY{X: p.from + t*(p.to-p.from), Y: math.Exp(t * math.Log(p.luck))})
	}
	return line
}

// endLabels name the lines where they end. Labels that would overlap are moved
// apart.
func endLabels(p stretch, y chart.Scale, right bool) []chart.Layer {
	type end struct {
		at    float64
		class string
		text  string
	}
	gain := func(v float64) string { v--; return percent(&v) }
	ends := []end{{last(p.account), "k", "strategy " + gain(last(p.account))}}
	if len(p.hold) > 0 {
		ends = append(ends, end{last(p.hold), "", "buy and hold " + gain(last(p.hold))})
	}
	if p.luck > 0 {
		ends = append(ends, end{p.luck, "i", cmp.Or(p.luckWord, "luck") + " " + gain(p.luck)})
	}
	slices.SortFunc(ends, func(a, b end) int {
		if a.at > b.at {
			return -1
		}
		return 1
	})
	edge, dx := 1, -6.0
	if right {
		edge, dx = -1, 6
	}
	var layers []chart.Layer
	lowest := math.Inf(-1) // of the label before, in pixels
	for _, e := range ends {
		at := (1 - y.At(e.at)) * 300
		down := -4.0
		if right {
			down = 4
		}
		if at+down < lowest+14 {
			down = lowest + 14 - at
		}
		lowest = at + down
		layers = append(layers, chart.Text{X: p.to, Y: e.at, DX: dx, DY: down, Edge: edge, Class: e.class, Text: e.text})
	}
	return layers
}

func percentTicks(values []float64) []chart.Tick {
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = 100 * v
	}
	ticks := chart.NumbersIn(scaled, " %")
	for i := range ticks {
		ticks[i].At = values[i]
	}
	return ticks
}

// inside keeps the texts of the outermost ticks within the plot.
func inside(ticks []chart.Tick, x chart.Scale) []chart.Tick {
	for i := range ticks {
		switch share := x.At(ticks[i].At); {
		case share < 0.05:
			ticks[i].Edge = -1
		case share > 0.95:
			ticks[i].Edge = 1
		}
	}
	return ticks
}

// years are the ticks of a time axis: years, or months of a short one.
func years(x chart.Scale) []chart.Tick {
	from, to := time.Unix(int64(x.Min), 0).UTC(), time.Unix(int64(x.Max), 0).UTC()
	months := int(to.Sub(from).Hours()/24/30) + 1
	step, layout := 1, "Jan 2006"
	for _, s := range []int{1, 2, 3, 6, 12, 24, 60, 120} {
		if step = s; months/s <= 9 {
			break
		}
	}
	if step >= 12 {
		layout = "2006"
	}
	var ticks []chart.Tick
	at := time.Date(from.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	for ; at.Before(to); at = at.AddDate(0, step, 0) {
		if share := x.At(float64(at.Unix())); !at.Before(from) && share > 0.02 && share < 0.97 {
			ticks = append(ticks, chart.Tick{At: float64(at.Unix()), Text: at.Format(layout)})
		}
	}
	return ticks
}

func last(line []chart.XY) float64 { return line[len(line)-1].Y }

// partRows are the parts of the data with what each is worth as evidence.
func (f *facts) partRows() []partRow {
	var rows []partRow
	b, g := f.backtest, f.assessment
	if t := f.training; t != nil && len(t.Data.Sources) > 0 && g != nil && g.Figures != nil {
		rows = append(rows, partRow{
			Name: "Train and validation", Bars: monthOf(time.Unix(t.Data.Sources[0].First, 0)) + " to " + monthOf(time.Unix(t.Data.Split.Test, 0)),
			Strategy: missing, Hold: missing, Luck: missing, Sharpe: number(g.Figures.Decay.InSample, 2), Error: "in sample",
			Weight: "The model was fitted to these bars. No evidence.",
		})
		if lines := f.lines(); lines != nil && lines.InSample != nil {
			account, hold := drawn(lines.InSample)
			gain, held := last(account)-1, last(hold)-1
			rows[0].Strategy, rows[0].Hold = percent(&gain), percent(&held)
		}
	}
	net := b.Metrics.TotalReturnPct / 100
	test := partRow{
		Name: "Test", Bars: monthOf(b.Start) + " to " + monthOf(b.End), Strategy: percent(&net), Hold: missing, Luck: missing,
		Sharpe: number(b.Metrics.Sharpe, 2), Weight: "The search chose by these bars.",
	}
	if hold := b.Metrics.BuyAndHoldReturnPct; hold != nil {
		part := *hold / 100
		test.Hold = percent(&part)
	}
	if g != nil && g.Figures != nil {
		test.Weight = "The search chose by these bars. Adjusted for " + plural(g.Figures.Trials, "trial") + "."
		if e := g.Figures.Test.Sharpe.AnnualizedError; e != nil {
			test.Error = "± " + number(e, 2)
		}
		if s, ok := f.test(); ok && s.luck > 0 {
			gain := s.luck - 1
			test.Luck = percent(&gain)
		}
	}
	rows = append(rows, test)
	if len(f.spec.Sealed) == 0 {
		return rows
	}
	hold := partRow{
		Name: "Holdout", Bars: monthOf(f.spec.Sealed[0].From) + " to " + monthOf(f.spec.Sealed[0].To), Strategy: "sealed", Hold: missing,
		Luck: missing, Sharpe: missing, Weight: "Sealed. Opened only if every check on the test part passes.",
	}
	if f.look != nil {
		h := f.look.Look.Holdout
		hold.Strategy, hold.Hold, hold.Sharpe = percent(&h.Return), percent(&h.HoldReturn), number(h.Sharpe.Ratio(), 2)
		hold.Weight = fmt.Sprintf("No search chose by these bars. Look %d: the p-value is multiplied by %d.",
			f.look.Look.Before+1, f.look.Look.Factor)
		if e := h.Sharpe.AnnualizedError; e != nil {
			hold.Error = "± " + number(e, 2)
		}
		if f.look.Line != nil {
			if s := f.holdout(); s.luck > 0 {
				gain := s.luck - 1
				hold.Luck = percent(&gain)
			}
		}
	}
	return append(rows, hold)
}
