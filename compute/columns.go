package compute

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
)

const maxColumns = 512 << 20

// Columns reads a page of what a completed backtest stored. CodeInvalid.
func (d *Service) Columns(ctx context.Context, op ktrdr.Operation, p jobs.Page) (jobs.Columns, error) {
	if op.Type != ktrdr.Backtesting || op.Status != ktrdr.Completed {
		return jobs.Columns{}, wrong("%s is an operation of type %s that is %s: only a COMPLETED backtest has trades, equity and positions",
			op.ID, op.Type, op.Status)
	}
	if p.Returns && !p.Trades && !p.Equity && !p.Positions && !p.Curve {
		var r jobs.BacktestResult
		if err := json.Unmarshal(op.Result, &r); err != nil {
			return jobs.Columns{}, fmt.Errorf("result of %s: %w", op.ID, err)
		}
		if r.Daily != nil { // they are kept of every backtest
			return withReturns(jobs.Columns{}, r.Daily, p)
		}
	}
	select {
	case d.decodes <- struct{}{}:
		defer func() { <-d.decodes }()
	case <-ctx.Done():
		return jobs.Columns{}, context.Cause(ctx)
	}
	all, seed, err := d.decode(ctx, op)
	if err != nil {
		return jobs.Columns{}, err
	}
	run := all.Sum
	first := run.Config.StartBar // nothing happens before
	c := jobs.Columns{}
	if p.Trades {
		list := shownTrades(run.Trades, p)
		c.Trades, c.More = part(list, p), continues(p, len(list))
	}
	times := part(run.Time[first:], p)
	if p.Equity && p.Points == 0 || p.Positions {
		c.More = c.More || continues(p, len(run.Time)-first)
	}
	switch {
	case p.Equity && p.Points > 0:
		from, to := within(run.Time, first, p.Start, p.End)
		c.Equity = thinned(run.Time[from:to], run.Equity[from:to], p.Points)
	case p.Equity:
		c.Equity = points(times, part(run.Equity[first:], p))
	}
	if p.Positions && len(all.Accounts) == 1 {
		c.Positions = points(times, part(run.Position[first:], p))
	}
	if len(all.Accounts) > 1 && (p.Equity && p.Points == 0 || p.Positions) {
		c.Accounts = accountColumns(all.Accounts, times, p)
	}
	if p.Curve {
		curve, err := evidence.CurveOf(run, seed)
		if err != nil {
			return jobs.Columns{}, fmt.Errorf("%s: %w", op.ID, err)
		}
		c.Curve = &curve
	}
	if p.Returns {
		return withReturns(c, jobs.DailyOf(run), p)
	}
	return c, nil
}

// within are the bounds of the bars, from first on, that open from start on and
// before end. A zero instant is no bound.
func within(times []int64, first int, start, end time.Time) (from, to int) {
	from, to = first, len(times)
	if !end.IsZero() {
		to, _ = slices.BinarySearch(times, end.Unix())
	}
	if !start.IsZero() {
		from, _ = slices.BinarySearch(times, start.Unix())
	}
	from = max(from, first)
	return from, max(from, to)
}

func withReturns(c jobs.Columns, daily *jobs.Daily, p jobs.Page) (jobs.Columns, error) {
	if daily == nil {
		return c, nil
	}
	days, err := daily.List()
	for _, d := range part(days, p) {
		c.Returns = append(c.Returns, jobs.Point{Time: d.Day, Value: float64(d.Return)})
	}
	c.More = c.More || continues(p, len(days))
	return c, err
}

// accountColumns are equity and position of every account at the times of a page.
// Between its bars an account keeps both; after its last it holds nothing.
func accountColumns(accounts []backtest.Account, times []int64, p jobs.Page) []jobs.AccountColumns {
	list := make([]jobs.AccountColumns, len(accounts))
	for k, a := range accounts {
		c := jobs.AccountColumns{Symbol: a.Symbol}
		for _, at := range times {
			i, exact := slices.BinarySearch(a.Time, at)
			if !exact {
				i-- // the bar before
			}
			equity, position := a.Config.InitialCapital, float32(0)
			if i >= 0 {
				equity, position = a.Equity[i], a.Position[i]
			}
			if p.Equity {
				c.Equity = append(c.Equity, jobs.Point{Time: instant(at), Value: equity})
			}
			if p.Positions {
				c.Positions = append(c.Positions, jobs.Point{Time: instant(at), Value: float64(position)})
			}
		}
		list[k] = c
	}
	return list
}

