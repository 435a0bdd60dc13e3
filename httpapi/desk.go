package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Desk is what the API needs of whoever turns requests into operations. It says
// what is wrong with a request before anything is created.
type Desk interface {
	Training(ctx context.Context, r TrainingRequest) (Order, error)
	Backtest(ctx context.Context, r BacktestRequest) (Order, error)
	DataLoad(ctx context.Context, r DataLoadRequest) (Order, error)
	Predict(ctx context.Context, r PredictionRequest) (Prediction, error)

	// Models returns a page of trained models, newest first, and where the next
	// begins.
	Models(ctx context.Context, limit int, cursor string) ([]Model, string, error)
	Strategies(ctx context.Context) ([]Strategy, error)
	Indicators() []Indicator
	Series(ctx context.Context) ([]Series, error)

	// DecideMarket assigns a series of the library to a market.
	DecideMarket(ctx context.Context, r MarketRequest) (Series, error)

	LibraryDesk

	// Columns returns a page of what a backtest stored.
	Columns(ctx context.Context, op ktrdr.Operation, q ColumnsQuery) (Columns, error)

	// File returns a file that an operation made; one of a compacted operation
	// is computed again.
	File(ctx context.Context, op ktrdr.Operation, name string) ([]byte, error)

	// Pin keeps the files of the research that an operation belongs to, or lets
	// it be compacted, and returns the research.
	Pin(ctx context.Context, id ktrdr.OperationID, pinned bool) (ktrdr.Operation, error)
}

// Order is an operation to be created, and what is probably not meant about it.
type Order struct {
	Operation ktrdr.NewOperation
	Warnings  []string
}

// TrainingRequest asks for a training. Exactly one of the first three names the
// strategy; what else is given wins over what the strategy says.
type TrainingRequest struct {
	StrategyPath string   `json:"strategy_path,omitempty"` // relative to the data folder
	StrategyName string   `json:"strategy_name,omitempty"` // of strategies/ in the data folder, or one that comes with the program
	StrategyYAML string   `json:"strategy_yaml,omitempty"`
	Symbol       string   `json:"symbol,omitempty"`
	Symbols      []string `json:"symbols,omitempty"`
	Timeframe    string   `json:"timeframe,omitempty"`
	Timeframes   []string `json:"timeframes,omitempty"`
	StartDate    string   `json:"start_date,omitempty"` // 2024-06-30 or RFC 3339
	EndDate      string   `json:"end_date,omitempty"`   // a day is included
	Seed         *uint64  `json:"seed,omitempty"`
	OpenHoldout  bool     `json:"open_holdout,omitempty"` // train on the bars of the holdout too; it is counted as a look
}

// BacktestRequest asks for a backtest. The model is named by the id of its
// training, by the sha256 of its file, or by a path in the data folder; without
// one it is the newest of the strategy. A model that a research made is traded
// on the bars that the research searched.
type BacktestRequest struct {
	Model          string   `json:"model,omitempty"`
	ModelPath      string   `json:"model_path,omitempty"`
	StrategyName   string   `json:"strategy_name,omitempty"`
	Symbol         string   `json:"symbol,omitempty"`  // or symbols; none means all that the model was trained on
	Symbols        []string `json:"symbols,omitempty"` // one account for each, with the same share of the capital
	Timeframe      string   `json:"timeframe,omitempty"`
	StartDate      string   `json:"start_date,omitempty"`
	EndDate        string   `json:"end_date,omitempty"`
	Scope          string   `json:"scope,omitempty"` // test: bars that the model has not seen; all: its training too
	InitialCapital *float64 `json:"initial_capital,omitempty" zero:"refused"`
	Commission     *float64 `json:"commission,omitempty"`
	Slippage       *float64 `json:"slippage,omitempty"`
	Spread         *float64 `json:"spread,omitempty"`
	OpenHoldout    bool     `json:"open_holdout,omitempty"` // trade the bars of the holdout too; it is counted as a look
}

// PredictionRequest asks a model about the newest bars of a symbol before the
// holdout of its market. The model is named as in a BacktestRequest.
type PredictionRequest struct {
	Model       string `json:"model"`                         // the id of a training, the sha256 of a model, or its path in the data folder
	Symbol      string `json:"symbol,omitempty"`              // empty means the first that the model was trained on
	Last        int    `json:"last,omitempty" zero:"refused"` // how many bars, at most 10000; absent means 5
	OpenHoldout bool   `json:"open_holdout,omitempty"`        // read the bars of the holdout too; it is counted as a look
}

