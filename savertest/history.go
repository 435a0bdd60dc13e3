package savertest

import (
	"fmt"

	"github.com/ktrdr/ktrdr/thread"
)

// chain puts n checkpoints, each the child of the one before, each with one
// write "wI" on channel "ch"; those in held also hold a value "vI" of it.
func (l *lab) chain(ns string, n int, held ...int) {
	l.Helper()
	parent := ""
	for i := range n {
		p := point{ns: ns, id: step(i), parent: parent, meta: `{"counters_since_delta_snapshot":{"ch":[1,1]}}`}
		p.versions = fmt.Sprintf(`{"ch":%d}`, i)
		p.news = p.versions
		for _, at := range held {
			if at == i {
				p.values = map[string]string{"ch": fmt.Sprint("v", i)}
			}
		}
		l.put(p)
		l.write(l.ref("t", ns, p.id), "task", "", "ch", fmt.Sprint("w", i))
		parent = p.id
	}
}

func step(i int) string { return fmt.Sprintf("%06d", i) }

// past requires the history of a channel before a checkpoint of thread "t".
func (l *lab) past(ns, id, channel, seed string, want ...string) {
	l.Helper()
	got, err := l.History(l.ctx(), l.ref("t", ns, id), []string{channel})
	l.must(err)
	if len(got) != 1 {
		l.Fatalf("history of %s: %d channels, want 1", id, len(got))
	}
	var values []string
	for _, w := range got[channel].Writes {
		values = append(values, string(w.Value.Bytes))
	}
	same(l, "writes before "+id, values, want)
	switch h := got[channel]; {
	case h.Seed == nil && seed != "":
		l.Errorf("no seed before %s, want %s", id, seed)
	case h.Seed != nil && string(h.Seed.Bytes) != seed:
		l.Errorf("seed before %s = %s, want %q", id, h.Seed.Bytes, seed)
	}
}

var histories = map[string]func(*lab){
	"HistoryRunsFromTheNearestValueToTheTarget": func(l *lab) {
		for _, ns := range []string{"", "child"} {
			l.chain(ns, 7, 0, 3)
			l.past(ns, step(6), "ch", "v3", "w3", "w4", "w5")
			l.past(ns, "", "ch", "v3", "w3", "w4", "w5")
			l.past(ns, step(3), "ch", "v0", "w0", "w1", "w2")
			l.past(ns, step(0), "ch", "")
			l.past(ns, step(6), "unknown", "")
		}
	},

	"HistoryWithoutAValueRunsFromTheRoot": func(l *lab) {
		l.chain("", 4)
		l.past("", step(3), "ch", "", "w0", "w1", "w2")
	},

	"LongHistoryIsComplete": func(l *lab) {
		l.chain("", 150, 5)
		var want []string
		for i := 5; i < 149; i++ {
			want = append(want, fmt.Sprint("w", i))
		}
		l.past("", step(149), "ch", "v5", want...)
	},

	"EachChannelEndsAtItsOwnValue": func(l *lab) {
		for i := range 5 {
			p := point{id: step(i)}
			if i > 0 {
				p.parent = step(i - 1)
			}
			if channel, ok := map[int]string{1: "a", 3: "b"}[i]; ok {
				p.versions = fmt.Sprintf(`{%q:%d}`, channel, i)
				p.news, p.values = p.versions, map[string]string{channel: "value of " + channel}
			}
			l.put(p)
			l.write(l.ref("t", "", p.id), "task-a", "", "a", fmt.Sprint("a", i))
			l.write(l.ref("t", "", p.id), "task-b", "", "b", fmt.Sprint("b", i))
		}
		l.past("", step(4), "a", "value of a", "a1", "a2", "a3")
		l.past("", step(4), "b", "value of b", "b3")
		got, err := l.History(l.ctx(), l.ref("t", "", step(4)), []string{"a", "b", "a", "c"})
		l.must(err)
		same(l, "channels", len(got), 3)
		none, err := l.History(l.ctx(), l.ref("t", "", step(4)), nil)
		l.must(err)
		same(l, "channels", len(none), 0)
	},

	"HistoryFollowsTheParentNotTheClock": func(l *lab) {
		l.put(point{id: "1", versions: `{"ch":1}`, news: `{"ch":1}`, values: map[string]string{"ch": "root"}})
		for _, id := range []string{"2a", "2b"} {
			l.put(point{id: id, parent: "1", versions: `{"ch":2}`, news: `{"ch":2}`})
			l.write(l.ref("t", "", id), "task", "", "ch", "w"+id)
		}
		l.put(point{id: "3a", parent: "2a", versions: `{"ch":3}`, news: `{"ch":3}`})
		l.past("", "3a", "ch", "root", "w2a")
	},

	"HistoryReplaysByTaskPath": func(l *lab) {
		l.put(point{id: "1"})
		ref := l.ref("t", "", "1")
		l.write(ref, "task-1", "~pull, 02", "ch", "third", "fourth")
		l.write(ref, "task-2", "~pull, 01", "ch", "second")
		l.write(ref, "task-3", "", "ch", "first")
		l.put(point{id: "2", parent: "1"})
		l.past("", "2", "ch", "", "first", "second", "third", "fourth")
	},

	"ChainThatBitesItsTailEnds": func(l *lab) {
		l.put(point{id: "1", parent: "2"})
		l.put(point{id: "2", parent: "1"})
		l.put(point{id: "3", parent: "3"})
		l.write(l.ref("t", "", "1"), "task", "", "ch", "w1")
		l.write(l.ref("t", "", "3"), "task", "", "ch", "w3")
		l.past("", "2", "ch", "", "w1")
		l.past("", "3", "ch", "")
	},

	"ChainThatIsCutEndsThere": func(l *lab) {
		l.put(point{id: "2", parent: "gone"})
		l.write(l.ref("t", "", "2"), "task", "", "ch", "w2")
		l.write(l.ref("t", "", "gone"), "task", "", "ch", "of none")
		l.put(point{id: "3", parent: "2"})
		l.past("", "3", "ch", "", "w2")
	},
}

// everything returns "thread/ns/id" of all that is listed.
func (l *lab) everything() []string {
	l.Helper()
	var out []string
	for _, t := range l.list(thread.Query{}) {
		out = append(out, t.Thread+"/"+t.NS+"/"+t.ID)
	}
	return out
}
