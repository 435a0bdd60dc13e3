package ktrdr

import (
	"context"
	"encoding/json"
	"time"
)

// BreakerState says whether calls pass.
type BreakerState string

// The states.
const (
	BreakerClosed   BreakerState = "CLOSED"
	BreakerOpen     BreakerState = "OPEN"
	BreakerHalfOpen BreakerState = "HALF_OPEN"
)

// BreakerScope is what a breaker stands for.
type BreakerScope string

// The scopes. Agents call models only through providers, so what fails together
// are the providers that share a host: those are a cluster.
const (
	ScopeAgent    BreakerScope = "agent"
	ScopeCluster  BreakerScope = "cluster"
	ScopeProvider BreakerScope = "provider"
)

// Breaker is a circuit breaker as it is stored: another process can
// continue with it.
type Breaker struct {
	Name    string       `json:"name"` // scope:name, as provider:anthropic
	Scope   BreakerScope `json:"scope"`
	State   BreakerState `json:"state"`
	Forced  BreakerState `json:"forced,omitempty"`      // by a person; empty when it decides itself
	RetryAt time.Time    `json:"retry_at,omitzero"`     // when an open one lets a probe through
	Trips   int          `json:"trips"`                 // in a row, without a recovery between them
	Held    bool         `json:"held_for_human"`        // only a person closes it
	Trip    string       `json:"trip_reason,omitempty"` // why it last opened by itself; a person's decision keeps it
	Reason  string       `json:"reason,omitempty"`      // of the last change
	By      string       `json:"by,omitempty"`          // who made it; empty for the breaker itself
	Changed time.Time    `json:"changed_at,omitzero"`
	Version int64        `json:"version"` // counts changes
}

// BreakerChange is one line of a breaker's history.
type BreakerChange struct {
	Name    string          `json:"name"`
	From    BreakerState    `json:"from"`
	To      BreakerState    `json:"to"`
	Reason  string          `json:"reason"`
	By      string          `json:"by,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"`
	At      time.Time       `json:"at"`
	Version int64           `json:"version"`
}

// Probe is the right to probe a breaker that is half open. Of all backends one
// has it at a time.
type Probe struct {
	Token   int64   // to end it with
	Breaker Breaker // as it is stored now; without a name when it is not
}

// Breakers keeps breakers over restarts, and for all backends.
type Breakers interface {
	// Breakers returns every stored one, by name.
	Breakers(ctx context.Context) ([]Breaker, error)

	// SaveBreaker stores a change, its line of history and one event in a
	// transaction. b.Version is that of the row it was made from, 0 for none:
	// when the stored one is another, another backend or person changed it and the
	// answer is CodeConflict. The stored breaker is returned, Version and
	// Changed filled in.
	SaveBreaker(ctx context.Context, b Breaker, change BreakerChange) (Breaker, error)

	// TakeProbe gives owner the right to probe a breaker for a time on the store's
	// clock, so that an owner that dies blocks the others no longer than that. An
	// owner may take the right again, and makes one probe at a time. CodeConflict
	// when another owner has it.
	TakeProbe(ctx context.Context, name string, owner Incarnation, d time.Duration) (Probe, error)

	// EndProbe gives the right back before its time. A token that is no longer
	// the newest changes nothing.
	EndProbe(ctx context.Context, name string, token int64) error

	// BreakerHistory returns the newest changes of a breaker, newest first; of
	// all when name is empty. Limit 1..1000; 0 means 50.
	BreakerHistory(ctx context.Context, name string, limit int) ([]BreakerChange, error)
}
