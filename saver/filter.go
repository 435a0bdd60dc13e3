package saver

import (
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

// Filter is a conjunction of JSON equalities on top-level metadata keys; the
// values are canonical. The empty filter matches everything.
type Filter map[string]string

// ReadQuery understands a query and returns its filter, or says with
// CodeInvalid what is wrong.
func ReadQuery(q ktrdr.ThreadQuery) (Filter, error) {
	if q.Limit != nil && *q.Limit < 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "limit is %d; use 0 for none and leave it out for all", *q.Limit)
	}
	ref := ktrdr.ThreadRef{Tenant: q.Tenant, Thread: "any", Checkpoint: q.Checkpoint}
	if q.Thread != nil {
		ref.Thread = *q.Thread
	}
	if q.NS != nil {
		ref.NS = *q.NS
	}
	if err := CheckRef(ref); err != nil {
		return nil, err
	}
	if err := name("before", q.Before, maxCheckpoint); err != nil {
		return nil, err
	}
	if a := q.After; a != nil {
		if err := CheckRef(ktrdr.ThreadRef{Thread: a.Thread, NS: a.NS, Checkpoint: a.ID}); err != nil {
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

// Run returns the run_id the filter asks for, if it asks for one: a saver that
// indexes it need not look at anything else.
func (f Filter) Run() (run string, ok bool) {
	text, ok := f[runKey]
	if !ok || text == "null" || json.Unmarshal([]byte(text), &run) != nil || name(runKey, run, maxThread) != nil {
		return "", false
	}
	return run, true
}
