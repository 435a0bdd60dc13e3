package page

import (
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/chart"
)

// trainingFigures are loss and accuracy by epoch beside their baselines, and what
// other costs would have left.
func (f *facts) trainingFigures() []figure {
	var list []figure
	if t := f.training; t != nil && len(t.Training.History.TrainLoss) > 0 {
		h := t.Training.History
		loss := learning{train: h.TrainLoss, validation: h.ValLoss, kept: t.Training.BestEpoch, decimals: 3}
		accuracy := learning{
			train: hundred(h.TrainAccuracy), validation: hundred(h.ValAccuracy), kept: t.Training.BestEpoch, unit: " %", decimals: 1,
		}
		if t.Test != nil {
			loss.test = &t.Test.Loss
			base, tested := 100*t.Test.BaselineAccuracy, 100*t.Test.Accuracy
			accuracy.test, accuracy.baseline, accuracy.name = &tested, &base, "majority-class baseline"
			if t.Test.ClassMetrics != nil {
				loss.baseline, loss.name = &t.Test.BaselineLoss, "baseline"
			}
		}
		list = append(list,
			figure{
				ID: "loss", Title: "Training loss", Chart: loss.draw("loss").HTML(),
				Legend: []legend{{"mk", "train"}, {"", "validation"}, {"lu", "baseline"}},
			},
			figure{
				ID: "accuracy", Title: "Accuracy", Note: "beside always answering the most frequent class", Chart: accuracy.draw("%").HTML(),
			})
	}
	if c := f.costs(); c != nil {
		list = append(list, *c)
	}
	return list
}

func hundred(values []float64) []float64 {
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = 100 * v
	}
	return scaled
}

// learning is a figure by epoch.
type learning struct {
	train, validation []float64
	test, baseline    *float64
	name              string // of the baseline
	kept              int    // the epoch whose weights the model has
	unit              string
	decimals          int
}

func (l learning) draw(unit string) chart.Plot {
	n := float64(max(len(l.train), 2))
	y := chart.Fit(l.train, l.validation)
	for _, v := range []*float64{l.test, l.baseline} {
		if v != nil {
			y = y.Include(*v)
		}
	}
	y = y.Pad(0.12)
	p := chart.Plot{Unit: unit, Height: 150, Left: 5, X: chart.Scale{Min: 1, Max: n}, Y: y, XTicks: epochs(len(l.train))}
	p.Label = fmt.Sprintf("%s by epoch; the weights of epoch %d were kept.", plural(len(l.train), "epoch"), l.kept)
	if l.kept > 0 {
		edge := 0
		if share := p.X.At(float64(l.kept)); share > 0.8 {
			edge = 1
		} else if share < 0.2 {
			edge = -1
		}
		p.Layers = append(p.Layers, chart.Vertical{X: float64(l.kept), Class: "zb"},
			chart.Text{X: float64(l.kept), Y: y.Max, DX: float64(-4 * edge), DY: 2, Edge: edge, Text: fmt.Sprintf("kept: epoch %d", l.kept)})
	}
	if l.baseline != nil {
		p.Layers = append(p.Layers, chart.Horizontal{From: 1, To: n, Y: *l.baseline, Class: "lu"},
			chart.Text{X: 1, Y: *l.baseline, DX: 4, DY: -5, Edge: -1, Class: "i", Text: l.name + " " + l.write(*l.baseline)})
		p.Label += fmt.Sprintf(" %s %s.", capital(l.name), l.write(*l.baseline))
	}
	p.Layers = append(p.Layers, chart.Line{Points: byEpoch(l.train), Class: "mk"}, chart.Line{Points: byEpoch(l.validation), Class: "st"})
	if l.test != nil {
		p.Layers = append(p.Layers, chart.Dots{Points: []chart.XY{{X: n, Y: *l.test}}, Class: "pt ring", Radius: 3.5},
			chart.Text{X: n, Y: *l.test, DX: -8, DY: 14, Edge: 1, Class: "i", Text: "test " + l.write(*l.test)})
		p.Label += fmt.Sprintf(" On the test part %s.", l.write(*l.test))
	}
	return p
}

func (l learning) write(v float64) string { return chart.Number(v, l.decimals) + l.unit }

func byEpoch(values []float64) []chart.XY {
	points := make([]chart.XY, len(values))
	for i, v := range values {
		points[i] = chart.XY{X: float64(i + 1), Y: v}
	}
	return chart.Downsample(points, mostPoints)
}

func epochs(n int) []chart.Tick {
	ticks := []chart.Tick{{At: 1, Text: "epoch 1", Edge: -1}}
	for _, t := range (chart.Scale{Min: 1, Max: float64(n)}).Ticks(4) {
		if t == math.Trunc(t) && t > 1+float64(n)/6 && t < float64(n)*0.9 {
			ticks = append(ticks, chart.Tick{At: t, Text: fmt.Sprintf("%.0f", t)})
		}
	}
	return append(ticks, chart.Tick{At: float64(n), Text: fmt.Sprint(n), Edge: 1})
}