// Prediction is what a model decides at each of some bars.
type Prediction struct {
	Strategy  string             `json:"strategy_name"`
	Symbol    string             `json:"symbol"`
	Timeframe string             `json:"timeframe"`
	Classes   []string           `json:"classes,omitempty"` // of the answers; absent when they are forecast returns
	Bars      []PredictedBar     `json:"bars"`
	Warnings  []string           `json:"warnings,omitempty"`
	MadeUp    *bool              `json:"made_up"`        // the prices, or some of them, are made up; null: not known
	Look      []ktrdr.LookMarket `json:"look,omitempty"` // the number of the look at each market; absent when no holdout was opened
}

// PredictedBar is what a model decides at the close of a bar.
type PredictedBar struct {
	Time       time.Time `json:"time"`   // opening of the bar
	Closed     time.Time `json:"closed"` // when it was known
	Close      float64   `json:"close"`
	Signal     string    `json:"signal"` // BUY, HOLD or SELL
	Confidence float32   `json:"confidence"`
	Answers    []float32 `json:"answers"` // probabilities of the classes, or the forecast return; empty without features
}

// DataLoadRequest asks for the import of a price file, CSV or Parquet.
type DataLoadRequest struct {
	Path      string  `json:"path,omitempty"`   // relative to the data folder
	SHA256    string  `json:"sha256,omitempty"` // of a blob
	Symbol    string  `json:"symbol"`
	Timeframe string  `json:"timeframe,omitempty"`             // empty means the one that the times show
	Zone      string  `json:"zone,omitempty"`                  // of times that carry none; empty means UTC
	Divide    float64 `json:"divide,omitempty" zero:"refused"` // prices are in points: how many make one unit
	Normalise bool    `json:"normalise,omitempty"`             // mend what is wrong instead of refusing it
	Mode      string  `json:"mode,omitempty"`                  // replace or append, where the series exists; empty means that it is refused

	SameMarketAs string `json:"same_market_as,omitempty"` // a symbol or a market; merges markets, and decides where the prices do not
	NewMarket    bool   `json:"new_market,omitempty"`     // decides where the prices do not
}

// MarketRequest says to which market a series of the library belongs. Without
// an answer its prices decide, if they can.
type MarketRequest struct {
	Symbol       string `json:"symbol"`
	Timeframe    string `json:"timeframe"`
	SameMarketAs string `json:"same_market_as,omitempty"` // a symbol or a market
	NewMarket    bool   `json:"new_market,omitempty"`
}

// Model is a trained model.
type Model struct {
	Operation    ktrdr.OperationID `json:"operation_id"`
	Strategy     string            `json:"strategy_name"`
	File         ktrdr.Artifact    `json:"model"`
	Architecture string            `json:"architecture"`
	Symbols      []string          `json:"symbols"`
	Timeframes   []string          `json:"timeframes"`
	Seed         uint64            `json:"seed"`
	TestAccuracy *float64          `json:"test_accuracy"`
	TestLoss     *float64          `json:"test_loss"`
	Baseline     *float64          `json:"baseline_accuracy"` // always the most frequent answer
	Warnings     int               `json:"warnings"`
	MadeUp       *bool             `json:"made_up"` // bars that it was trained on were made up; null: not known
	ResultHash   ktrdr.Hash        `json:"result_hash"`
	CompletedAt  time.Time         `json:"completed_at"`
}

// Strategy is a strategy that can be named.
type Strategy struct {
	Name        string   `json:"name"`
	From        string   `json:"from"`             // file: of strategies/ of the answering backend; lab: of every backend; built-in
	Path        string   `json:"path,omitempty"`   // of a file, in the data folder
	Source      string   `json:"source,omitempty"` // the file that the lab's strategy was read from
	Description string   `json:"description,omitempty"`
	Symbols     []string `json:"symbols,omitempty"`
	Timeframes  []string `json:"timeframes,omitempty"`
	Model       string   `json:"model,omitempty"`
	Features    int      `json:"features,omitempty"`
	Problems    []string `json:"problems,omitempty"` // why it cannot be used
	Warnings    []string `json:"warnings,omitempty"`
}

