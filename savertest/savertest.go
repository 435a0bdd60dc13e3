// Package savertest is the conformance suite of thread.Saver: LangGraph's
// semantics, and what LangGraph's own suites leave out (forks, bytes, order,
// refusals). Every saver passes the same cases.
package savertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// Run tests the saver that open returns. Open is called once; each case works
// in a tenant of its own.
func Run(t *testing.T, open func(t *testing.T) thread.Saver) {
	s := open(t)
	var tenants atomic.Int64
	for _, group := range []map[string]func(*lab){puts, refusals, reads, writes, lists, histories, removals, leases, properties} {
		for _, name := range slices.Sorted(maps.Keys(group)) {
			t.Run(name, func(t *testing.T) {
				group[name](&lab{T: t, Saver: s, tenant: fmt.Sprintf("tenant-%d", tenants.Add(1))})
			})
		}
	}
}

// lab is one case's saver and tenant.
type lab struct {
	*testing.T
	thread.Saver
	tenant string
}

func (l *lab) ctx() context.Context { return l.T.Context() }

// point is a checkpoint to put; its zero fields are the usual ones.
type point struct {
	thread   string // "t"
	ns       string
	id       string
	parent   string
	v        int               // 4
	versions string            // channel_versions, {}
	news     string            // new_versions, {}
	values   map[string]string // of type "text"
	meta     string            // {}
}

func (l *lab) request(p point) thread.Put {
	l.Helper()
	if p.v == 0 {
		p.v = 4
	}
	put := thread.Put{
		Tenant: l.tenant, Thread: or(p.thread, "t"), NS: p.ns, Parent: p.parent,
		Checkpoint: json.RawMessage(fmt.Sprintf(`{"v":%d,"id":%q,"ts":"2026-01-01T00:00:00Z","channel_versions":%s,"versions_seen":{}}`,
			p.v, p.id, or(p.versions, "{}"))),
		Metadata: json.RawMessage(or(p.meta, "{}")),
	}
	if err := json.Unmarshal([]byte(or(p.news, "{}")), &put.NewVersions); err != nil {
		l.Fatalf("new_versions of the test: %v", err)
	}
	for channel, v := range p.values {
		if put.Values == nil {
			put.Values = make(map[string]thread.Value)
		}
		put.Values[channel] = text(v)
	}
	return put
}

// put stores a checkpoint that must be accepted.
func (l *lab) put(p point) {
	l.Helper()
	if _, err := l.Put(l.ctx(), l.request(p)); err != nil {
		l.Fatalf("put %s: %v", p.id, err)
	}
}

// write stores pending writes of one task, idx by position.
func (l *lab) write(ref thread.Ref, task, path, channel string, values ...string) {
	l.Helper()
	w := thread.Writes{Tenant: l.tenant, Thread: ref.Thread, NS: ref.NS, Checkpoint: ref.Checkpoint, Task: task, TaskPath: path}
	for i, v := range values {
		w.Writes = append(w.Writes, thread.Write{Idx: i, Channel: channel, Value: text(v)})
	}
	if err := l.PutWrites(l.ctx(), w); err != nil {
		l.Fatalf("write to %s: %v", ref.Checkpoint, err)
	}
}

func (l *lab) ref(threadID, ns, id string) thread.Ref {
	return thread.Ref{Tenant: l.tenant, Thread: threadID, NS: ns, Checkpoint: id}
}

// get reads a checkpoint that must exist.
func (l *lab) get(threadID, ns, id string) thread.Tuple {
	l.Helper()
	got, err := l.GetTuple(l.ctx(), l.ref(threadID, ns, id))
	if err != nil {
		l.Fatalf("get %q of %s: %v", id, threadID, err)
	}
	return got
}

// list runs a query that must be accepted.
func (l *lab) list(q thread.Query) []thread.Tuple {
	l.Helper()
	q.Tenant = l.tenant
	got, err := l.List(l.ctx(), q)
	if err != nil {
		l.Fatalf("list: %v", err)
	}
	return got
}

// holds requires the values of a checkpoint of thread "t".
func (l *lab) holds(id string, want map[string]string) {
	l.Helper()
	same(l, "values of "+id, texts(l.get("t", "", id)), want)
}

// missing requires that there is no such checkpoint.
func (l *lab) missing(threadID, ns, id string) {
	l.Helper()
	_, err := l.GetTuple(l.ctx(), l.ref(threadID, ns, id))
	l.refused(err, ktrdr.CodeNotFound)
}

// refused requires an error with the given code.
func (l *lab) refused(err error, want ktrdr.Code) {
	l.Helper()
	if got := ktrdr.CodeOf(err); got != want {
		l.Errorf("error %v has code %q, want %q", err, got, want)
	}
}

// must requires no error.
func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// same requires equal values; nil and empty are the same.
func same[T any](l *lab, what string, got, want T) {
	l.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		l.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func text(s string) thread.Value { return thread.Value{Type: "text", Bytes: []byte(s)} }

func texts(t thread.Tuple) map[string]string {
	out := make(map[string]string)
	for channel, v := range t.Values {
		out[channel] = string(v.Bytes)
	}
	return out
}

// ids returns the ids of tuples in order.
func ids(tuples []thread.Tuple) []string {
	var out []string
	for _, t := range tuples {
		out = append(out, t.ID)
	}
	return out
}

// written returns "task/channel=value" of pending writes in order.
func written(writes []thread.PendingWrite) []string {
	var out []string
	for _, w := range writes {
		out = append(out, fmt.Sprintf("%s/%s=%s", w.Task, w.Channel, w.Value.Bytes))
	}
	return out
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
