package jobs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
)

// Page says which part of a backtest's columns is wanted, and whether what the
// whole curve shows is.
type Page struct {
	Trades, Equity, Positions, Curve, Returns bool
	From, Limit                               int
}

// Columns is a page of a backtest: of each column that was asked for, the
// entries from the page's beginning on. Bars count from the first that could
// decide. Of several symbols Equity and Curve are those of the sum, and the
// positions are in Accounts.
type Columns struct {
	Trades    []backtest.Trade
	Time      []int64 // of the bars whose equity or position follows
	Equity    []float64
	Positions []float32
	Accounts  []AccountColumns // of each symbol, where there are several
	Curve     *evidence.Curve  // nil where it was not asked for
	Returns   []DayReturn      // of each day

	TotalTrades int
	TotalBars   int
	TotalDays   int
}

// AccountColumns is the page of one symbol, at the times of the sum.
type AccountColumns struct {
	Symbol    string
	Equity    []float64
	Positions []float32
}

// More says whether a page further on has anything.
func (c Columns) More(p Page) bool {
	next := p.From + p.Limit
	return p.Trades && next < c.TotalTrades || (p.Equity || p.Positions) && next < c.TotalBars || p.Returns && next < c.TotalDays
}

// maxColumns bounds the file that is decoded to show a part of it.
const maxColumns = 512 << 20

// Columns reads a page of what a backtest stored. CodeInvalid when the operation
// is none, or has not completed.
func (d *Desk) Columns(ctx context.Context, op ktrdr.Operation, p Page) (Columns, error) {
	if op.Type != ktrdr.Backtesting || op.Status != ktrdr.Completed {
		return Columns{}, wrong("%s is an operation of type %s that is %s: only a COMPLETED backtest has trades, equity and positions", op.ID, op.Type, op.Status)
	}
	if p.Returns && !p.Trades && !p.Equity && !p.Positions && !p.Curve {
		var r BacktestResult
		if err := json.Unmarshal(op.Result, &r); err != nil {
			return Columns{}, fmt.Errorf("result of %s: %w", op.ID, err)
		}
		if r.Daily != nil { // they are kept of every backtest
			return Columns{}.withReturns(r.Daily, p)
		}
	}
	select {
	case d.decodes <- struct{}{}:
		defer func() { <-d.decodes }()
	case <-ctx.Done():
		return Columns{}, context.Cause(ctx)
	}
	all, seed, err := d.decode(ctx, op)
	if err != nil {
		return Columns{}, err
	}
	run := all.Sum
	first := run.Config.StartBar // nothing happens before
	c := Columns{TotalTrades: len(run.Trades), TotalBars: len(run.Time) - first}
	if p.Trades {
		c.Trades = part(run.Trades, p)
	}
	if p.Equity || p.Positions {
		c.Time = part(run.Time[first:], p)
	}
	if p.Equity {
		c.Equity = part(run.Equity[first:], p)
	}
	if p.Positions && len(all.Accounts) == 1 {
		c.Positions = part(run.Position[first:], p)
	}
	if len(all.Accounts) > 1 {
		c.Accounts = accountColumns(all.Accounts, c.Time, p)
	}
	if p.Curve {
		curve, err := evidence.CurveOf(run, seed)
		if err != nil {
			return Columns{}, fmt.Errorf("%s: %w", op.ID, err)
		}
		c.Curve = &curve
	}
	if p.Returns {
		return c.withReturns(dailyOf(run), p)
	}
	return c, nil
}

// withReturns adds a page of the daily returns.
func (c Columns) withReturns(daily *Daily, p Page) (Columns, error) {
	if daily == nil {
		return c, nil
	}
	days, err := daily.List()
	c.Returns, c.TotalDays = part(days, p), len(days)
	return c, err
}

// accountColumns are the equity and the position of every account at the times of
// a page. Between two of its bars an account keeps both; after its last it holds
// nothing.
func accountColumns(accounts []backtest.Account, times []int64, p Page) []AccountColumns {
	list := make([]AccountColumns, len(accounts))
	for k, a := range accounts {
		c := AccountColumns{Symbol: a.Symbol}
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
				c.Equity = append(c.Equity, equity)
			}
			if p.Positions {
				c.Positions = append(c.Positions, position)
			}
		}
		list[k] = c
	}
	return list
}

func part[T any](column []T, p Page) []T {
	from := min(p.From, len(column))
	return column[from:min(from+p.Limit, len(column))]
}

// decode reads the columns of a backtest. The seed is of its result hash: what is
// drawn from it is the same whenever it is asked for.
func (d *Desk) decode(ctx context.Context, op ktrdr.Operation) (run *backtest.Portfolio, seed uint64, err error) {
	var r BacktestResult
	if err := json.Unmarshal(op.Result, &r); err != nil {
		return nil, 0, fmt.Errorf("result of %s: %w", op.ID, err)
	}
	a, err := fileOf(op, BacktestFile)
	if err != nil {
		return nil, 0, err
	}
	if a.Size > maxColumns {
		return nil, 0, ktrdr.Errorf(ktrdr.CodeTooLarge, "%s of %s has %d MB, more than is decoded here: download it", a.Name, op.ID, a.Size>>20)
	}
	b, err := d.File(ctx, op, BacktestFile)
	if err != nil {
		return nil, 0, err
	}
	if run, err = portfolioOf(b, r); err != nil {
		return nil, 0, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s of %s: %w", a.Name, op.ID, err)
	}
	return run, binary.BigEndian.Uint64(r.ResultHash[:]), nil
}
