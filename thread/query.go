package thread

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

// Query selects tuples, in the order of Place. A nil pointer selects all.
type Query struct {
	Tenant     string                     `json:"tenant,omitempty"`
	Thread     *string                    `json:"thread_id,omitempty"`
	NS         *string                    `json:"checkpoint_ns,omitempty"`
	Checkpoint string                     `json:"checkpoint_id,omitempty"`
	Before     string                     `json:"before,omitempty"` // ids strictly less
	After      *Position                  `json:"after,omitempty"`  // the tuples that a list shows after it
	Filter     map[string]json.RawMessage `json:"filter,omitempty"` // AND of JSON equality on top-level metadata keys
	Limit      *int                       `json:"limit,omitempty"`  // nil: no limit; 0: no tuples
	MaxBytes   int64                      `json:"-"`                // of all tuples together, if there are two or more; 0: no limit
}

// Filter is a conjunction of JSON equalities on top-level metadata keys; the
// values are canonical. The empty filter matches everything.
type Filter map[string]string

// ParseFilter validates a query and returns its filter; CodeInvalid.
func ParseFilter(q Query) (Filter, error) {
	if q.Limit != nil && *q.Limit < 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "limit is %d; use 0 for none and leave it out for all", *q.Limit)
	}
	ref := Ref{Tenant: q.Tenant, Thread: "any", Checkpoint: q.Checkpoint}
	if q.Thread != nil {
		ref.Thread = *q.Thread
	}
	if q.NS != nil {
		ref.NS = *q.NS
	}
	if err := cmp.Or(CheckRef(ref), name("before", q.Before, maxCheckpoint)); err != nil {
		return nil, err
	}
	if a := q.After; a != nil {
		if err := CheckRef(Ref{Thread: a.Thread, NS: a.NS, Checkpoint: a.ID}); err != nil {
			return nil, fmt.Errorf("after: %w", err)
		}
	}
	f := make(Filter, len(q.Filter))
	for key, value := range q.Filter {
		text, err := Canonical(value)
		if err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "filter %q: %w", key, err)
		}
		f[key] = text
	}
	return f, nil
}

// Match says whether metadata has every key of the filter with its value. A
// missing key matches nothing, not even null.
func (f Filter) Match(metadata json.RawMessage) bool {
	if len(f) == 0 {
		return true
	}
	var have map[string]json.RawMessage
	if json.Unmarshal(metadata, &have) != nil {
		return false
	}
	for key, want := range f {
		value, ok := have[key]
		if !ok {
			return false
		}
		if got, err := Canonical(value); err != nil || got != want {
			return false
		}
	}
	return true
}

// Run returns the run_id that the filter asks for, if any: a saver may have an index on it.
func (f Filter) Run() (run string, ok bool) {
	text, ok := f[runKey]
	if !ok || text == "null" || json.Unmarshal([]byte(text), &run) != nil || name(runKey, run, maxThread) != nil {
		return "", false
	}
	return run, true
}
