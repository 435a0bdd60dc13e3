package ktrdr

import (
	"encoding/json"
	"errors"
	"time"
)

// Market is a series of prices by its content, whatever it is called. Trials and
// looks are counted on it.
type Market struct {
	ID        string    `json:"market"`
	CreatedAt time.Time `json:"created_at"`
	// bars that close after this are the holdout; zero until a research or training fixes it
	HoldoutFrom time.Time      `json:"holdout_from,omitzero"`
	Holdouts    []Holdout      `json:"holdouts,omitempty"`    // with those before, oldest first
	LookedUntil time.Time      `json:"looked_until,omitzero"` // close of the last bar that a look used; zero before the first
	Trials      int            `json:"trials"`                // strategies that were tried on it
	Looks       int            `json:"looks"`                 // that the next look at its newest holdout pays for
	Claims      int            `json:"claims"`                // that are followed: each is a look that a new holdout pays for
	Head        ChainHead      `json:"ledger_head,omitzero"`  // of the chain of its ledger; zero while nothing has ended
	Series      []MarketSeries `json:"series,omitempty"`
}

// MarketSeries says which market the bars of a series belong to.
type MarketSeries struct {
	Market    string    `json:"market"`
	Symbol    string    `json:"symbol"`
	Timeframe string    `json:"timeframe"`
	Hash      Hash      `json:"bars_hash"`
	First     time.Time `json:"first"` // opening of the first bar
	Last      time.Time `json:"last"`
	Bars      int       `json:"bars"`
	Prices    Artifact  `json:"prices"` // what other series are compared with; kept when the bars are deleted
	Reason    string    `json:"reason"` // why it belongs there, for people
	AddedAt   time.Time `json:"added_at"`
}

// NewSeries assigns a series to a market.
type NewSeries struct {
	MarketSeries          // Market is ignored
	Same         []string // markets that it is; several are merged into the oldest, none makes a new one
	Seen         *int     // how many series there were when it was compared with them; nil if it was not compared
}

// ErrMoreSeries is in the error of a new series that was compared with fewer
// series than there are now: compare it again.
var ErrMoreSeries = errors.New("there are more series")

// Trial is one strategy that met the prices of a market. It is counted in the
// transaction that creates the operation.
type Trial struct {
	Market     string      `json:"market"`
	Key        string      `json:"key,omitempty"` // of trials with the same key on a market the first is counted
	Operation  OperationID `json:"operation_id"`
	Type       Type        `json:"operation_type,omitempty"`
	Run        string      `json:"run,omitempty"`
	Generation int         `json:"generation"`
	Index      int         `json:"index"`
	Symbols    string      `json:"symbols"`    // separated by blanks
	Timeframes string      `json:"timeframes"` // the same
	MadeUp     *bool       `json:"made_up"`    // its prices, or some of them, were made up; null: not known
	CreatedAt  time.Time   `json:"created_at"`

	Status Status `json:"status"` // of the operation
	Rung   string `json:"rung,omitempty"`
	TrialFigures

	MarketTrials int         `json:"market_trials"`               // on the market now; of several markets the most
	MarketLooks  int         `json:"market_looks"`                // at its holdout now; likewise
	Look         OperationID `json:"look_operation_id,omitempty"` // its confirmation; empty if it has none
	LookEnded    bool        `json:"look_ended"`                  // what follows is known
	Claim        bool        `json:"claim"`
	Adjusted     *float64    `json:"adjusted_p"` // of that look

	Examination OperationID `json:"examination_operation_id,omitempty"` // of a finalist; empty if it has none
	Examined    string      `json:"examined,omitempty"`                 // what that came to: see Examined.State
}

// Examined is what the examination of a finalist came to. It is stored with the trial when
// the generation is closed.
type Examined struct {
	Research  OperationID
	Operation OperationID // the examination; empty if it could not be created
	State     string      // robust, fragile, too_few_bars, too_long or failed
}

// TrialFigures is what the ledger keeps of how a trial ended. Rates are
// fractions, net of costs, of the test part.
type TrialFigures struct {
	Strategy    string   `json:"strategy_name,omitempty"`
	Sharpe      *float64 `json:"sharpe_ratio"`
	SharpeZ     *float64 `json:"sharpe_z,omitempty"`
	Alpha       *float64 `json:"alpha"` // per year
	AlphaZ      *float64 `json:"alpha_z,omitempty"`
	NetReturn   *float64 `json:"net_return"`
	MaxDrawdown *float64 `json:"max_drawdown"`
	Trades      int      `json:"total_trades"`
	CheapCosts  bool     `json:"cost_below_default"`
	Unaided     bool     `json:"without_model"` // the program did itself what a model was asked for
	Hash        Hash     `json:"result_hash,omitzero"`
	StoppedBy   string   `json:"stopped_by,omitempty"` // the codes of the checks for which a gate stopped it, separated by blanks
}

// NewTrial counts an operation as a trial on markets.
type NewTrial struct {
	Key     string // empty means the operation's id
	Markets []TrialMarket
	MadeUp  *bool // the prices of a market are made up; nil: not known
	// Own is what is counted for the operation's own run; what others tried
	// before on the dearest of the markets comes on top.
	Own int
}

// TrialMarket is a market and what of it is tried.
type TrialMarket struct {
	Market     string
	Symbols    string
	Timeframes string
}

