package ktrdr

import (
	"context"
	"encoding/json"
	"time"
)

// MicroUSD is money: millionths of a US dollar. Sums of it are exact.
type MicroUSD int64

// USD is the amount in dollars, for people.
func (m MicroUSD) USD() float64 { return float64(m) / 1e6 }

// NewCall asks for the money of one call to a model, before it is made.
//
// Key names what is asked, not the model: the hash of the complete conversation so
// far. Within a research the answer to a key is bought once. Another operation of
// the research that asks the same, or the same one after a crash, gets the answer
// that was bought.
type NewCall struct {
	Operation OperationID // in whose name, under its live epoch
	Epoch     Epoch
	Key       Hash
	Model     string   // provider/model
	Most      MicroUSD // what it can cost at most
	Daily     MicroUSD // what may be spent on a day, all in all
	Research  MicroUSD // what may be spent on the operation's root
}

// CallStatus is where a call stands.
type CallStatus string

// The statuses. A reserved call stays charged in full until it is settled: one
// that was in flight at a crash stays so for ever.
const (
	CallReserved CallStatus = "reserved"
	CallAnswered CallStatus = "answered"
	CallFailed   CallStatus = "failed"
)

// Call is one call to a model as the journal has it.
type Call struct {
	ID        int64           `json:"call_id"`
	Root      OperationID     `json:"root_operation_id"`
	Operation OperationID     `json:"operation_id"`
	Epoch     Epoch           `json:"epoch"`
	Key       Hash            `json:"key"`
	Model     string          `json:"model"`
	Status    CallStatus      `json:"status"`
	Charged   MicroUSD        `json:"charged_micro_usd"` // the reservation until it is settled, what it cost after
	Input     int64           `json:"input_tokens"`
	Output    int64           `json:"output_tokens"`
	Answer    json.RawMessage `json:"answer,omitempty"` // of an answered call
	Error     string          `json:"error,omitempty"`  // of a failed one
	At        time.Time       `json:"at"`
	SettledAt time.Time       `json:"settled_at,omitzero"`
}

// CallEnd settles a reserved call.
type CallEnd struct {
	ID     int64
	Status CallStatus // CallAnswered or CallFailed
	Cost   MicroUSD   // what it cost; of a failed call that may have been billed, all of its reservation
	Input  int64
	Output int64
	Answer json.RawMessage
	Error  string
}

// NotAsked is the error of a failed call that only looked for a journaled answer
// while no model could be asked: nothing was sent, no model failed, and no sum
// counts it.
const NotAsked = "no model could be asked"

// MaxAnswer bounds a journaled answer.
const MaxAnswer = 256 << 10

// Spending is what calls have cost, reservations included.
type Spending struct {
	Today    MicroUSD `json:"today_micro_usd"` // since midnight UTC on the store's clock
	Research MicroUSD `json:"research_micro_usd"`
	Calls    int64    `json:"calls_today"`
}

// CallSum sums up calls to one model that stand alike.
type CallSum struct {
	Model   string
	Status  CallStatus
	Calls   int64
	Charged MicroUSD
	Input   int64 // tokens
	Output  int64
}

// Journal keeps the calls to models, so that none is paid twice and none is made
// that there is no money for.
type Journal interface {
	// ReserveCall reserves the money of a call in one transaction. When the
	// journal has the answer to its key under the same root, that call is
	// returned, CallAnswered, and nothing is reserved. CodeBudget when it does
	// not fit into what is left of the day or of the research; CodeStaleEpoch
	// when the claim is no longer live. Of a key at most two calls are ever left
	// unsettled: a third is CodePoison.
	ReserveCall(ctx context.Context, c NewCall) (Call, error)

	// SettleCall ends a reserved call. It asks for no epoch: what was paid was
	// paid. The same end again changes nothing; another is CodeConflict.
	SettleCall(ctx context.Context, e CallEnd) error

	// Spending sums up today and, unless root is empty, one research.
	Spending(ctx context.Context, root OperationID) (Spending, error)

	// Calls lists a research's calls, oldest first; all researches' when root is
	// empty, newest first. Limit 1..1000; 0 means 50.
	Calls(ctx context.Context, root OperationID, limit int) ([]Call, error)

	// CallSums sums up the calls from an instant on by model and status, in that
	// order: those of a run, or all when run is empty. Calls that have expired
	// are counted by the UTC day.
	CallSums(ctx context.Context, from time.Time, run string) ([]CallSum, error)

	// ExpireCalls deletes at most 500 calls older than age, and than a day, of
	// researches that have ended and cannot be resumed. What they cost stays
	// counted, in Spending and CallSums, for good.
	ExpireCalls(ctx context.Context, age time.Duration) (int, error)
}