func shownTrades(trades []backtest.Trade, p jobs.Page) []jobs.Trade {
	list := make([]jobs.Trade, 0, len(trades))
	for i, t := range trades {
		if shown := shownTrade(t); !shown.ExitTime.Before(p.Since) {
			shown.Number = i + 1
			list = append(list, shown)
		}
	}
	if p.WorstFirst {
		slices.SortStableFunc(list, func(a, b jobs.Trade) int { return cmp.Compare(a.Net, b.Net) })
	}
	return list
}

// thinned keeps at most n points of a series, but not fewer than 4: the first, the
// last, and the lowest and the highest of each stretch between them.
func thinned(times []int64, values []float64, n int) []jobs.Point {
	if n = max(n, 4); len(values) <= n {
		return points(times, values)
	}
	at := func(i int) jobs.Point { return jobs.Point{Time: instant(times[i]), Value: values[i]} }
	kept := []jobs.Point{at(0)}
	inner, stretches := len(values)-2, (n-2)/2
	for k := range stretches {
		low, high := 1+inner*k/stretches, 1+inner*k/stretches
		for i := low; i < 1+inner*(k+1)/stretches; i++ {
			if values[i] < values[low] {
				low = i
			}
			if values[i] > values[high] {
				high = i
			}
		}
		kept = append(kept, at(min(low, high)))
		if low != high {
			kept = append(kept, at(max(low, high)))
		}
	}
	return append(kept, at(len(values)-1))
}

func shownTrade(t backtest.Trade) jobs.Trade {
	return jobs.Trade{
		Symbol: t.Symbol, EntryTime: instant(t.EntryTime), ExitTime: instant(t.ExitTime), EntryBar: int(t.EntryBar), ExitBar: int(t.ExitBar),
		Side: t.Side.String(), Reason: t.Reason.String(), Quantity: t.Quantity, EntryPrice: t.EntryPrice, ExitPrice: t.ExitPrice,
		Gross: t.Gross, Costs: t.Costs, Net: t.Net, MAE: t.MAE, MFE: t.MFE,
	}
}

func points[T float32 | float64](times []int64, values []T) []jobs.Point {
	list := make([]jobs.Point, len(values))
	for i, x := range values {
		list[i] = jobs.Point{Time: instant(times[i]), Value: float64(x)}
	}
	return list
}

func continues(p jobs.Page, n int) bool { return p.From+p.Limit < n }

func part[T any](column []T, p jobs.Page) []T {
	from := min(p.From, len(column))
	return column[from:min(from+p.Limit, len(column))]
}

// decode reads the columns of a backtest. The seed is of its result hash: what is
// drawn from it is the same whenever it is asked for.
func (d *Service) decode(ctx context.Context, op ktrdr.Operation) (run *backtest.Portfolio, seed uint64, err error) {
	var r jobs.BacktestResult
	if err := json.Unmarshal(op.Result, &r); err != nil {
		return nil, 0, fmt.Errorf("result of %s: %w", op.ID, err)
	}
	a, err := fileOf(op, jobs.BacktestFile)
	if err != nil {
		return nil, 0, err
	}
	if a.Size > maxColumns {
		return nil, 0, ktrdr.Errorf(ktrdr.CodeTooLarge, "%s of %s has %d MB, more than is decoded here: download it", a.Name, op.ID, a.Size>>20)
	}
	b, err := d.File(ctx, op, jobs.BacktestFile)
	if err != nil {
		return nil, 0, err
	}
	if run, err = portfolioOf(b, r); err != nil {
		return nil, 0, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s of %s: %w", a.Name, op.ID, err)
	}
	return run, binary.BigEndian.Uint64(r.ResultHash[:]), nil
}
