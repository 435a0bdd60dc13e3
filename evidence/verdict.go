package evidence

// Level is a verdict in one word.
type Level string

// The levels.
const (
	Promising Level = "promising" // every check passed
	Neutral   Level = "neutral"   // it earns something, but a check failed
	Poor      Level = "poor"      // it loses, or it cannot be judged
)

// Verdict is the result of [Judge] on the test part.
//
//	the test part ──a check fails──▶ poor | neutral
//	      │
//	      └────────all pass────────▶ promising, Finalist ──best of its generation──▶ Confirm
type Verdict struct {
	Level    Level    `json:"level"`
	Finalist bool     `json:"finalist"` // every check passed
	Summary  string   `json:"summary"`
	Reasons  []Reason `json:"reasons"` // every check, always in the same order
	Figures  Figures  `json:"figures"`
}

// Code names a check.
type Code string

// The checks, in the order in which they are made. The last three are those of a [Confirmation].
const (
	NotRuined       Code = "not_ruined"
	NotCollapsed    Code = "not_collapsed"
	EnoughTrades    Code = "enough_trades"
	PositiveSharpe  Code = "positive_sharpe"
	BoundedDrawdown Code = "bounded_drawdown"
	SurvivesCosts   Code = "survives_costs"
	BoundedDecay    Code = "bounded_decay"
	BeatsHold       Code = "beats_buy_and_hold"
	BeatsLuck       Code = "beats_luck"
	HoldoutTrades   Code = "holdout_trades"
	HoldoutEarns    Code = "holdout_earns"
	HoldoutConfirms Code = "holdout_confirms"
)

// Reason is one check. A check that could not be made has no value and failed.
type Reason struct {
	Code   Code     `json:"code"`
	Text   string   `json:"text"`
	Value  *float64 `json:"value"`
	Limit  *float64 `json:"limit"`
	Passed bool     `json:"passed"`
}

// Figures are the numbers behind a verdict.
type Figures struct {
	Trials         int        `json:"trials"`              // counted against the test part
	SharpeZ        *float64   `json:"sharpe_z"`            // of the Sharpe ratio on the test part
	AlphaZ         *float64   `json:"alpha_z"`             // of the alpha on the test part
	ExpectedMax    *float64   `json:"expected_max_sharpe"` // of the best of that many trials without an edge; annualized where possible
	Deflated       *float64   `json:"deflated_sharpe"`     // see Deflate: of the weaker z-value
	MinTrackRecord *float64   `json:"min_track_record"`    // bars until the test part's ratio is above 0 with 95 % confidence
	Test           Comparison `json:"test"`
	Decay          Decay      `json:"decay"`
	Costs          Costs      `json:"costs"`
	Trades         Trades     `json:"trades"`
}