// costs draws what the same trades leave at other costs.
func (f *facts) costs() *figure {
	if f.assessment == nil || f.assessment.Figures == nil || f.backtest == nil || f.backtest.Metrics.InitialCapital <= 0 {
		return nil
	}
	c := f.assessment.Figures.Costs
	if len(c.Curve) < 2 || c.BreakEven == nil {
		return nil
	}
	capital := f.backtest.Metrics.InitialCapital
	most := max(c.Curve[len(c.Curve)-1].Multiplier, 3)
	if *c.BreakEven < 12 {
		most = max(most, math.Ceil(*c.BreakEven+0.5))
	}
	net := func(times float64) float64 { return 100 * (c.Gross - times*c.Costs) / capital }
	x := chart.Scale{Min: 0, Max: most}
	y := chart.Fit([]float64{net(0), net(most), 0}).Pad(0.1)
	must := f.spec.Rules.WithDefaults().CostMultiplier
	p := chart.Plot{
		Unit: "net return, %", Height: 150, X: x, Y: y, Label: fmt.Sprintf("At %s the costs charged, nothing is left.", times(c.BreakEven)),
		Layers: []chart.Layer{
			chart.Vertical{X: must, Class: "lu"},
			chart.Text{X: must, Y: y.Min, DX: 5, DY: -5, Edge: -1, Text: "must bear " + chart.Number(must, 1) + "×"},
			chart.Line{Points: []chart.XY{{X: 0, Y: net(0)}, {X: most, Y: net(most)}}, Class: "st"},
			chart.Dots{Points: []chart.XY{{X: 1, Y: net(1)}}, Class: "pt k", Radius: 3.5},
			chart.Text{X: 1, Y: net(1), DX: 6, DY: -7, Edge: -1, Class: "k", Text: "charged: " + f.charged()},
		},
	}
	for _, t := range x.Ticks(4) {
		tick := chart.Tick{At: t, Text: chart.Number(t, 0) + "×"}
		if t == most {
			tick.Edge = 1
		}
		if t == math.Trunc(t) {
			p.XTicks = append(p.XTicks, tick)
		}
	}
	if *c.BreakEven > 0 && *c.BreakEven <= most {
		p.Layers = append(p.Layers, chart.Dots{Points: []chart.XY{{X: *c.BreakEven, Y: 0}}, Class: "pt ring", Radius: 3.5},
			chart.Text{X: *c.BreakEven, Y: 0, DX: -6, DY: 14, Edge: 1, Class: "i", Text: "break-even " + times(c.BreakEven)})
	}
	return &figure{ID: "costs", Title: "Cost break-even", Note: "same trades at other costs", Chart: p.HTML()}
}

// charged is the cost of one entry or exit.
func (f *facts) charged() string {
	if f.result.Figures == nil {
		return "the costs of the backtest"
	}
	return chart.Number(f.result.Figures.CostPerSide*10000, 1) + " bp a side"
}

// figures are those of the test part.
func (f *facts) figures() []field {
	if f.backtest == nil {
		return nil
	}
	m := f.backtest.Metrics
	var list []field
	add := func(name, value string) { list = append(list, field{name, value}) }
	net, depth := m.TotalReturnPct/100, -m.MaxDrawdownPct/100
	add("Net return", percent(&net))
	if m.BuyAndHoldReturnPct != nil {
		hold := *m.BuyAndHoldReturnPct / 100
		add("Buy and hold", percent(&hold))
	}
	if a := f.assessment; a != nil && a.Figures != nil {
		t := a.Figures.Test
		sharpe := number(t.Sharpe.Ratio(), 2)
		if t.Sharpe.AnnualizedError != nil {
			sharpe += " ± " + number(t.Sharpe.AnnualizedError, 2)
		}
		add("Sharpe ratio", sharpe)
		add("Buy and hold Sharpe", number(t.HoldSharpe.Ratio(), 2))
		add("Beta / alpha z", number(t.Beta, 2)+" / "+number(t.AlphaZ, 2))
	} else {
		add("Sharpe ratio", number(m.Sharpe, 2))
	}
	add("Sortino", number(m.Sortino, 2))
	add("Volatility a year", share(m.Volatility))
	add("Max drawdown", percent(&depth))
	add("Time in market", share(m.Exposure))
	add("Trades", count(m.TotalTrades))
	add("Win rate", share(m.WinRate))
	add("Profit factor", number(m.ProfitFactor, 2))
	if m.AvgHoldingPeriod != nil {
		add("Average holding", chart.Number(*m.AvgHoldingPeriod, 0)+" h")
	}
	if m.Turnover != nil {
		add("Turnover", number(m.Turnover, 1)+"× capital")
	}
	add("Costs paid", "$"+count(int(math.Round(m.CostTotal))))
	return slices.Clip(list)
}