// TrialQuery selects trials; zero fields select all. A trial on several markets
// is listed once.
type TrialQuery struct {
	Run       string
	Market    string
	Symbol    string
	Timeframe string
	Type      Type
	Ended     bool
	Since     time.Time     // only those that ended then or later
	Of        []OperationID // only those of these operations, at most 1000
	ByScore   bool          // the best first: see Trials; else the newest first
	Limit     int           // 1..1000; 0 means 50
	Cursor    string
}

// TrialPage is a page and the cursor of the next; an empty cursor ends. By score
// there is one page.
type TrialPage struct {
	Trials []Trial `json:"trials"`
	Next   string  `json:"next_cursor,omitempty"`
}

// TrialPoint is one trial of a figure that shows all of them.
type TrialPoint struct {
	Operation OperationID `json:"operation_id"`
	Market    string      `json:"market"`
	Status    Status      `json:"status"` // of the operation
	Rung      string      `json:"rung,omitempty"`
	Sharpe    *float64    `json:"sharpe_ratio"` // of the test part, per year, net of costs; null: it has no backtest
	SharpeZ   *float64    `json:"sharpe_z"`     // the ratio divided by its standard error
	Looked    bool        `json:"looked"`       // its holdout was opened, and the result is known
	Claim     bool        `json:"claim"`
	StoppedBy string      `json:"stopped_by,omitempty"` // see TrialFigures
}

// MostTrialPoints bounds a list of points.
const MostTrialPoints = 100_000

// TallyQuery selects what of the ledger is summed up: a run, or what was done at
// an instant or later; zero fields select all.
type TallyQuery struct {
	Run   string
	Since time.Time
}

// Tally sums up the ledger. Trials and looks are all that are counted on the
// markets of the selection: the same numbers that every view shows.
type Tally struct {
	Markets int `json:"markets"` // that were tried
	Trials  int `json:"trials"`  // on these markets, of all runs
	Looks   int `json:"looks"`   // at the holdouts of these markets, of all runs
	Claims  int `json:"claims"`  // of the selection
	Unaided int `json:"without_model"`
}

// LookKind says who looked at a holdout.
type LookKind string

// The kinds.
const (
	LookConfirmation LookKind = "confirmation" // a run confirmed its finalist
	LookByHand       LookKind = "by_hand"      // a person asked for it with --open-holdout
)

// Look is one look at the holdout of a market. Its number is reserved in the
// transaction that creates the operation which reads the bars; a restart of that
// operation keeps it.
type Look struct {
	Key        string          `json:"key"`
	Operation  OperationID     `json:"operation_id,omitempty"` // that read the bars; empty for a prediction
	Kind       LookKind        `json:"kind"`
	Research   OperationID     `json:"research_operation_id,omitempty"` // whose strategy is looked at
	Run        string          `json:"run,omitempty"`
	Generation int             `json:"generation"`
	Strategy   string          `json:"strategy_name,omitempty"`
	Markets    []LookMarket    `json:"markets"`
	Before     int             `json:"looks_before"` // that it pays for, on the market that had most
	Spans      json.RawMessage `json:"spans,omitempty"`
	ReservedAt time.Time       `json:"reserved_at"`
	EndedAt    time.Time       `json:"ended_at,omitzero"`
	LookResult
}

// LookMarket is a market and the number of the look there, from 1.
type LookMarket struct {
	Market  string    `json:"market"`
	Number  int       `json:"number"`
	Holdout time.Time `json:"holdout_from,omitzero"` // where the holdout begins that it is at; zero: the market had none
}

// LookResult is what a look showed.
type LookResult struct {
	P        *float64        `json:"p"`
	Adjusted *float64        `json:"adjusted_p"`
	Claim    bool            `json:"claim"`
	Hash     Hash            `json:"look_hash,omitzero"`
	Result   json.RawMessage `json:"result,omitempty"`
}

// NewLook reserves a look for a new operation.
type NewLook struct {
	Kind     LookKind
	Research OperationID
	Strategy string
	Markets  []string
	Holdout  time.Time // where trading begins, which says which holdout it is at; zero: the newest
	Spans    json.RawMessage
	Key      string // of looks with the same key the first is counted; empty means the operation's id
}

// LookQuery selects looks, newest first; zero fields select all.
type LookQuery struct {
	Run      string      `query:"run" doc:"only those of this run"`
	Market   string      `query:"market" doc:"only those at the holdout of this market"`
	Research OperationID `query:"research" doc:"only those at the strategy of this research"`
	Claims   bool        `query:"claims" doc:"only those that claim an edge"`
	Since    time.Time   // only those that were reserved then or later
	Limit    int         `query:"limit" doc:"entries of a page, 1 to 1000; by default 50"`
	Cursor   string      `query:"cursor" doc:"next_cursor of the page before"`
}

// LookPage is a page and the cursor of the next; an empty cursor ends.
type LookPage struct {
	Looks []Look `json:"looks"`
	Next  string `json:"next_cursor,omitempty"`
}

// LedgerEntry is what the ledger keeps of an operation that has completed.
type LedgerEntry struct {
	Trial   *TrialFigures
	Look    *LookResult
	Claim   *NewClaim     // of a look that succeeded
	Advance *ClaimAdvance // of a step that followed a claim
	Tested  *RunTested    // of the test of a run
}
