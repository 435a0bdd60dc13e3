package ktrdr

import (
	"encoding/json"
	"maps"
	"slices"
)

// Definition is what an operation type declares about itself, once, in the package
// that owns the type. Store, engine, API and commands derive what they need from
// it. Package backend adds the runners and holds the table of all types; a test
// there walks the table and names every part that is missing.
type Definition struct {
	// Spec refuses a spec that the type cannot run; SpecOf makes it. Nil: any JSON.
	Spec func(json.RawMessage) error
	// Plan moves the parents of the type; nil: it has none.
	Plan Plan
	// Fingerprint tells what a spec would be run with now. A checkpoint that was
	// made with anything else is not resumed. NoFingerprint: there is nothing to
	// compare.
	Fingerprint func(spec json.RawMessage) (map[string]string, error)
	// Restart is what happens to an operation whose backend died while it ran in
	// its process.
	Restart RestartRule
	// Local work runs only inside a backend: in its process or in a child process.
	// Other work may run on every worker too.
	Local bool
	// Look work makes the look at a holdout that was reserved for it. It completes
	// once: it restarts without a checkpoint, and is never retried.
	Look bool
	// Ledger tells what the ledger keeps of a completed operation; the results show
	// it. It is asked in the transaction that completes the operation, maybe more
	// than once, and so is a pure function of its row. Nil: nothing.
	Ledger func(Operation) Entry
	// Columns are the parts of a result that a client may ask for by name, page by
	// page; nil: none.
	Columns []string
	// Route and Verb start one: "POST /api/v1/training/start", and "train" of
	// `ktrdr train`. Inside: only a plan or a run starts one.
	Route, Verb string
}

// Inside is the Route and the Verb of a type that no person starts.
const Inside = "inside"

// NoFingerprint is the Fingerprint of a type whose checkpoints stay valid whatever
// program wrote them.
func NoFingerprint(json.RawMessage) (map[string]string, error) { return nil, nil }

// RestartRule says what the death of a backend does to work in its process.
type RestartRule string

// The rules.
const (
	// RestartInChild: it is PENDING again, and runs next in a child process. Its
	// result must be a function of the task alone.
	RestartInChild RestartRule = "in child"
	// RestartByPlan: it is FAILED, and the plan of its parent decides.
	RestartByPlan RestartRule = "by plan"
	// RestartNone: it is a parent, and no process holds it.
	RestartNone RestartRule = "none"
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

// MergeTypes puts the types of several owners together. It panics when two define
// the same type.
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
