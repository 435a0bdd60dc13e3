package ktrdr

import (
	"encoding/json"
	"maps"
	"slices"
)

// Definition is what an operation type declares about itself, once, in the package
// that owns it. Store, engine, API and commands derive what they need from it.
// Package backend adds the runners; a test there names every part that is missing.
type Definition struct {
	Spec    func(json.RawMessage) error // refuses a spec that cannot be run: see SpecOf; nil: any JSON
	Plan    Plan                        // moves its parents; nil: there are none
	Restart RestartRule                 // after the death of the backend that ran it in its process

	// Fingerprint tells what a spec would be run with now. A checkpoint that was made
	// with anything else is not resumed.
	Fingerprint func(spec []byte) (map[string]string, error)

	Local  bool // runs only inside a backend: in its process or in a child process
	Sealed bool // its result names figures of bars that neither designers nor assistants may see
	Look   bool // makes the look that was reserved for it, once: it restarts without a checkpoint and is never retried

	// Ledger tells what the ledger keeps of a completed operation, and the results
	// show. It is asked in the transaction that completes it, maybe more than once,
	// and so is a pure function of the row. Nil: nothing.
	Ledger func(Operation) LedgerEntry
	// Facts tells what a trial was made from, for the chain of the ledger. It is asked
	// in the transaction that adds the link, and is a pure function of the row.
	Facts   func(Operation) TrialFacts
	Columns []string // parts of a result that a client may ask for by name, page by page

	// Route and Verb start one: "POST /api/v1/training/start", and "train" of
	// `ktrdr train`. Inside: no person starts one, only a plan or a run.
	Route, Verb string
}

// Inside is the Route and the Verb of a type that no person starts.
const Inside = "inside"

// NoFingerprint is the Fingerprint of a type whose checkpoints stay valid.
func NoFingerprint([]byte) (map[string]string, error) { return nil, nil }

// RestartRule says what the death of a backend does to work in its process.
type RestartRule string

// The rules.
const (
	RestartInChild RestartRule = "in child" // PENDING again, and next in a child process: its result depends on the task alone
	RestartByPlan  RestartRule = "by plan"  // FAILED: the plan of its parent decides
	RestartNone    RestartRule = "none"     // a parent: no process holds it
)

// Types are the operation types of a program.
type Types map[Type]Definition

// Names lists the types in the order of their names.
func (t Types) Names() []Type { return slices.Sorted(maps.Keys(t)) }

// Known says whether name is one of the types.
func (t Types) Known(name Type) bool {
	_, known := t[name]
	return known
}

// MergeTypes puts the types of several owners together. Two definitions of one type
// are a panic.
func MergeTypes(owners ...Types) Types {
	all := Types{}
	for _, types := range owners {
		for name, d := range types {
			if all.Known(name) {
				panic("operation type " + string(name) + " is defined twice")
			}
			all[name] = d
		}
	}
	return all
}
