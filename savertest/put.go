package savertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

var puts = map[string]func(*lab){
	"PutSaysWhereItWent": func(l *lab) {
		got, err := l.Put(l.ctx(), l.request(point{id: "1", ns: "child:7"}))
		l.must(err)
		same(l, "ref", got, l.ref("t", "child:7", "1"))
	},

	"JSONComesBackByteForByte": func(l *lab) {
		p := l.request(point{})
		p.Checkpoint = json.RawMessage("{ \"v\": 4,\n\t\"id\":\"\\u0031\", \"channel_versions\":{\"b\":1.0,\"a\":1e2}, " +
			"\"big\":123456789012345678901234567890, \"nul\":\"\\u0000\", \"é\":\"\U0001F600\" }")
		p.Metadata = json.RawMessage("{\"z\" : 1,\t\"a\":[ ], \"z2\":1.50}")
		_, err := l.Put(l.ctx(), p)
		l.must(err)
		got := l.get("t", "", "1")
		same(l, "checkpoint", string(got.Checkpoint), string(p.Checkpoint))
		same(l, "metadata", string(got.Metadata), string(p.Metadata))
	},

	"MetadataMayBeMissing": func(l *lab) {
		p := l.request(point{id: "1"})
		p.Metadata = nil
		_, err := l.Put(l.ctx(), p)
		l.must(err)
		same(l, "metadata", string(l.get("t", "", "1").Metadata), "")
	},

	"ValuesComeBackByteForByte": func(l *lab) {
		p := l.request(point{id: "1", versions: `{"a":1,"b":1,"c":1}`, news: `{"a":1,"b":1,"c":1}`})
		large := make([]byte, 300<<10)
		for i := range large {
			large[i] = byte(i * 7)
		}
		p.Values = map[string]thread.Value{
			"a": {Type: "bytes", Bytes: []byte{0xff, 0x00, 0x80}},
			"b": {Type: "", Bytes: []byte{}},
			"c": {Type: "json", Bytes: large},
		}
		_, err := l.Put(l.ctx(), p)
		l.must(err)
		same(l, "values", l.get("t", "", "1").Values, p.Values)
	},

	// What other stores decode, and so run, when they read it.
	"AProgramIsOnlyBytes": func(l *lab) {
		proof := filepath.Join(l.TempDir(), "it-ran")
		for i, v := range []thread.Value{
			{Type: "pickle", Bytes: []byte("cos\nsystem\n(S'touch " + proof + "'\ntR.")},
			{Type: "json", Bytes: []byte(`{"lc":2,"type":"constructor","id":["child_process"],"method":"execSync","args":["touch ` + proof + `"]}`)},
			{Type: "yaml", Bytes: []byte(`!!python/object/apply:os.system ["touch ` + proof + `"]`)},
			{Type: "sh", Bytes: []byte("#!/bin/sh\ntouch " + proof + "\n")},
		} {
			id := fmt.Sprint(i)
			put := l.request(point{id: id, versions: `{"a":1}`, news: `{"a":1}`})
			put.Values = map[string]thread.Value{"a": v}
			_, err := l.Put(l.ctx(), put)
			l.must(err)
			l.must(l.PutWrites(l.ctx(), thread.Writes{
				Tenant: l.tenant, Thread: "t", Checkpoint: id, Task: "task", Writes: []thread.Write{{Channel: "a", Value: v}},
			}))
			got := l.get("t", "", id)
			same(l, "value", got.Values["a"], v)
			same(l, "write", got.PendingWrites[0].Value, v)
			_, err = l.History(l.ctx(), l.ref("t", "", id), []string{"a"})
			l.must(err)
		}
		if _, err := os.Stat(proof); !errors.Is(err, fs.ErrNotExist) {
			l.Errorf("what was stored has run (%v)", err)
		}
	},

	"EqualBytesOfTwoTypesStayTwoValues": func(l *lab) {
		p := l.request(point{id: "1", versions: `{"a":1,"b":1}`, news: `{"a":1,"b":1}`})
		p.Values = map[string]thread.Value{"a": {Type: "x", Bytes: []byte("yz")}, "b": {Type: "xy", Bytes: []byte("z")}}
		_, err := l.Put(l.ctx(), p)
		l.must(err)
		same(l, "values", l.get("t", "", "1").Values, p.Values)
	},

	"OnlyNewChannelsAreStored": func(l *lab) {
		for i, news := range []string{`{}`, `{"foo":1}`, `{"foo":1,"baz":1}`} {
			p := point{thread: fmt.Sprint("t", i), id: "1", versions: `{"foo":1,"baz":1}`, news: news, values: map[string]string{}}
			for _, channel := range []string{"foo", "baz"} {
				if strings.Contains(news, channel) {
					p.values[channel] = "of " + channel
				}
			}
			l.put(p)
			same(l, "values with new_versions "+news, texts(l.get(p.thread, "", "1")), p.values)
		}
	},

	"UnchangedChannelsAreCarriedOver": func(l *lab) {
		l.put(point{id: "1", versions: `{"a":1,"b":1}`, news: `{"a":1,"b":1}`, values: map[string]string{"a": "a1", "b": "b1"}})
		l.put(point{id: "2", parent: "1", versions: `{"a":2,"b":1}`, news: `{"a":2}`, values: map[string]string{"a": "a2"}})
		l.put(point{id: "3", parent: "2", versions: `{"a":2,"b":1,"c":1}`, news: `{"c":1}`, values: map[string]string{"c": "c1"}})
		l.holds("1", map[string]string{"a": "a1", "b": "b1"})
		l.holds("2", map[string]string{"a": "a2", "b": "b1"})
		l.holds("3", map[string]string{"a": "a2", "b": "b1", "c": "c1"})
	},

	"NewChannelWithoutValueIsEmpty": func(l *lab) {
		l.put(point{id: "1", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "a1"}})
		l.put(point{id: "2", parent: "1", versions: `{"a":1}`, news: `{"a":1}`})
		l.put(point{id: "3", parent: "1", versions: `{"a":2}`, news: `{"a":2}`})
		l.holds("2", nil)
		l.holds("3", nil)
	},

	"EmptyChannelStaysEmptyInItsChildren": func(l *lab) {
		l.put(point{id: "1", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "a1"}})
		l.put(point{id: "2a", parent: "1", versions: `{"a":2}`, news: `{"a":2}`, values: map[string]string{"a": "of the other fork"}})
		l.put(point{id: "2b", parent: "1", versions: `{"a":2}`, news: `{"a":2}`})
		l.put(point{id: "3b", parent: "2b", versions: `{"a":2}`, news: `{}`})
		l.holds("3b", nil)
	},

	"ChannelWithoutVersionIsGone": func(l *lab) {
		l.put(point{id: "1", versions: `{"a":1,"b":1}`, news: `{"a":1,"b":1}`, values: map[string]string{"a": "a1", "b": "b1"}})
		l.put(point{id: "2", parent: "1", versions: `{"a":1}`, news: `{"b":2}`})
		l.holds("2", map[string]string{"a": "a1"})
	},

	"ForksKeepTheirOwnValues": func(l *lab) {
		l.put(point{id: "1", versions: `{"a":1,"b":1}`, news: `{"a":1,"b":1}`, values: map[string]string{"a": "root", "b": "both"}})
		for _, fork := range []string{"x", "y", "z"} {
			l.put(point{id: "2" + fork, parent: "1", versions: `{"a":2,"b":1}`, news: `{"a":2}`, values: map[string]string{"a": "of " + fork}})
		}
		for _, fork := range []string{"z", "x", "y"} {
			l.put(point{id: "3" + fork, parent: "2" + fork, versions: `{"a":2,"b":1}`, news: `{}`})
			l.holds("2"+fork, map[string]string{"a": "of " + fork, "b": "both"})
			l.holds("3"+fork, map[string]string{"a": "of " + fork, "b": "both"})
		}
	},

	"ForkCopyUnderTheGrandparentFindsItsValues": func(l *lab) {
		l.put(point{id: "1", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "a1"}})
		l.put(point{id: "2", parent: "1", versions: `{"a":2}`, news: `{"a":2}`, values: map[string]string{"a": "a2"}})
		l.put(point{id: "3", parent: "2", versions: `{"a":2}`, news: `{"a":2}`, values: map[string]string{"a": "later"}})
		l.put(point{id: "4", parent: "1", versions: `{"a":2}`, news: `{}`})
		l.put(point{id: "5", versions: `{"a":2}`, news: `{}`})
		l.holds("4", map[string]string{"a": "a2"})
		l.holds("5", map[string]string{"a": "a2"})
	},

	"FirstSeenIsPerThreadAndNamespace": func(l *lab) {
		l.put(point{id: "1", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "a1"}})
		l.put(point{id: "1", ns: "child", versions: `{"a":1}`})
		l.put(point{id: "1", thread: "other", versions: `{"a":1}`})
		same(l, "values of another namespace", texts(l.get("t", "child", "1")), map[string]string{})
		same(l, "values of another thread", texts(l.get("other", "", "1")), map[string]string{})
	},

	"VersionsAreComparedByValue": func(l *lab) {
		l.put(point{
			id: "1", versions: `{"n":1,"s":"1","f":2.50}`, news: `{"n":1,"s":"1","f":2.5}`, values: map[string]string{"n": "n", "s": "s", "f": "f"},
		})
		l.put(point{id: "2", parent: "1", versions: `{"n":1.0,"s":"\u0031","f":25e-1}`})
		l.holds("2", map[string]string{"n": "n", "s": "s", "f": "f"})
		l.put(point{id: "3", parent: "1", versions: `{"n":"1","s":1,"f":2.500000000000000000001}`})
		l.holds("3", nil)
	},

	"PutOfTheSameIDReplaces": func(l *lab) {
		l.put(point{id: "1", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "old"}, meta: `{"step":1}`})
		l.write(l.ref("t", "", "1"), "task", "", "c", "kept")
		l.put(point{id: "1", parent: "0", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "new"}, meta: `{"step":2}`})
		got := l.get("t", "", "1")
		same(l, "values", texts(got), map[string]string{"a": "new"})
		same(l, "metadata", string(got.Metadata), `{"step":2}`)
		same(l, "parent", got.Parent, "0")
		same(l, "writes", written(got.PendingWrites), []string{"task/c=kept"})
		same(l, "count", len(l.list(thread.Query{})), 1)
	},

	"PutAgainWithoutValuesKeepsItsOwn": func(l *lab) {
		l.put(point{id: "1", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "root"}})
		l.put(point{id: "2a", parent: "1", versions: `{"a":2}`, news: `{"a":2}`, values: map[string]string{"a": "of a"}})
		l.put(point{id: "2b", parent: "1", versions: `{"a":2}`, news: `{"a":2}`, values: map[string]string{"a": "of b"}})
		l.put(point{id: "2b", parent: "1", versions: `{"a":2}`, meta: `{"again":true}`})
		l.holds("2b", map[string]string{"a": "of b"})
	},

	"ParentNeedNotExist": func(l *lab) {
		l.put(point{id: "2", parent: "gone", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "a1"}})
		got := l.get("t", "", "2")
		same(l, "parent", got.Parent, "gone")
		same(l, "values", texts(got), map[string]string{"a": "a1"})
	},

	"ThreadsNamespacesAndTenantsAreApart": func(l *lab) {
		where := []point{{thread: "t"}, {thread: "t", ns: "child"}, {thread: "u"}, {thread: "T"}, {thread: "t", ns: "Child"}}
		for i, p := range where {
			p.id, p.versions, p.news, p.values = "1", `{"a":1}`, `{"a":1}`, map[string]string{"a": fmt.Sprint(i)}
			l.put(p)
		}
		elsewhere := &lab{T: l.T, Saver: l.Saver, tenant: l.tenant + "-other"}
		elsewhere.put(point{id: "1", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "elsewhere"}})
		for i, p := range where {
			same(l, fmt.Sprintf("values of %s/%s", p.thread, p.ns), texts(l.get(p.thread, p.ns, "1")), map[string]string{"a": fmt.Sprint(i)})
		}
		same(l, "checkpoints of the other tenant", ids(elsewhere.list(thread.Query{})), []string{"1"})
	},

	"NoCallerCanChangeWhatIsStored": func(l *lab) {
		p := l.request(point{id: "1", versions: `{"a":1}`, news: `{"a":1}`, values: map[string]string{"a": "stored"}, meta: `{"k":1}`})
		_, err := l.Put(l.ctx(), p)
		l.must(err)
		l.write(l.ref("t", "", "1"), "task", "", "c", "stored")
		spoil(p.Checkpoint, p.Metadata, p.Values["a"].Bytes)
		got := l.get("t", "", "1")
		want := string(got.Checkpoint)
		spoil(got.Checkpoint, got.Metadata, got.Values["a"].Bytes, got.PendingWrites[0].Value.Bytes)
		delete(got.Values, "a")
		again := l.get("t", "", "1")
		same(l, "checkpoint", string(again.Checkpoint), want)
		same(l, "metadata", string(again.Metadata), `{"k":1}`)
		same(l, "values", texts(again), map[string]string{"a": "stored"})
		same(l, "writes", written(again.PendingWrites), []string{"task/c=stored"})
	},

	"ConcurrentPutsAreAllThere": func(l *lab) {
		const writers, each = 8, 10
		var wg sync.WaitGroup
		errs := make(chan error, writers*each)
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					p := point{
						id: fmt.Sprintf("%d-%d", w, i), versions: `{"a":1,"b":1}`, news: `{"a":1,"b":1}`,
						values: map[string]string{"a": "shared", "b": fmt.Sprint(w, i)},
					}
					_, err := l.Put(l.ctx(), l.request(p))
					errs <- err
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			l.must(err)
		}
		got := l.list(thread.Query{})
		same(l, "checkpoints", len(got), writers*each)
		for _, tuple := range got {
			var w, i int
			if _, err := fmt.Sscanf(tuple.ID, "%d-%d", &w, &i); err != nil {
				l.Fatal(err)
			}
			same(l, "values of "+tuple.ID, texts(tuple), map[string]string{"a": "shared", "b": fmt.Sprint(w, i)})
		}
	},
}

