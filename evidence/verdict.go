package evidence

import "slices"

// Level is a verdict in a word.
type Level string

// The levels.
const (
	Promising Level = "promising" // nothing speaks against it so far
	Neutral   Level = "neutral"   // it earns something, but not enough to tell it from luck
	Poor      Level = "poor"      // it is refuted, or cannot be judged at all
)

// Verdict is what the evidence allows to say.
//
//	the test part ──any check fails──▶ poor | neutral         no claim; the holdout stays sealed
//	      │
//	  all pass, holdout sealed ──────▶ promising, HoldoutDue   no claim yet
//	      │
//	  holdout opened ────lost────────▶ poor                    no claim
//	      │         └──earned too little──▶ neutral            no claim
//	      └──────────confirms────────▶ promising, Claim
type Verdict struct {
	Level      Level    `json:"level"`
	Claim      bool     `json:"claim"`       // an edge is claimed
	HoldoutDue bool     `json:"holdout_due"` // opening the holdout is what is left to do
	Summary    string   `json:"summary"`
	Reasons    []Reason `json:"reasons"` // every check, in the same order for all
	Figures    Figures  `json:"figures"`
}

// Code names a check.
type Code string

// The checks, in the order of a verdict's reasons.
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

// Reason is one check of a verdict. A check that could not be made has no
// value, and is not passed.
type Reason struct {
	Code   Code     `json:"code"`
	Text   string   `json:"text"`
	Value  *float64 `json:"value"`
	Limit  *float64 `json:"limit"`
	Passed bool     `json:"passed"`
}

// Figures are the numbers behind a verdict.
type Figures struct {
	Trials         int         `json:"trials"`              // counted against the test part
	Openings       int         `json:"openings"`            // counted against the holdout
	ExpectedMax    *float64    `json:"expected_max_sharpe"` // annualized where possible: what the best of so many trials has by luck
	Deflated       *float64    `json:"deflated_sharpe"`     // confidence on the test part alone, given the trials
	HoldoutP       *float64    `json:"holdout_p"`           // of one strategy without an edge that is looked at once
	Luck           *float64    `json:"luck_p"`              // the same, times the openings: in how many of such searches luck does as well
	MinTrackRecord *float64    `json:"min_track_record"`    // bars until the test part's ratio is known to be above 0 with 95 %
	Test           Comparison  `json:"test"`
	Holdout        *Comparison `json:"holdout"`
	Decay          Decay       `json:"decay"`
	Costs          Costs       `json:"costs"`
	Trades         Trades      `json:"trades"`
}

// passed says whether all the named checks are passed; without names, all of
// them.
func (v *Verdict) passed(codes ...Code) bool {
	for i := range v.Reasons {
		if len(codes) > 0 && !slices.Contains(codes, v.Reasons[i].Code) {
			continue
		}
		if !v.Reasons[i].Passed {
			return false
		}
	}
	return true
}
