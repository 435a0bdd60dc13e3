package jobs

import (
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/metrics"
)

// The names of artifacts.
const (
	ModelFile    = "model.safetensors" // what a training makes
	BacktestFile = "backtest.ktbt"     // what a backtest makes
)

// TrainingResult is what a training ends with. Nothing in it but Kernel depends
// on where and in how many attempts it was run.
type TrainingResult struct {
	Summary  string         `json:"summary"` // for people
	Strategy string         `json:"strategy_name"`
	Model    ktrdr.Artifact `json:"model"`
	metrics.Metrics
	Preflight metrics.Preflight `json:"preflight"`
	Seed      uint64            `json:"seed"`
	Numerics  string            `json:"numerics"`
	Kernel    string            `json:"kernel"` // that ended it
	Artifacts []ktrdr.Artifact  `json:"artifacts"`
	Opened    *Opening          `json:"holdout_opened,omitempty"` // nil if it read no bar of a holdout
	MadeUp    *bool             `json:"made_up"`                  // its prices, or some of them, were made up; null: not known

	// ResultHash covers strategy, data, seed, arithmetic, weights and figures.
	ResultHash ktrdr.Hash `json:"result_hash"`
}

// BacktestResult is what a backtest ends with. Nothing in it depends on where
// and in how many attempts it was run.
type BacktestResult struct {
	Summary   string           `json:"summary"` // for people
	Strategy  string           `json:"strategy_name"`
	Symbol    string           `json:"symbol,omitempty"`  // the only one that was traded
	Symbols   []string         `json:"symbols,omitempty"` // several: the figures are those of the sum of their accounts
	Timeframe market.Timeframe `json:"timeframe"`
	Start     time.Time        `json:"start_time"` // opening of the first bar that could decide
	End       time.Time        `json:"end_time"`   // opening of the last bar
	Sample    Sample           `json:"sample"`
	Config    backtest.Config  `json:"config"`
	Metrics   backtest.Metrics `json:"metrics"`
	Ended     backtest.Reason  `json:"ended"`
	Trades    int              `json:"trade_count"`
	Curve     int              `json:"equity_curve_length"`
	Holds     metrics.Holds    `json:"holds"`              // why there was no signal
	Accounts  []AccountResult  `json:"accounts,omitempty"` // of each symbol, where there are several
	Warnings  []string         `json:"warnings"`
	Model     ktrdr.Artifact   `json:"model"`
	Artifacts []ktrdr.Artifact `json:"artifacts"`
	Opened    *Opening         `json:"holdout_opened,omitempty"` // nil if it read no bar of a holdout
	MadeUp    *bool            `json:"made_up"`                  // its prices, or some of them, were made up; null: not known
	Daily     *Daily           `json:"daily_returns,omitempty"`  // of the sum; nil in the result of an earlier version

	// ResultHash covers model, data, settings, trades, curve and figures.
	ResultHash ktrdr.Hash `json:"result_hash"`
}

// Sample says whether the model had seen, in training or when its weights were
// chosen, the time that it was then tested on. Another symbol of the same time
// counts as seen, since markets move together. How many strategies were tried on
// these bars before this one it does not say: that is in the ledger.
type Sample struct {
	Scope       Scope     `json:"scope"`
	OutOfSample bool      `json:"out_of_sample"` // of this model's training, and of nothing more
	UnseenFrom  time.Time `json:"unseen_from"`   // nothing of the model knows the bars from here on
	Seen        int       `json:"bars_seen_in_training"`
	Unseen      int       `json:"bars_unseen"`
}

// Traded are the symbols of a backtest, in the order of its accounts.
func (r BacktestResult) Traded() []string { return traded(r.Symbol, r.Symbols) }

// AccountResult is what one symbol of a portfolio ended with.
type AccountResult struct {
	Symbol  string           `json:"symbol"`
	Start   time.Time        `json:"start_time"` // opening of the first bar that could decide
	End     time.Time        `json:"end_time"`   // opening of the last bar
	Config  backtest.Config  `json:"config"`
	Metrics backtest.Metrics `json:"metrics"`
	Ended   backtest.Reason  `json:"ended"`
	Trades  int              `json:"trade_count"`
	Holds   metrics.Holds    `json:"holds"` // why there was no signal
}

// LoadResult is what an import or a fetch ends with.
type LoadResult struct {
	Summary  string         `json:"summary"` // for people
	Entry    SeriesInfo     `json:"entry"`
	Hash     ktrdr.Hash     `json:"bars_hash"`
	Replaced *SeriesInfo    `json:"replaced,omitempty"` // the series that was current before
	Merged   *market.Merged `json:"merged,omitempty"`   // how the bars were added to those before

	Market   string `json:"market,omitempty"`          // empty while it is undecided
	Reason   string `json:"market_reason,omitempty"`   // why it belongs there
	Question string `json:"market_question,omitempty"` // what the user must decide

	Report market.DataReport `json:"report"`
	Notes  []string          `json:"notes,omitempty"` // what a fetch left out, or could not get

	// DryRun says that nothing was stored. Refused says then why an import with the
	// same request would be refused, Replaced names the series that exists, and
	// Merged says how the bars would be added to it.
	DryRun  bool   `json:"dry_run,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// ProgressContext are what a progress says besides how far it is. It is the context of
// a ktrdr.Progress; what does not apply is left out.
type ProgressContext struct {
	Epoch  int `json:"epoch,omitempty"` // the one under way, from 1
	Epochs int `json:"epochs,omitempty"`
	Bar    int `json:"bar,omitempty"` // bars done
	Bars   int `json:"bars,omitempty"`

	Loss        *float64 `json:"loss,omitempty"` // of the epoch so far
	Accuracy    *float64 `json:"accuracy,omitempty"`
	ValLoss     *float64 `json:"val_loss,omitempty"` // of the epoch before
	ValAccuracy *float64 `json:"val_accuracy,omitempty"`
	Trades      int      `json:"trades,omitempty"`

	RowsPerSecond float64 `json:"rows_per_s,omitempty"`
	BarsPerSecond float64 `json:"bars_per_s,omitempty"`
	ETASeconds    float64 `json:"eta_seconds,omitempty"`
}

// ColumnNames are the columns of a backtest's result.
var ColumnNames = []string{"trades", "equity", "positions", "curve", "returns"}
