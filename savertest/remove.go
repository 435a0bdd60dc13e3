package savertest

import (
	"fmt"

	"github.com/ktrdr/ktrdr/thread"
)

// forked puts, in a thread, a root, two forks that reach the same version, and
// a child of each that carries its fork's value over; each with a write.
func (l *lab) forked(threadID string) {
	l.Helper()
	l.put(point{
		thread: threadID, id: "1", versions: `{"a":1,"b":1}`, news: `{"a":1,"b":1}`, values: map[string]string{"a": "a1", "b": "b1"},
		meta: `{"run_id":"first"}`,
	})
	for _, fork := range []string{"x", "y"} {
		run := fmt.Sprintf(`{"run_id":%q}`, fork)
		l.put(point{
			thread: threadID, id: "2" + fork, parent: "1", versions: `{"a":2,"b":1}`, news: `{"a":2}`,
			values: map[string]string{"a": "a2 of " + fork}, meta: run,
		})
		l.put(point{thread: threadID, id: "3" + fork, parent: "2" + fork, versions: `{"a":2,"b":1}`, meta: run})
	}
	l.put(point{thread: threadID, ns: "child", id: "1", versions: `{"c":1}`, news: `{"c":1}`, values: map[string]string{"c": "c1"}})
	for _, id := range []string{"1", "2x", "3x", "2y", "3y"} {
		l.write(l.ref(threadID, "", id), "task", "", "w", "of "+id)
	}
	l.write(l.ref(threadID, "child", "1"), "task", "", "w", "of the child")
}