// Indicator is an indicator that strategies may use.
type Indicator struct {
	Name       string               `json:"name"`
	Aliases    []string             `json:"aliases,omitempty"`
	Definition string               `json:"definition"`
	Follows    string               `json:"follows"` // whose definition it is
	Parameters []IndicatorParameter `json:"parameters"`
	Outputs    []IndicatorOutput    `json:"outputs"`
}

// IndicatorParameter is one of its parameters.
type IndicatorParameter struct {
	Name        string          `json:"name"`
	Kind        string          `json:"kind"`
	Default     json.RawMessage `json:"default"` // a number, a boolean or a text
	Min         *float64        `json:"min,omitempty"`
	Max         *float64        `json:"max,omitempty"`
	Choices     []string        `json:"choices,omitempty"`
	Description string          `json:"description,omitempty"`
}

// IndicatorOutput is one of its outputs.
type IndicatorOutput struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	WarmUp int    `json:"warm_up"` // bars before the first value, with the default parameters
}

// Series is bars of a symbol.
type Series struct {
	Symbol    string     `json:"symbol"`
	Timeframe string     `json:"timeframe"`
	Hash      ktrdr.Hash `json:"bars_hash,omitzero"`
	Bars      int        `json:"bars"`
	First     time.Time  `json:"first,omitzero"` // opening of the first bar
	Last      time.Time  `json:"last,omitzero"`
	Size      int64      `json:"size"`              // of its file, in bytes
	Origin    string     `json:"origin,omitempty"`  // file, synth, resample, rename, or folder of an earlier version
	Source    string     `json:"source,omitempty"`  // the files, the series or the folder that it was made of
	MadeUp    *bool      `json:"made_up"`           // its bars, or some of them, were made up; null: not known
	AddedAt   time.Time  `json:"added_at,omitzero"` // when it became current
	Problem   string     `json:"problem,omitempty"` // why it cannot be read; the rest is then unknown

	Market         string    `json:"market,omitempty"`          // empty while it is undecided
	MarketReason   string    `json:"market_reason,omitempty"`   // why it belongs there
	MarketQuestion string    `json:"market_question,omitempty"` // what the user must decide, and how
	HoldoutFrom    time.Time `json:"holdout_from,omitzero"`     // of the market; bars that close after this are its holdout
	Trials         int       `json:"trials"`                    // on the market
	Looks          int       `json:"looks"`                     // at its holdout
}

// ColumnsQuery says which part of a backtest is wanted.
type ColumnsQuery struct {
	Trades, Equity, Positions, Curve, Returns bool
	From, Limit                               int
}

// Columns is a page of what a backtest stored.
type Columns struct {
	Trades    []Trade
	Equity    []Point
	Positions []Point
	Accounts  []AccountColumns
	Curve     *Curve
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

// Curve is what the equity curve of a backtest shows, computed when it is asked
// for. Returns and depths are fractions.
type Curve struct {
	Years     []Year     `json:"years"`
	Drawdowns []Drawdown `json:"drawdowns"` // at most five, the deepest first
	Sharpe    Interval   `json:"sharpe_ratio"`
}

// Year is a row of the table of monthly returns.
type Year struct {
	Year   int        `json:"year"`
	Months []*float64 `json:"months"` // twelve; null where there is no bar
	Return float64    `json:"return"` // as far as the curve has the year
}

// Drawdown is a fall below the highest equity until then.
type Drawdown struct {
	Peak      time.Time  `json:"peak"` // openings of the bars
	Trough    time.Time  `json:"trough"`
	Recovered *time.Time `json:"recovered"` // null while it lasts
	Depth     float64    `json:"depth"`
	Bars      int        `json:"bars"` // from the peak to the recovery, or to the end
}

// Interval is a figure and where it lies with some confidence, by resampling the
// returns in blocks. Strategies that were tried before are not counted.
type Interval struct {
	Estimate  *float64 `json:"estimate"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	P         *float64 `json:"p"`        // how often chance alone does as well
	PerYear   bool     `json:"per_year"` // else per bar: how many there are in a year is unknown
	Level     float64  `json:"level"`
	Draws     int      `json:"draws"`
	Block     float64  `json:"block"` // mean length, bars
	Undefined string   `json:"undefined,omitempty"`
}
