package jobs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

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

// Columns is a page of what a backtest stored: of each column that was asked for,
// the entries from the beginning of the page on. Bars count from the first that
// could decide. Of several symbols Equity and Curve are those of the sum, and the
// positions are in Accounts.
type Columns struct {
	Trades    []Trade
	Equity    []Point
	Positions []Point
	Accounts  []AccountColumns
	Curve     *evidence.Curve
	Returns   []Point // of each day
	More      bool    // a page further on has anything
}

// AccountColumns is the page of one symbol of a backtest of several, at the times
// of the sum.
type AccountColumns struct {
	Symbol    string  `json:"symbol"`
	Equity    []Point `json:"equity,omitempty"`
	Positions []Point `json:"positions,omitempty"`
}

// Trade is a position from its entry to its exit, with all it cost.
type Trade struct {
	Symbol     string    `json:"symbol,omitempty"` // where several were traded
	EntryTime  time.Time `json:"entry_time"`       // openings of the bars
	ExitTime   time.Time `json:"exit_time"`
	EntryBar   int       `json:"entry_bar"`
	ExitBar    int       `json:"exit_bar"`
	Side       string    `json:"side"`
	Reason     string    `json:"reason"` // why it was left
	Quantity   float64   `json:"quantity"`
	EntryPrice float64   `json:"entry_price"` // paid, spread and slippage included
	ExitPrice  float64   `json:"exit_price"`
	Gross      float64   `json:"gross"`
	Costs      float64   `json:"costs"`
	Net        float64   `json:"net"`
	MAE        float64   `json:"mae"` // how far the price went against it
	MFE        float64   `json:"mfe"`
}

// Point is a value at a bar's close.
type Point struct {
	Time  time.Time `json:"time"` // opening of the bar
	Value float64   `json:"value"`
}

// maxColumns bounds the file that is decoded to show a part of it.
const maxColumns = 512 << 20

// Columns reads a page of what a backtest stored. CodeInvalid when the operation
// is none, or has not completed.
func (d *Desk) Columns(ctx context.Context, op ktrdr.Operation, p Page) (Columns, error) {
	if op.Type != ktrdr.Backtesting || op.Status != ktrdr.Completed {
		return Columns{}, wrong("%s is an operation of type %s that is %s: only a COMPLETED backtest has trades, equity and positions", op.ID,
			op.Type, op.Status)
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
	c := Columns{}
	if p.Trades {
		for _, t := range part(run.Trades, p) {
			c.Trades = append(c.Trades, shownTrade(t))
		}
		c.More = p.before(len(run.Trades))
	}
	times := part(run.Time[first:], p)
	if p.Equity || p.Positions {
		c.More = c.More || p.before(len(run.Time)-first)
	}
	if p.Equity {
		c.Equity = points(times, part(run.Equity[first:], p))
	}
	if p.Positions && len(all.Accounts) == 1 {
		c.Positions = points(times, part(run.Position[first:], p))
	}
	if len(all.Accounts) > 1 && (p.Equity || p.Positions) {
		c.Accounts = accountColumns(all.Accounts, times, p)
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
	for _, d := range part(days, p) {
		c.Returns = append(c.Returns, Point{Time: d.Day, Value: float64(d.Return)})
	}
	c.More = c.More || p.before(len(days))
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
				c.Equity = append(c.Equity, Point{instant(at), equity})
			}
			if p.Positions {
				c.Positions = append(c.Positions, Point{instant(at), float64(position)})
			}
		}
		list[k] = c
	}
	return list
}

func shownTrade(t backtest.Trade) Trade {
	return Trade{
		Symbol: t.Symbol, EntryTime: instant(t.EntryTime), ExitTime: instant(t.ExitTime), EntryBar: int(t.EntryBar), ExitBar: int(t.ExitBar),
		Side: t.Side.String(), Reason: t.Reason.String(), Quantity: t.Quantity, EntryPrice: t.EntryPrice, ExitPrice: t.ExitPrice,
		Gross: t.Gross, Costs: t.Costs, Net: t.Net, MAE: t.MAE, MFE: t.MFE,
	}
}

// points puts values to their times.
func points[T float32 | float64](times []int64, values []T) []Point {
	list := make([]Point, len(values))
	for i, x := range values {
		list[i] = Point{instant(times[i]), float64(x)}
	}
	return list
}

// before says whether a column of n entries goes on after the page.
func (p Page) before(n int) bool { return p.From+p.Limit < n }

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
