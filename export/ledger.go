package export

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/research"
)

type trialRow struct {
	Operation    string    `parquet:"operation_id"`
	CreatedAt    time.Time `parquet:"created_at,timestamp(microsecond)"`
	Type         string    `parquet:"operation_type"`
	Run          string    `parquet:"run"`
	Generation   int64     `parquet:"generation"`
	Index        int64     `parquet:"index"`
	Market       string    `parquet:"market"`
	Symbols      string    `parquet:"symbols"`
	Timeframes   string    `parquet:"timeframes"`
	MadeUp       *bool     `parquet:"made_up,optional"`
	Strategy     string    `parquet:"strategy_name"`
	Status       string    `parquet:"status"`
	Rung         string    `parquet:"rung"`
	Standing     string    `parquet:"standing"`
	Sharpe       *float64  `parquet:"sharpe_ratio,optional"`
	SharpeZ      *float64  `parquet:"sharpe_z,optional"`
	Alpha        *float64  `parquet:"alpha,optional"`
	AlphaZ       *float64  `parquet:"alpha_z,optional"`
	NetReturn    *float64  `parquet:"net_return,optional"`
	MaxDrawdown  *float64  `parquet:"max_drawdown,optional"`
	Trades       int64     `parquet:"total_trades"`
	CheapCosts   bool      `parquet:"cost_below_default"`
	MarketTrials int64     `parquet:"market_trials"`
	MarketLooks  int64     `parquet:"market_looks"`
	Look         string    `parquet:"look_operation_id"`
	Claim        bool      `parquet:"claim"`
	Adjusted     *float64  `parquet:"adjusted_p,optional"`
	Hash         string    `parquet:"result_hash"`
}

type lookRow struct {
	Operation  string    `parquet:"operation_id"`
	ReservedAt time.Time `parquet:"reserved_at,timestamp(microsecond)"`
	EndedAt    time.Time `parquet:"ended_at,optional,timestamp(microsecond)"`
	Kind       string    `parquet:"kind"`
	Research   string    `parquet:"research_operation_id"`
	Run        string    `parquet:"run"`
	Strategy   string    `parquet:"strategy_name"`
	Markets    string    `parquet:"markets"`
	Numbers    string    `parquet:"numbers"`
	Before     int64     `parquet:"looks_before"`
	P          *float64  `parquet:"p,optional"`
	Adjusted   *float64  `parquet:"adjusted_p,optional"`
	Claim      bool      `parquet:"claim"`
	Hash       string    `parquet:"look_hash"`
}

type experimentRow struct {
	Operation   string    `parquet:"operation_id"`
	At          time.Time `parquet:"at,timestamp(microsecond)"`
	Run         string    `parquet:"run"`
	Generation  int64     `parquet:"generation"`
	Index       int64     `parquet:"index"`
	Strategy    string    `parquet:"strategy_name"`
	Status      string    `parquet:"status"`
	Verdict     string    `parquet:"verdict"`
	Rung        string    `parquet:"rung"`
	Standing    string    `parquet:"standing"`
	Summary     string    `parquet:"summary"`
	GateReason  string    `parquet:"gate_rejection_reason"`
	Error       string    `parquet:"error_message"`
	Sharpe      *float64  `parquet:"test_sharpe,optional"`
	Alpha       *float64  `parquet:"alpha,optional"`
	Deflated    *float64  `parquet:"deflated_sharpe,optional"`
	Trials      int64     `parquet:"trials_counted"`
	NetReturn   *float64  `parquet:"net_return,optional"`
	BuyAndHold  *float64  `parquet:"buy_and_hold_return,optional"`
	MaxDrawdown *float64  `parquet:"max_drawdown,optional"`
	Trades      int64     `parquet:"total_trades"`
	CostPerSide *float64  `parquet:"cost_per_side,optional"`
	MadeUp      *bool     `parquet:"made_up,optional"`
}

