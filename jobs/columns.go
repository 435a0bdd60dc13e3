package jobs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
)

// Page says which part of a backtest's columns is wanted, and whether what the
// whole curve shows is.
type Page struct {
	Trades, Equity, Positions, Curve bool
	From, Limit                      int
}

// Columns is a page of a backtest: of each column that was asked for, the
// entries from the page's beginning on. Bars count from the first that could
// decide.
type Columns struct {
	Trades    []backtest.Trade
	Time      []int64 // of the bars whose equity or position follows
	Equity    []float64
	Positions []float32
	Curve     *evidence.Curve // nil where it was not asked for

	TotalTrades int
	TotalBars   int
}

// More says whether a page further on has anything.
func (c Columns) More(p Page) bool {
	next := p.From + p.Limit
	return p.Trades && next < c.TotalTrades || (p.Equity || p.Positions) && next < c.TotalBars
}

// maxColumns bounds the file that is decoded to show a part of it.
const maxColumns = 512 << 20

// Columns reads a page of what a backtest stored. CodeInvalid when the operation
// is none, or has not completed.
func (d *Desk) Columns(ctx context.Context, op ktrdr.Operation, p Page) (Columns, error) {
	if op.Type != ktrdr.Backtesting || op.Status != ktrdr.Completed {
		return Columns{}, wrong("%s is a %s operation that is %s: only a COMPLETED backtest has trades, equity and positions", op.ID, op.Type, op.Status)
	}
	select {
	case d.decodes <- struct{}{}:
		defer func() { <-d.decodes }()
	case <-ctx.Done():
		return Columns{}, context.Cause(ctx)
	}
	run, seed, err := d.decode(ctx, op)
	if err != nil {
		return Columns{}, err
	}
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
	if p.Positions {
		c.Positions = part(run.Position[first:], p)
	}
	if p.Curve {
		curve, err := evidence.CurveOf(run, seed)
		if err != nil {
			return Columns{}, fmt.Errorf("%s: %w", op.ID, err)
		}
		c.Curve = &curve
	}
	return c, nil
}

func part[T any](column []T, p Page) []T {
	from := min(p.From, len(column))
	return column[from:min(from+p.Limit, len(column))]
}

// decode reads the columns of a backtest. The seed is of its result hash: what is
// drawn from it is the same whenever it is asked for.
func (d *Desk) decode(ctx context.Context, op ktrdr.Operation) (run *backtest.Result, seed uint64, err error) {
	var r struct {
		Artifacts  []ktrdr.Artifact `json:"artifacts"`
		ResultHash ktrdr.Hash       `json:"result_hash"`
	}
	if err := json.Unmarshal(op.Result, &r); err != nil {
		return nil, 0, fmt.Errorf("result of %s: %w", op.ID, err)
	}
	for _, a := range r.Artifacts {
		if a.Name != BacktestFile {
			continue
		}
		if a.Size > maxColumns {
			return nil, 0, ktrdr.Errorf(ktrdr.CodeTooLarge, "%s of %s has %d MB, more than is decoded here: download the blob", a.Name, op.ID, a.Size>>20)
		}
		f, err := d.cfg.Blobs.Open(ctx, a.SHA256)
		if err != nil {
			return nil, 0, fmt.Errorf("%s of %s: %w", a.Name, op.ID, err)
		}
		defer func() { _ = f.Close() }() // only read
		b, err := io.ReadAll(io.LimitReader(f, maxColumns))
		if err != nil {
			return nil, 0, fmt.Errorf("%s of %s: %w", a.Name, op.ID, err)
		}
		run, err := backtest.Decode(b)
		if err != nil {
			return nil, 0, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s of %s: %w", a.Name, op.ID, err)
		}
		return run, binary.BigEndian.Uint64(r.ResultHash[:]), nil
	}
	return nil, 0, ktrdr.Errorf(ktrdr.CodeNotFound, "%s has stored no %s", op.ID, BacktestFile)
}
