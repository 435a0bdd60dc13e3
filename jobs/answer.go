package jobs

import (
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
)

// Prediction is what a model decides at each of some bars.
type Prediction struct {
	Strategy  string             `json:"strategy_name"`
	Symbol    string             `json:"symbol"`
	Timeframe market.Timeframe   `json:"timeframe"`
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

// Page says which columns of a backtest are wanted, and which part of them.
type Page struct {
	Trades, Equity, Positions, Curve, Returns bool
	From, Limit                               int

	WorstFirst bool      // trades by what they left; else by time
	Since      time.Time // only trades that end then or later
	Points     int       // of the equity: this number at most, of all of it and not of a page; 0: a page of every bar
	Start, End time.Time // of the equity in points: only bars that open from Start on and before End; zero: no bound
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

// AccountColumns is the page of one of several symbols, at the times of the sum.
type AccountColumns struct {
	Symbol    string  `json:"symbol"`
	Equity    []Point `json:"equity,omitempty"`
	Positions []Point `json:"positions,omitempty"`
}

// Trade is a position from its entry to its exit, with all it cost.
type Trade struct {
	Number     int       `json:"number"`           // from 1, in the order of exits
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

// TrainedModel is a trained model.
type TrainedModel struct {
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

// Where a strategy comes from. A name is looked up in this order.
const (
	StrategyOfFile    = "file"     // a file of strategies/ in the data folder of this backend
	StrategyOfLab     = "lab"      // the lab's own: every backend has it
	StrategyOfProgram = "built-in" // it comes with the program
)

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
