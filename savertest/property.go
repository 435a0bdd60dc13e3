package savertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

var properties = map[string]func(*lab){
	"EveryForkReadsItsOwnState":      everyForkReadsItsOwnState,
	"AnySequenceMatchesTheReference": anySequenceMatchesTheReference,
}

// everyForkReadsItsOwnState grows random trees of checkpoints the way a graph
// does: each child changes, empties or keeps channels, and numbers what it
// changed one above its parent, so that forks collide all the time. What is
// read back must be the state the child was made with.
func everyForkReadsItsOwnState(l *lab) {
	var runs atomic.Int64
	rapid.Check(l.T, func(t *rapid.T) {
		type node struct {
			id       string
			versions map[string]int
			values   map[string]string
		}
		tree := fmt.Sprint("tree-", runs.Add(1))
		nodes := []node{{versions: map[string]int{}, values: map[string]string{}}}
		for i := range rapid.IntRange(2, 14).Draw(t, "checkpoints") {
			parent := rapid.SampledFrom(nodes).Draw(t, "parent")
			n := node{id: step(i), versions: maps.Clone(parent.versions), values: maps.Clone(parent.values)}
			var news []string
			brought := make(map[string]string)
			for _, channel := range []string{"a", "b", "c"} {
				change := rapid.SampledFrom([]string{"keep", "keep", "set", "same", "empty"}).Draw(t, channel)
				if change == "keep" {
					continue
				}
				n.versions[channel]++
				news = append(news, fmt.Sprintf("%q:%d", channel, n.versions[channel]))
				delete(n.values, channel)
				if change != "empty" {
					value := map[string]string{"set": channel + n.id, "same": "the same"}[change]
					n.values[channel], brought[channel] = value, value
				}
			}
			p := point{
				thread: tree, id: n.id, parent: parent.id, versions: object(n.versions), news: "{" + strings.Join(news, ",") + "}", values: brought,
			}
			if _, err := l.Put(l.ctx(), l.request(p)); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, n)
		}
		for _, n := range nodes[1:] {
			got, err := l.GetTuple(l.ctx(), l.ref(tree, "", n.id))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(n.values, texts(got)); diff != "" {
				t.Fatalf("values of %s (-want +got):\n%s", n.id, diff)
			}
		}
	})
}

func object(versions map[string]int) string {
	var parts []string
	for _, channel := range slices.Sorted(maps.Keys(versions)) {
		parts = append(parts, fmt.Sprintf("%q:%d", channel, versions[channel]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// anySequenceMatchesTheReference makes the same random calls to the saver and to
// the reference and compares everything that can be read from both.
func anySequenceMatchesTheReference(l *lab) {
	var runs atomic.Int64
	rapid.Check(l.T, func(t *rapid.T) {
		tenant := fmt.Sprint(l.tenant, "-", runs.Add(1))
		both := []*lab{{T: l.T, Saver: l.Saver, tenant: tenant}, {T: l.T, Saver: newReference(), tenant: tenant}}
		for range rapid.IntRange(3, 25).Draw(t, "acts") {
			act := drawAct(t)
			errs := []ktrdr.Code{ktrdr.CodeOf(act(both[0])), ktrdr.CodeOf(act(both[1]))}
			if errs[0] != errs[1] {
				t.Fatalf("answered %q, the reference %q", errs[0], errs[1])
			}
		}
		tuples := [2][]thread.Tuple{both[0].list(thread.Query{}), both[1].list(thread.Query{})}
		if diff := cmp.Diff(tuples[1], tuples[0], cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("everything (-reference +saver):\n%s", diff)
		}
		for _, tuple := range tuples[0] {
			var h [2]map[string]thread.ChannelHistory
			for i, l := range both {
				var err error
				if h[i], err = l.History(l.ctx(), l.ref(tuple.Thread, tuple.NS, tuple.ID), []string{"a", "b"}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(h[1], h[0], cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("history of %s (-reference +saver):\n%s", tuple.ID, diff)
			}
		}
	})
}

// drawAct draws one change to make, the same to every lab it is given.
func drawAct(t *rapid.T) func(l *lab) error {
	on := rapid.SampledFrom([]string{"t", "u", "v"}).Draw(t, "thread")
	ns := rapid.SampledFrom([]string{"", "", "n"}).Draw(t, "ns")
	id := rapid.StringMatching("[0-3][ab]").Draw(t, "id")
	run := rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "run")
	switch rapid.SampledFrom([]string{"put", "put", "put", "put", "put", "put", "write", "write", "delete", "runs", "copy", "prune"}).Draw(t,
		"act") {
	case "write":
		w := thread.Writes{
			Thread: on, NS: ns, Checkpoint: id, Task: rapid.SampledFrom([]string{"x", "Y"}).Draw(t, "task"),
			TaskPath: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "path"),
			Writes: []thread.Write{{
				Idx:     rapid.IntRange(-2, 2).Draw(t, "idx"),
				Channel: rapid.SampledFrom([]string{"a", "b", "__pregel_tasks"}).Draw(t, "channel"),
				Value:   text(rapid.StringN(0, 3, -1).Draw(t, "written")),
			}},
		}
		return func(l *lab) error { w.Tenant = l.tenant; return l.PutWrites(l.ctx(), w) }
	case "delete":
		return func(l *lab) error { return l.DeleteThread(l.ctx(), l.tenant, on) }
	case "runs":
		return func(l *lab) error { return l.DeleteRuns(l.ctx(), l.tenant, []string{run}) }
	case "copy":
		dst := rapid.SampledFrom([]string{"t", "u", "v", "w"}).Draw(t, "dst")
		return func(l *lab) error { return l.CopyThread(l.ctx(), l.tenant, on, dst) }
	case "prune":
		keep := rapid.Bool().Draw(t, "keep")
		return func(l *lab) error { return l.Prune(l.ctx(), l.tenant, []string{on}, keep) }
	}
	p := point{
		thread: on, ns: ns, id: id, parent: rapid.StringMatching("([0-3][ab])?").Draw(t, "parent"), v: rapid.IntRange(3, 4).Draw(t, "v"),
		versions: object(map[string]int{"a": rapid.IntRange(1, 3).Draw(t, "a"), "b": rapid.IntRange(1, 2).Draw(t, "b")}),
		meta:     fmt.Sprintf(`{"run_id":%q,"counters_since_delta_snapshot":{"b":[1,1]}}`, run),
	}
	if rapid.Bool().Draw(t, "new a") {
		p.news, p.values = `{"a":9}`, map[string]string{"a": rapid.SampledFrom([]string{"one", "two", id}).Draw(t, "value")}
	} else if rapid.Bool().Draw(t, "new b") {
		p.news = `{"b":9}`
	}
	return func(l *lab) error { _, err := l.Put(l.ctx(), l.request(p)); return err }
}
