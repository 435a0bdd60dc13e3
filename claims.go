package ktrdr

import (
	"context"
	"encoding/json"
	"time"
)

// LivingClaim is a look that succeeded, and what the bars after it have shown.
//
//	confirmed ──the bars after it show an edge──▶ living
//	    └──────────┴──they speak against half of what was claimed──▶ retired
//
// A rung is never left for one before it.
type LivingClaim struct {
	NewClaim
	ClaimedAt time.Time `json:"claimed_at"`
	ClaimLife
	SteppedAt time.Time `json:"stepped_at,omitzero"` // when the bars were last followed
}

// ClaimRung is where a claim stands.
type ClaimRung string

// The rungs.
const (
	ClaimConfirmed ClaimRung = "confirmed"
	ClaimLiving    ClaimRung = "living"
	ClaimRetired   ClaimRung = "retired"
)

// NewClaim is what a claim is frozen with. Model, costs and bars are in the spec of
// its confirmation.
type NewClaim struct {
	Operation OperationID `json:"operation_id"` // the confirmation, whose id is the claim's
	Research  OperationID `json:"research_operation_id"`
	Strategy  string      `json:"strategy_name"`
	Symbols   string      `json:"symbols"` // separated by blanks
	Timeframe string      `json:"timeframe"`
	MadeUp    *bool       `json:"made_up"`
	Sharpe    *float64    `json:"sharpe_ratio"` // of the holdout
	Shrunk    *float64    `json:"shrunk"`       // corrected for selection
	P         *float64    `json:"p"`
	Adjusted  *float64    `json:"adjusted_p"`
}

// ClaimHold says why a claim is not followed; empty while it is.
type ClaimHold string

// What stops a claim from being followed until other bars come.
//
//	a step found it:          revised, changed             a later step ends it
//	the library's list shows: missing, severe_finding      ends when the list does not show it
const (
	ClaimFollowed ClaimHold = ""
	ClaimRevised  ClaimHold = "revised"        // the library's bars are not those that the claim saw
	ClaimChanged  ClaimHold = "changed"        // this program computes other numbers from the same bars
	ClaimMissing  ClaimHold = "missing"        // the library has no such series: it was deleted or renamed
	ClaimFindings ClaimHold = "severe_finding" // the library's bars have a severe finding that no person accepts
)

// OfLibrary says whether the library's list alone shows why a claim is not followed. No step
// runs then.
func (h ClaimHold) OfLibrary() bool { return h == ClaimMissing || h == ClaimFindings }

// ClaimLife is what the bars after a claim have shown.
type ClaimLife struct {
	Rung      ClaimRung       `json:"rung"`
	Hold      ClaimHold       `json:"hold,omitempty"`
	Reason    string          `json:"reason,omitempty"`            // of Hold, for people
	From      time.Time       `json:"from,omitzero"`               // bars that open from then on came after the claim
	Bars      int             `json:"bars"`                        // that were followed
	Last      time.Time       `json:"last_bar,omitzero"`           // opening of the last of them
	E         float64         `json:"e_value"`                     // against "it earns nothing", at the last bar
	MaxE      float64         `json:"max_e_value"`                 // largest so far
	Detected  time.Time       `json:"detected_bar,omitzero"`       // bar at which it first crossed the threshold
	RetireE   float64         `json:"retire_e_value"`              // against "it earns at least half of what was claimed"
	MaxRetire float64         `json:"max_retire_e_value"`          // largest so far
	Retired   time.Time       `json:"retired_bar,omitzero"`        // bar at which that crossed the threshold
	Return    *float64        `json:"net_return"`                  // of the bars followed
	LivingSR  *float64        `json:"living_sharpe_ratio"`         // of the bars followed, per year
	Step      OperationID     `json:"step_operation_id,omitempty"` // that followed them last
	Seen      Hash            `json:"-"`                           // of the series that were looked at last
	State     json.RawMessage `json:"-"`                           // what the next step is held against
}

// ClaimAdvance is what a step found.
type ClaimAdvance struct {
	Claim OperationID
	ClaimLife
}

// Claims is the looks that succeeded. A row is made in the transaction that ends the
// look, and changed in the one that ends a step.
type Claims interface {
	// Claims lists all, newest first.
	Claims(ctx context.Context) ([]LivingClaim, error)

	// ClaimOf returns the claim of a confirmation; CodeNotFound.
	ClaimOf(ctx context.Context, id OperationID) (LivingClaim, error)

	// AddClaim adds the claim of a look that ended in an earlier version. One that is
	// there stays as it is. CodeNotFound when no look of that operation claims.
	AddClaim(ctx context.Context, c NewClaim) error

	// HoldClaim says why a claim is not followed, and changes no figure. ClaimFollowed lets it go: then
	// the next step looks at its bars again, whether or not an earlier one did. A retired claim
	// stays as it is. CodeNotFound.
	HoldClaim(ctx context.Context, id OperationID, hold ClaimHold, reason string) error
}