func spoil(slices ...[]byte) {
	for _, b := range slices {
		for i := range b {
			b[i] = 'X'
		}
	}
}

var refusals = map[string]func(*lab){
	"PutThatCannotBeUnderstoodIsRefused": func(l *lab) {
		for name, change := range map[string]func(*thread.Put){
			"no thread":             func(p *thread.Put) { p.Thread = "" },
			"NUL in the thread":     func(p *thread.Put) { p.Thread = "a\x00b" },
			"huge thread":           func(p *thread.Put) { p.Thread = strings.Repeat("x", 5000) },
			"bad UTF-8 in ns":       func(p *thread.Put) { p.NS = "\xff" },
			"NUL in the parent":     func(p *thread.Put) { p.Parent = "\x00" },
			"no checkpoint":         func(p *thread.Put) { p.Checkpoint = nil },
			"broken checkpoint":     func(p *thread.Put) { p.Checkpoint = json.RawMessage(`{"id":`) },
			"checkpoint is a list":  func(p *thread.Put) { p.Checkpoint = json.RawMessage(`[]`) },
			"no id":                 func(p *thread.Put) { p.Checkpoint = json.RawMessage(`{"v":4,"ID":"1"}`) },
			"id is a number":        func(p *thread.Put) { p.Checkpoint = json.RawMessage(`{"id":1}`) },
			"NUL in the id":         func(p *thread.Put) { p.Checkpoint = json.RawMessage(`{"id":"a\u0000"}`) },
			"v is text":             func(p *thread.Put) { p.Checkpoint = json.RawMessage(`{"id":"1","v":"4"}`) },
			"bad UTF-8 in JSON":     func(p *thread.Put) { p.Checkpoint = json.RawMessage("{\"id\":\"1\",\"x\":\"\xff\"}") },
			"metadata is a number":  func(p *thread.Put) { p.Metadata = json.RawMessage(`7`) },
			"bad UTF-8 in metadata": func(p *thread.Put) { p.Metadata = json.RawMessage("{\"x\":\"\xff\"}") },
			"value not in new_versions": func(p *thread.Put) {
				p.Values = map[string]thread.Value{"a": text("lost")}
			},
			"NUL in a channel": func(p *thread.Put) {
				p.NewVersions = map[string]json.RawMessage{"a\x00": json.RawMessage("1")}
				p.Values = map[string]thread.Value{"a\x00": text("v")}
			},
			"negative ttl": func(p *thread.Put) { p.TTLSeconds = -1 },
			"endless ttl":  func(p *thread.Put) { p.TTLSeconds = math.Inf(1) },
			"NaN ttl":      func(p *thread.Put) { p.TTLSeconds = math.NaN() },
		} {
			p := l.request(point{id: "1"})
			change(&p)
			if _, err := l.Put(l.ctx(), p); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: error %v, want code invalid", name, err)
			}
		}
		same(l, "stored", len(l.list(thread.Query{})), 0)
	},

	"WritesThatCannotBeUnderstoodAreRefused": func(l *lab) {
		for name, w := range map[string]thread.Writes{
			"no thread":       {Checkpoint: "1", Task: "task"},
			"no checkpoint":   {Thread: "t", Task: "task"},
			"no task":         {Thread: "t", Checkpoint: "1"},
			"NUL in the task": {Thread: "t", Checkpoint: "1", Task: "\x00"},
			"no channel":      {Thread: "t", Checkpoint: "1", Task: "task", Writes: []thread.Write{{}}},
			"bad UTF-8 type": {
				Thread: "t", Checkpoint: "1", Task: "task", Writes: []thread.Write{{Channel: "c", Value: thread.Value{Type: "\xff"}}},
			},
			"idx out of range": {Thread: "t", Checkpoint: "1", Task: "task", Writes: []thread.Write{{Channel: "c", Idx: math.MaxInt32 + 1}}},
		} {
			w.Tenant = l.tenant
			if err := l.PutWrites(l.ctx(), w); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: error %v, want code invalid", name, err)
			}
		}
	},

	"OperationsThreadsAreReadOnly": func(l *lab) {
		const threadID = "op_training_20260101_000000_00000000"
		put := l.request(point{id: "1", thread: threadID})
		put.Tenant = ""
		_, err := l.Put(l.ctx(), put)
		l.refused(err, ktrdr.CodeForbidden)
		l.refused(l.PutWrites(l.ctx(), thread.Writes{Thread: threadID, Checkpoint: "1", Task: "task"}), ktrdr.CodeForbidden)
		l.refused(l.DeleteThread(l.ctx(), "", threadID), ktrdr.CodeForbidden)
		l.refused(l.CopyThread(l.ctx(), "", "t", threadID), ktrdr.CodeForbidden)
		l.refused(l.Prune(l.ctx(), "", []string{"t", threadID}, true), ktrdr.CodeForbidden)

		l.put(point{id: "1", thread: threadID}) // in a tenant it is a thread like any other
		l.get(threadID, "", "1")
	},

	"QueriesThatCannotBeUnderstoodAreRefused": func(l *lab) {
		nul, negative := "\x00", -1
		for name, q := range map[string]thread.Query{
			"NUL in the thread": {Thread: &nul},
			"NUL in ns":         {NS: &nul},
			"NUL in before":     {Before: nul},
			"NUL in after":      {After: &thread.Position{Thread: "t", ID: nul}},
			"after no thread":   {After: &thread.Position{ID: "1"}},
			"negative limit":    {Limit: &negative},
			"broken filter":     {Filter: map[string]json.RawMessage{"a": json.RawMessage(`{`)}},
			"two values":        {Filter: map[string]json.RawMessage{"a": json.RawMessage(`1 2`)}},
		} {
			q.Tenant = l.tenant
			if _, err := l.List(l.ctx(), q); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: error %v, want code invalid", name, err)
			}
		}
		_, err := l.GetTuple(l.ctx(), l.ref("", "", ""))
		l.refused(err, ktrdr.CodeInvalid)
		_, err = l.History(l.ctx(), l.ref("t", "", ""), []string{nul})
		l.refused(err, ktrdr.CodeInvalid)
		l.refused(l.DeleteRuns(l.ctx(), l.tenant, []string{nul}), ktrdr.CodeInvalid)
	},
}
