package export

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

type tradeRow struct {
	Symbol     string    `parquet:"symbol"`
	EntryTime  time.Time `parquet:"entry_time,timestamp(microsecond)"`
	ExitTime   time.Time `parquet:"exit_time,timestamp(microsecond)"`
	EntryBar   int64     `parquet:"entry_bar"`
	ExitBar    int64     `parquet:"exit_bar"`
	Side       string    `parquet:"side"`
	Reason     string    `parquet:"reason"`
	Quantity   float64   `parquet:"quantity"`
	EntryPrice float64   `parquet:"entry_price"`
	ExitPrice  float64   `parquet:"exit_price"`
	Gross      float64   `parquet:"gross"`
	Costs      float64   `parquet:"costs"`
	Net        float64   `parquet:"net"`
	MAE        float64   `parquet:"mae"`
	MFE        float64   `parquet:"mfe"`
}

// equityRow is an account at the close of a bar. Of the sum of several accounts the
// symbol is empty.
type equityRow struct {
	Time   time.Time `parquet:"time,timestamp(microsecond)"`
	Symbol string    `parquet:"symbol"`
	Equity float64   `parquet:"equity"`
}

type positionRow struct {
	Time     time.Time `parquet:"time,timestamp(microsecond)"`
	Symbol   string    `parquet:"symbol"`
	Position float64   `parquet:"position"`
}

// figureRow is one figure of a result. It is a number or a text.
type figureRow struct {
	Part   string   `parquet:"part"`
	Figure string   `parquet:"figure"`
	Value  *float64 `parquet:"value,optional"`
	Text   string   `parquet:"text"`
}

// pageRows is how many rows the API gives at a time.
const pageRows = 1000

// Results are the tables of an operation: trades, equity and positions of a
// backtest, or of the backtest of a research, and figures. What a holdout shows
// is there only if it was opened by a look.
func Results(ctx context.Context, c *client.Client, id ktrdr.OperationID) ([]Table, error) {
	r, _, err := c.Results(ctx, id, nil, 0, "")
	if err != nil {
		return nil, err
	}
	if r.Status != ktrdr.Completed {
		return nil, ktrdr.Errorf(ktrdr.CodeConflict, "%s is %s: only what has completed is exported", id, r.Status)
	}
	part, backtest := "", id
	if r.Type == ktrdr.AgentResearch {
		part = "test"
	}
	figures := figuresOf(part, r.Results)
	if r.Type == ktrdr.AgentResearch {
		var result research.Result
		if err := json.Unmarshal(r.Results, &result); err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "result of %s: %w", id, err)
		}
		backtest = result.Backtest
		for i := range r.Looks {
			figures = append(figures, figuresOf("holdout", r.Looks[i].Result)...)
		}
	} else if r.Type != ktrdr.Backtesting {
		backtest = ""
	}
	if backtest == "" {
		return []Table{rows[figureRow]{"figures", figures}}, nil
	}
	list, err := columns(ctx, c, backtest)
	return append(list, rows[figureRow]{"figures", figures}), err
}

// columns reads all pages of the columns of a backtest.
func columns(ctx context.Context, c *client.Client, id ktrdr.OperationID) ([]Table, error) {
	var trades []tradeRow
	var equity []equityRow
	var positions []positionRow
	for cursor := ""; ; {
		r, next, err := c.Results(ctx, id, []string{"trades", "equity", "positions"}, pageRows, cursor)
		if err != nil {
			return nil, err
		}
		var only struct { // the symbol, if there is one
			Symbol string `json:"symbol"`
		}
		_ = json.Unmarshal(r.Results, &only)
		for _, t := range r.Trades {
			t.Symbol = cmp.Or(t.Symbol, only.Symbol)
			trades = append(trades, tradeRow{
				t.Symbol, t.EntryTime, t.ExitTime, int64(t.EntryBar), int64(t.ExitBar), t.Side, t.Reason, t.Quantity, t.EntryPrice, t.ExitPrice,
				t.Gross, t.Costs, t.Net, t.MAE, t.MFE,
			})
		}
		all := append([]jobs.AccountColumns{{Symbol: only.Symbol, Equity: r.Equity, Positions: r.Positions}}, r.Accounts...)
		for _, account := range all {
			for _, p := range account.Equity {
				equity = append(equity, equityRow{p.Time, account.Symbol, p.Value})
			}
			for _, p := range account.Positions {
				positions = append(positions, positionRow{p.Time, account.Symbol, p.Value})
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	byTime := func(at, other time.Time, symbol, of string) int {
		return cmp.Or(cmp.Compare(symbol, of), at.Compare(other))
	}
	slices.SortStableFunc(equity, func(a, b equityRow) int { return byTime(a.Time, b.Time, a.Symbol, b.Symbol) })
	slices.SortStableFunc(positions, func(a, b positionRow) int { return byTime(a.Time, b.Time, a.Symbol, b.Symbol) })
	return []Table{rows[tradeRow]{"trades", trades}, rows[equityRow]{"equity", equity}, rows[positionRow]{"positions", positions}}, nil
}

// notFigures are parts of results that are no figures.
var notFigures = []string{"daily_returns", "artifacts", "model"}

// figuresOf are the numbers and texts of a result by their paths, such as
// backtest_result.sharpe_ratio.
func figuresOf(part string, result json.RawMessage) (list []figureRow) {
	var tree any
	if json.Unmarshal(result, &tree) != nil { // it has none
		return nil
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch x := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(x)) {
				if below := key; !slices.Contains(notFigures, key) {
					if path != "" {
						below = path + "." + key
					}
					walk(below, x[key])
				}
			}
		case []any:
			for i, below := range x {
				walk(path+"."+strconv.Itoa(i), below)
			}
		case float64:
			list = append(list, figureRow{Part: part, Figure: path, Value: &x})
		case string:
			list = append(list, figureRow{Part: part, Figure: path, Text: x})
		case bool:
			list = append(list, figureRow{Part: part, Figure: path, Text: strconv.FormatBool(x)})
		}
	}
	walk("", tree)
	return list
}
