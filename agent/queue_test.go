package agent_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// More researches than there is room for start in the order in which they came,
// by the store's own instants.
func TestResearch_FirstComeFirstServed(t *testing.T) {
	l := newLab(t, small, func(l *lab) { l.t = t; injected(l, "fail:designing:") }) // over in no time
	var ids []ktrdr.OperationID
	for i := range 15 {
		ids = append(ids, l.trigger(research.Request{Brief: fmt.Sprint(i), Seed: new(uint64(i)), Force: true})...)
	}
	ids = append(ids, l.trigger(research.Request{Brief: "a run", Seed: new(uint64(1)), Count: 9})...)
	var all []ktrdr.Operation
	for _, id := range ids {
		all = append(all, l.await(id, ended))
	}
	slices.SortFunc(all, func(a, b ktrdr.Operation) int { return cmp.Compare(a.Session, b.Session) })
	waited := 0
	for i, op := range all {
		if op.ID != ids[i] {
			t.Errorf("session %d is %s, want %s: sessions are numbered as requests come", op.Session, op.ID, ids[i])
		}
		if op.StartedAt.After(op.CreatedAt) {
			waited++
		}
		if i > 0 && op.StartedAt.Before(all[i-1].StartedAt) {
			t.Errorf("session %d started at %v, session %d, who came before, at %v", op.Session, op.StartedAt, all[i-1].Session, all[i-1].StartedAt)
		}
	}
	if waited == 0 {
		t.Error("no operation had to wait: it shows nothing")
	}
}
