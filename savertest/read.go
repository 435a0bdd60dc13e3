package savertest

import (
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

var reads = map[string]func(*lab){
	"LatestIsTheGreatestIDInBytes": func(l *lab) {
		for _, id := range []string{"a", "B", "ä", "Z", "aa", "a-1", "A"} {
			l.put(point{id: id})
		}
		same(l, "latest", l.get("t", "", "").ID, "ä")
		limit := 7
		same(l, "order", ids(l.list(thread.Query{Limit: &limit})), []string{"ä", "aa", "a-1", "a", "Z", "B", "A"})
	},

	"ReadByIDAndLatest": func(l *lab) {
		l.put(point{id: "1", meta: `{"step":-1}`})
		l.put(point{id: "2", parent: "1", meta: `{"step":0}`})
		first, latest := l.get("t", "", "1"), l.get("t", "", "")
		same(l, "parent of the first", first.Parent, "")
		same(l, "metadata of the first", string(first.Metadata), `{"step":-1}`)
		same(l, "latest", latest, l.get("t", "", "2"))
		same(l, "parent of the latest", latest.Parent, "1")
		same(l, "thread and ns", []string{latest.Thread, latest.NS}, []string{"t", ""})
	},

	// As text the first would be the latest, as an instant the second.
	"TheClockOfAClientOrdersNothing": func(l *lab) {
		for id, ts := range map[string]string{"1": "2026-01-02T09:00:00+14:00", "2": "2026-01-01T20:00:00Z", "3": "2026-01-01T05:30:00-11:00"} {
			put := l.request(point{id: id})
			put.Checkpoint = json.RawMessage(fmt.Sprintf(`{"v":4,"id":%q,"ts":%q,"channel_versions":{},"versions_seen":{}}`, id, ts))
			_, err := l.Put(l.ctx(), put)
			l.must(err)
		}
		same(l, "latest", l.get("t", "", "").ID, "3")
		same(l, "before the latest", ids(l.list(thread.Query{Before: "3"})), []string{"2", "1"})
	},

	"WhatIsNotThereIsNotFound": func(l *lab) {
		l.missing("t", "", "")
		l.put(point{id: "1"})
		l.missing("t", "", "2")
		l.missing("t", "child", "1")
		l.missing("t", "child", "")
		l.missing("u", "", "1")
		_, err := l.History(l.ctx(), l.ref("u", "", ""), []string{"a"})
		l.refused(err, ktrdr.CodeNotFound)
	},

	"OldFormatsGetTheirPendingSends": func(l *lab) {
		for _, threadID := range []string{"v3", "v4", "root"} {
			l.put(point{thread: threadID, id: "1", v: 3})
			ref := l.ref(threadID, "", "1")
			l.write(ref, "task-b", "", "__pregel_tasks", "b0", "b1")
			l.write(ref, "task-a", "", "__pregel_tasks", "a0")
			l.write(ref, "task-c", "", "other", "c0")
		}
		l.put(point{thread: "v3", id: "2", parent: "1", v: 3})
		l.put(point{thread: "v4", id: "2", parent: "1", v: 4})
		l.put(point{thread: "root", id: "2", v: 3})
		want := []thread.Value{text("a0"), text("b0"), text("b1")}
		same(l, "sends of v3", l.get("v3", "", "2").PendingSends, want)
		same(l, "sends of v4", l.get("v4", "", "2").PendingSends, nil)
		same(l, "sends without a parent", l.get("root", "", "2").PendingSends, nil)
		threadID := "v3"
		same(l, "sends in a list", l.list(thread.Query{Thread: &threadID})[0].PendingSends, want)
	},
}

var writes = map[string]func(*lab){
	"FirstWriteWinsAndSpecialOnesAreReplaced": func(l *lab) {
		l.put(point{id: "1"})
		put := func(idx int, channel, value string) {
			l.must(l.PutWrites(l.ctx(), thread.Writes{
				Tenant: l.tenant, Thread: "t", Checkpoint: "1", Task: "task",
				Writes: []thread.Write{{Idx: idx, Channel: channel, Value: text(value)}},
			}))
		}
		put(0, "a", "first")
		put(0, "a2", "second")
		put(-1, "__error__", "first")
		put(-1, "__error__", "second")
		put(-3, "__interrupt__", "x")
		same(l, "writes", written(l.get("t", "", "1").PendingWrites),
			[]string{"task/__interrupt__=x", "task/__error__=second", "task/a=first"})
	},

	"OneCallMayRepeatAnIndex": func(l *lab) {
		l.put(point{id: "1"})
		l.must(l.PutWrites(l.ctx(), thread.Writes{
			Tenant: l.tenant, Thread: "t", Checkpoint: "1", Task: "task",
			Writes: []thread.Write{
				{Idx: -1, Channel: "e", Value: text("1")},
				{Idx: -1, Channel: "e", Value: text("2")},
				{Idx: 0, Channel: "a", Value: text("1")},
				{Idx: 0, Channel: "a", Value: text("2")},
			},
		}))
		same(l, "writes", written(l.get("t", "", "1").PendingWrites), []string{"task/e=2", "task/a=1"})
	},

	"WritesAreOrderedByTaskThenIndex": func(l *lab) {
		l.put(point{id: "1"})
		ref := l.ref("t", "", "1")
		l.write(ref, "b", "path 1", "c", "b0", "b1")
		l.write(ref, "a", "path 2", "c", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10")
		l.write(ref, "B", "", "c", "B0")
		same(l, "writes", written(l.get("t", "", "1").PendingWrites), []string{
			"B/c=B0", "a/c=a0", "a/c=a1", "a/c=a2", "a/c=a3", "a/c=a4", "a/c=a5", "a/c=a6", "a/c=a7", "a/c=a8", "a/c=a9", "a/c=a10", "b/c=b0",
			"b/c=b1",
		})
	},

	"WritesMayComeBeforeTheirCheckpoint": func(l *lab) {
		l.write(l.ref("t", "", "1"), "task", "", "c", "early")
		l.missing("t", "", "1")
		same(l, "listed", len(l.list(thread.Query{})), 0)
		l.put(point{id: "1"})
		same(l, "writes", written(l.get("t", "", "1").PendingWrites), []string{"task/c=early"})
	},

	"WritesBelongToOneCheckpointOfOneNamespace": func(l *lab) {
		l.put(point{id: "1"})
		l.put(point{id: "1", ns: "child"})
		l.put(point{id: "2", parent: "1"})
		l.write(l.ref("t", "", "1"), "task", "", "c", "root")
		l.write(l.ref("t", "child", "1"), "task", "", "c", "child")
		same(l, "root", written(l.get("t", "", "1").PendingWrites), []string{"task/c=root"})
		same(l, "child", written(l.get("t", "child", "1").PendingWrites), []string{"task/c=child"})
		same(l, "next", written(l.get("t", "", "2").PendingWrites), []string{})
	},

	"WrittenBytesComeBack": func(l *lab) {
		l.put(point{id: "1"})
		value := thread.Value{Type: "bytes", Bytes: []byte{0xff, 0x00, 0x80}}
		l.must(l.PutWrites(l.ctx(), thread.Writes{
			Tenant: l.tenant, Thread: "t", Checkpoint: "1", Task: "task", Writes: []thread.Write{{Channel: "c", Value: value}},
		}))
		same(l, "value", l.get("t", "", "1").PendingWrites[0].Value, value)
	},
}