var removals = map[string]func(*lab){
	"DeleteThreadLeavesNothingOfIt": func(l *lab) {
		l.forked("t")
		l.forked("u")
		l.must(l.DeleteThread(l.ctx(), l.tenant, "t"))
		l.missing("t", "", "")
		l.missing("t", "child", "")
		same(l, "left", l.everything(), []string{"u//3y", "u//3x", "u//2y", "u//2x", "u/child/1", "u//1"})
		same(l, "values of the other", texts(l.get("u", "", "3y")), map[string]string{"a": "a2 of y", "b": "b1"})
		l.put(point{id: "1", versions: `{"a":1,"b":1}`})
		l.holds("1", nil)
		same(l, "writes of the new thread", written(l.get("t", "", "1").PendingWrites), nil)
	},

	"RemovingWhatIsNotThereIsNoError": func(l *lab) {
		l.must(l.DeleteThread(l.ctx(), l.tenant, "unknown"))
		l.must(l.DeleteRuns(l.ctx(), l.tenant, []string{"unknown"}))
		l.must(l.DeleteRuns(l.ctx(), l.tenant, nil))
		l.must(l.CopyThread(l.ctx(), l.tenant, "unknown", "dst"))
		l.must(l.Prune(l.ctx(), l.tenant, []string{"unknown"}, true))
		l.must(l.Prune(l.ctx(), l.tenant, nil, false))
		l.missing("dst", "", "")
	},

	"DeleteThreadOfManyCheckpoints": func(l *lab) {
		for i := range 560 {
			l.put(point{id: step(i), ns: fmt.Sprint(i % 2)})
		}
		l.put(point{thread: "u", id: "1"})
		l.must(l.DeleteThread(l.ctx(), l.tenant, "t"))
		same(l, "left", l.everything(), []string{"u//1"})
	},

	"DeleteRunsLeavesTheOthersComplete": func(l *lab) {
		l.forked("t")
		l.forked("u")
		l.must(l.DeleteRuns(l.ctx(), l.tenant, []string{"first", "x", "unknown", ""}))
		same(l, "left", l.everything(), []string{"u//3y", "t//3y", "u//2y", "t//2y", "u/child/1", "t/child/1"})
		for _, threadID := range []string{"t", "u"} {
			got := l.get(threadID, "", "3y")
			same(l, "values", texts(got), map[string]string{"a": "a2 of y", "b": "b1"})
			same(l, "writes", written(got.PendingWrites), []string{"task/w=of 3y"})
			same(l, "parent that is gone", l.get(threadID, "", "2y").Parent, "1")
		}
		l.put(point{id: "1"})
		same(l, "writes of a deleted run", written(l.get("t", "", "1").PendingWrites), nil)
	},

	"DeleteRunsStaysInItsTenant": func(l *lab) {
		other := &lab{T: l.T, Saver: l.Saver, tenant: l.tenant + "-other"}
		l.forked("t")
		other.forked("t")
		l.must(l.DeleteRuns(l.ctx(), l.tenant, []string{"x"}))
		other.get("t", "", "3x")
		l.missing("t", "", "3x")
	},

	"CopyThreadCopiesEverything": func(l *lab) {
		l.forked("src")
		l.put(point{thread: "dst", id: "0", versions: `{"a":2}`, news: `{"a":2}`, values: map[string]string{"a": "own"}})
		l.must(l.CopyThread(l.ctx(), l.tenant, "src", "dst"))
		for _, ref := range []thread.Ref{
			{Checkpoint: "1"}, {Checkpoint: "2x"}, {Checkpoint: "3x"}, {Checkpoint: "2y"}, {Checkpoint: "3y"}, {NS: "child", Checkpoint: "1"},
		} {
			want := l.get("src", ref.NS, ref.Checkpoint)
			want.Thread = "dst"
			same(l, "copy of "+ref.Checkpoint, l.get("dst", ref.NS, ref.Checkpoint), want)
		}
		same(l, "values of what was there", texts(l.get("dst", "", "0")), map[string]string{"a": "own"})

		l.must(l.DeleteThread(l.ctx(), l.tenant, "src"))
		same(l, "values after the source is gone", texts(l.get("dst", "", "3y")), map[string]string{"a": "a2 of y", "b": "b1"})
		l.put(point{thread: "dst", id: "4", parent: "3x", versions: `{"a":3,"b":1}`, news: `{"a":3}`, values: map[string]string{"a": "a3"}})
		same(l, "values of a child of a copy", texts(l.get("dst", "", "4")), map[string]string{"a": "a3", "b": "b1"})
	},

	"CopyThreadAgainChangesNothing": func(l *lab) {
		l.forked("src")
		l.must(l.CopyThread(l.ctx(), l.tenant, "src", "dst"))
		before := l.list(thread.Query{})
		l.must(l.CopyThread(l.ctx(), l.tenant, "src", "dst"))
		l.must(l.CopyThread(l.ctx(), l.tenant, "src", "src"))
		same(l, "checkpoints", l.list(thread.Query{}), before)
	},

	"CopyThreadOfManyCheckpoints": func(l *lab) {
		l.chain("", 120, 0)
		l.must(l.CopyThread(l.ctx(), l.tenant, "t", "dst"))
		same(l, "copied", len(l.list(thread.Query{Thread: new("dst")})), 120)
		same(l, "last write", written(l.get("dst", "", "").PendingWrites), []string{"task/ch=w119"})
		same(l, "first value", texts(l.get("dst", "", step(0))), map[string]string{"ch": "v0"})
	},

	"PruneKeepsTheLatestOfEachNamespace": func(l *lab) {
		l.forked("t")
		l.forked("u")
		l.put(point{ns: "child", id: "2", parent: "1", versions: `{"c":1}`})
		l.must(l.Prune(l.ctx(), l.tenant, []string{"t", "unknown"}, true))
		same(l, "left", l.everything(), []string{"u//3y", "t//3y", "u//3x", "u//2y", "u//2x", "t/child/2", "u/child/1", "u//1"})
		latest := l.get("t", "", "")
		same(l, "latest", latest.ID, "3y")
		same(l, "values", texts(latest), map[string]string{"a": "a2 of y", "b": "b1"})
		same(l, "writes", written(latest.PendingWrites), []string{"task/w=of 3y"})
		same(l, "values of the child", texts(l.get("t", "child", "")), map[string]string{"c": "c1"})
		l.put(point{id: "1"})
		same(l, "writes of what was pruned", written(l.get("t", "", "1").PendingWrites), nil)
	},

	"PrunedThreadTakesNewCheckpoints": func(l *lab) {
		l.forked("t")
		l.must(l.Prune(l.ctx(), l.tenant, []string{"t"}, true))
		l.put(point{id: "4", parent: "3y", versions: `{"a":3,"b":1}`, news: `{"a":3}`, values: map[string]string{"a": "a3"}})
		l.put(point{id: "5", parent: "1", versions: `{"a":2,"b":1}`})
		l.holds("4", map[string]string{"a": "a3", "b": "b1"})
		l.holds("5", map[string]string{"a": "a2 of y", "b": "b1"}) // of the fork that is left
	},

	"PruneKeepsEarlyWrites": func(l *lab) {
		l.forked("t")
		l.write(l.ref("t", "", "4"), "task", "", "w", "early")
		l.must(l.Prune(l.ctx(), l.tenant, []string{"t"}, true))
		l.put(point{id: "4", parent: "3y"})
		same(l, "writes", written(l.get("t", "", "4").PendingWrites), []string{"task/w=early"})
	},

	"PruneDoesNotCutADeltaChain": func(l *lab) {
		l.chain("", 8, 1, 4)
		l.must(l.Prune(l.ctx(), l.tenant, []string{"t"}, true))
		same(l, "left", ids(l.list(thread.Query{})), []string{step(7), step(6), step(5), step(4)})
		l.past("", step(7), "ch", "v4", "w4", "w5", "w6")
	},

	"PruneAtASnapshotKeepsOnlyIt": func(l *lab) {
		l.chain("", 8, 1, 7)
		l.must(l.Prune(l.ctx(), l.tenant, []string{"t"}, true))
		same(l, "left", ids(l.list(thread.Query{})), []string{step(7)})
	},

	"PruneOfAllDeletesTheThreads": func(l *lab) {
		l.forked("t")
		l.forked("u")
		l.forked("v")
		l.must(l.Prune(l.ctx(), l.tenant, []string{"t", "v"}, false))
		l.missing("t", "", "")
		l.missing("v", "child", "")
		l.get("u", "", "3x")
	},

	"PruneOfManyCheckpoints": func(l *lab) {
		l.chain("", 560, 559)
		l.must(l.Prune(l.ctx(), l.tenant, []string{"t"}, true))
		same(l, "left", l.everything(), []string{"t//" + step(559)})
	},
}
