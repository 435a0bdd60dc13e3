package jobs

import "github.com/ktrdr/ktrdr"

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

// MostPredicted is how many bars one prediction shows at most.
const MostPredicted = 10_000

// DataLoadRequest asks for the import of a price file, CSV or Parquet.
type DataLoadRequest struct {
	Path      string  `json:"path,omitempty"`                  // relative to the data folder
	SHA256    string  `json:"sha256,omitempty"`                // of a blob
	Name      string  `json:"name,omitempty"`                  // of the file that the blob holds, for people; it may tell symbol and timeframe
	Symbol    string  `json:"symbol,omitempty"`                // empty means the one in the name of the file
	Timeframe string  `json:"timeframe,omitempty"`             // empty means the one in the name, or that the times show
	Zone      string  `json:"zone,omitempty"`                  // of times that carry none; empty means that of the format, else UTC
	Dates     string  `json:"dates,omitempty"`                 // day-first or month-first; empty means what the dates show
	Decimal   string  `json:"decimal,omitempty"`               // comma or point; empty means what the numbers show
	Adjusted  bool    `json:"adjusted,omitempty"`              // scale the prices to the adjusted close
	Divide    float64 `json:"divide,omitempty" zero:"refused"` // prices are in points: how many make one unit
	Normalise bool    `json:"normalise,omitempty"`             // mend what is wrong instead of refusing it
	Mode      string  `json:"mode,omitempty"`                  // replace or append, where the series exists; empty means that it is refused

	SameMarketAs string `json:"same_market_as,omitempty"` // a symbol or a market; merges markets, and decides where the prices do not
	NewMarket    bool   `json:"new_market,omitempty"`     // decides where the prices do not

	DryRun bool `json:"dry_run,omitempty"` // read and report, store nothing
}

// DataFetchRequest asks for bars of a source on the internet.
type DataFetchRequest struct {
	Source    string  `json:"source"`                          // such as binance; one of KTRDR_FETCH_SOURCES; or url:ADDRESS
	Symbol    string  `json:"symbol"`                          // as the source writes it
	As        string  `json:"as,omitempty"`                    // symbol in the library; empty means the same
	Timeframe string  `json:"timeframe"`                       // of the bars
	From      string  `json:"from,omitempty"`                  // first day; empty means where the series ends, or some years back
	To        string  `json:"to,omitempty"`                    // last day; empty means now. Only bars that have closed are added
	Divide    float64 `json:"divide,omitempty" zero:"refused"` // points that make one unit, for sources in points; absent means what is known
	Mode      string  `json:"mode,omitempty"`                  // replace or append, where the series exists; empty means append

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

// AcceptRequest lets research begin on a series in spite of severe findings.
type AcceptRequest struct {
	Symbol    string   `json:"symbol"`
	Timeframe string   `json:"timeframe"`
	Findings  []string `json:"findings"` // their rules, such as split-missed
}

// RenameRequest gives the series of a symbol another one.
type RenameRequest struct {
	Symbol    string `json:"symbol"`
	NewSymbol string `json:"new_symbol"`
}

// StrategyRequest gives the lab a strategy.
type StrategyRequest struct {
	Name     string `json:"name,omitempty"` // empty means the name in the text
	Strategy string `json:"strategy_yaml"`
	Replace  bool   `json:"replace,omitempty"` // take the place of one with the same name
}

// Accepted is an operation to be created, and what is probably not meant about it.
type Accepted struct {
	Operation ktrdr.NewOperation
	Warnings  []string
}