// Ledger are the tables of what was tried: trials, looks and experiments, of a run
// or of all.
func Ledger(ctx context.Context, c *client.Client, run string) ([]Table, error) {
	trials, err := all(func(cursor string) ([]trialRow, string, error) {
		m, next, err := c.Memory(ctx, research.MemoryQuery{Kind: "trials", Run: run, Limit: pageRows, Cursor: cursor})
		return each(m.Trials, trialOf), next, err
	})
	if err != nil {
		return nil, err
	}
	looks, err := all(func(cursor string) ([]lookRow, string, error) {
		page, err := c.Looks(ctx, ktrdr.LookQuery{Run: run, Limit: pageRows, Cursor: cursor})
		return each(page.Looks, lookOf), page.Next, err
	})
	if err != nil {
		return nil, err
	}
	experiments, err := all(func(cursor string) ([]experimentRow, string, error) {
		m, next, err := c.Memory(ctx, research.MemoryQuery{Kind: "experiments", Run: run, Limit: pageRows, Cursor: cursor})
		return each(m.Experiments, experimentOf), next, err
	})
	return []Table{rows[trialRow]{"trials", trials}, rows[lookRow]{"looks", looks}, rows[experimentRow]{"experiments", experiments}}, err
}

// all reads all pages of a list.
func all[T any](page func(cursor string) ([]T, string, error)) (list []T, err error) {
	for cursor := ""; ; {
		some, next, err := page(cursor)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
		if cursor = next; cursor == "" {
			return list, nil
		}
	}
}

func each[From, To any](list []From, to func(*From) To) []To {
	out := make([]To, len(list))
	for i := range list {
		out[i] = to(&list[i])
	}
	return out
}

func hashText(h ktrdr.Hash) string {
	if h == (ktrdr.Hash{}) {
		return ""
	}
	return h.String()
}

func trialOf(t *ktrdr.Trial) trialRow {
	return trialRow{
		Operation: string(t.Operation), CreatedAt: t.CreatedAt, Type: string(t.Type), Run: t.Run, Generation: int64(t.Generation),
		Index: int64(t.Index), Market: t.Market, Symbols: t.Symbols, Timeframes: t.Timeframes, MadeUp: t.MadeUp, Strategy: t.Strategy,
		Status: string(t.Status), Rung: t.Rung, Standing: research.Standing(t), Sharpe: t.Sharpe, SharpeZ: t.SharpeZ, Alpha: t.Alpha,
		AlphaZ: t.AlphaZ, NetReturn: t.NetReturn, MaxDrawdown: t.MaxDrawdown, Trades: int64(t.Trades), CheapCosts: t.CheapCosts,
		MarketTrials: int64(t.MarketTrials), MarketLooks: int64(t.MarketLooks), Look: string(t.Look), Claim: t.Claim, Adjusted: t.Adjusted,
		Hash: hashText(t.Hash),
	}
}

func lookOf(l *ktrdr.Look) lookRow {
	var markets, numbers []string
	for _, m := range l.Markets {
		markets, numbers = append(markets, m.Market), append(numbers, strconv.Itoa(m.Number))
	}
	return lookRow{
		Operation: string(l.Operation), ReservedAt: l.ReservedAt, EndedAt: l.EndedAt, Kind: string(l.Kind), Research: string(l.Research),
		Run: l.Run, Strategy: l.Strategy, Markets: strings.Join(markets, " "), Numbers: strings.Join(numbers, " "), Before: int64(l.Before),
		P: l.P, Adjusted: l.Adjusted, Claim: l.Claim, Hash: hashText(l.Hash),
	}
}

func experimentOf(e *research.ExperimentRow) experimentRow {
	return experimentRow{
		Operation: string(e.Operation), At: e.At, Run: e.Run, Generation: int64(e.Generation), Index: int64(e.Index), Strategy: e.Strategy,
		Status: string(e.Status), Verdict: string(e.Verdict), Rung: e.Rung, Standing: e.Standing, Summary: e.Summary, GateReason: e.GateReason,
		Error: e.Error, Sharpe: e.TestSharpe, Alpha: e.Alpha, Deflated: e.Deflated, Trials: int64(e.Trials), NetReturn: e.NetReturn,
		BuyAndHold: e.BuyAndHold, MaxDrawdown: e.MaxDrawdown, Trades: int64(e.Trades), CostPerSide: e.CostPerSide, MadeUp: e.MadeUp,
	}
}
