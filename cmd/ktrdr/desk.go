package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"
)

// desk puts the jobs' desk into the API's words. Neither of them knows the
// other.
type desk struct {
	*jobs.Desk
	library *jobs.Library
	markets *jobs.Markets
}

// Training implements httpapi.Desk.
func (d desk) Training(ctx context.Context, r httpapi.TrainingRequest) (httpapi.Order, error) {
	o, err := d.Desk.Training(ctx, jobs.TrainingRequest(r))
	return httpapi.Order(o), err
}

// Backtest implements httpapi.Desk.
func (d desk) Backtest(ctx context.Context, r httpapi.BacktestRequest) (httpapi.Order, error) {
	o, err := d.Desk.Backtest(ctx, jobs.BacktestRequest(r))
	return httpapi.Order(o), err
}

// Predict implements httpapi.Desk.
func (d desk) Predict(ctx context.Context, r httpapi.PredictionRequest) (httpapi.Prediction, error) {
	p, err := d.Desk.Predict(ctx, jobs.PredictRequest(r))
	out := httpapi.Prediction{
		Strategy: p.Strategy, Symbol: p.Symbol, Timeframe: string(p.Timeframe), Classes: p.Classes,
		Bars: make([]httpapi.PredictedBar, len(p.Bars)), Warnings: p.Warnings, MadeUp: p.MadeUp, Look: p.Look,
	}
	for i, b := range p.Bars {
		out.Bars[i] = httpapi.PredictedBar(b)
	}
	return out, err
}

// DataLoad implements httpapi.Desk.
func (d desk) DataLoad(ctx context.Context, r httpapi.DataLoadRequest) (httpapi.Order, error) {
	o, err := d.Load(ctx, jobs.LoadRequest(r))
	return httpapi.Order(o), err
}

// Models implements httpapi.Desk.
func (d desk) Models(ctx context.Context, limit int, cursor string) ([]httpapi.Model, string, error) {
	models, next, err := d.Desk.Models(ctx, limit, cursor)
	list := make([]httpapi.Model, len(models))
	for i, m := range models {
		list[i] = httpapi.Model(m)
	}
	return list, next, err
}

// Strategies implements httpapi.Desk.
func (d desk) Strategies(ctx context.Context) ([]httpapi.Strategy, error) {
	strategies, err := d.Desk.Strategies(ctx)
	list := make([]httpapi.Strategy, len(strategies))
	for i, s := range strategies {
		list[i] = httpapi.Strategy(s)
	}
	return list, err
}

// Indicators implements httpapi.Desk.
func (desk) Indicators() []httpapi.Indicator {
	var list []httpapi.Indicator
	for _, def := range indicator.Definitions() {
		x := indicator.Describe(def)
		out := httpapi.Indicator{
			Name: x.Name, Aliases: x.Aliases, Definition: x.Doc, Follows: x.Follows,
			Parameters: []httpapi.IndicatorParameter{}, Outputs: []httpapi.IndicatorOutput{},
		}
		for _, p := range x.Params {
			usual, _ := json.Marshal(p.Default) // a number, a boolean or a text
			out.Parameters = append(out.Parameters, httpapi.IndicatorParameter{
				Name: p.Name, Kind: p.Kind, Default: usual, Min: p.Min, Max: p.Max, Choices: p.Choices, Description: p.Doc,
			})
		}
		for _, o := range x.Outputs {
			out.Outputs = append(out.Outputs, httpapi.IndicatorOutput{Name: o.Name, Unit: string(o.Unit), WarmUp: o.WarmUp})
		}
		list = append(list, out)
	}
	return list
}

// Columns implements httpapi.Desk.
func (d desk) Columns(ctx context.Context, op ktrdr.Operation, q httpapi.ColumnsQuery) (httpapi.Columns, error) {
	page := jobs.Page(q)
	c, err := d.Desk.Columns(ctx, op, page)
	if err != nil {
		return httpapi.Columns{}, err
	}
	out := httpapi.Columns{More: c.More(page)}
	for _, t := range c.Trades {
		out.Trades = append(out.Trades, httpapi.Trade{
			Symbol: t.Symbol, EntryTime: instant(t.EntryTime), ExitTime: instant(t.ExitTime), EntryBar: int(t.EntryBar), ExitBar: int(t.ExitBar),
			Side: t.Side.String(), Reason: t.Reason.String(), Quantity: t.Quantity, EntryPrice: t.EntryPrice, ExitPrice: t.ExitPrice,
			Gross: t.Gross, Costs: t.Costs, Net: t.Net, MAE: t.MAE, MFE: t.MFE,
		})
	}
	out.Equity, out.Positions = pointsOf(c.Time, c.Equity), pointsOf(c.Time, c.Positions)
	for _, a := range c.Accounts {
		if q.Equity || q.Positions {
			out.Accounts = append(out.Accounts, httpapi.AccountColumns{
				Symbol: a.Symbol, Equity: pointsOf(c.Time, a.Equity), Positions: pointsOf(c.Time, a.Positions),
			})
		}
	}
	for _, r := range c.Returns {
		out.Returns = append(out.Returns, httpapi.Point{Time: r.Day, Value: float64(r.Return)})
	}
	if c.Curve != nil {
		out.Curve = shownCurve(*c.Curve)
	}
	return out, nil
}

// pointsOf puts values, one for each time or none, to their times.
func pointsOf[T float32 | float64](times []int64, values []T) (list []httpapi.Point) {
	for i, x := range values {
		list = append(list, httpapi.Point{Time: instant(times[i]), Value: float64(x)})
	}
	return list
}

func shownCurve(c evidence.Curve) *httpapi.Curve {
	s := c.Sharpe
	out := &httpapi.Curve{Years: []httpapi.Year{}, Drawdowns: []httpapi.Drawdown{}, Sharpe: httpapi.Interval{
		Estimate: s.Estimate, Low: s.Low, High: s.High, P: s.P, PerYear: c.PerYear,
		Level: s.Level, Draws: s.Draws, Block: s.Block, Undefined: s.Undefined,
	}}
	for _, y := range c.Years {
		out.Years = append(out.Years, httpapi.Year{Year: y.Year, Months: y.Months[:], Return: y.Return})
	}
	for _, d := range c.Drawdowns {
		fall := httpapi.Drawdown{Peak: instant(d.Peak), Trough: instant(d.Trough), Depth: d.Depth, Bars: d.Bars}
		if d.Recovered != nil {
			at := instant(*d.Recovered)
			fall.Recovered = &at
		}
		out.Drawdowns = append(out.Drawdowns, fall)
	}
	return out
}

func instant(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
