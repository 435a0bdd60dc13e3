package savertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

var lists = map[string]func(*lab){
	"ListAnswersEveryCombination": func(l *lab) {
		var all []thread.Tuple
		for i := range 36 { // ids interleave threads and namespaces
			p := point{
				thread: []string{"a", "b", "c"}[i%3], ns: []string{"", "child:1", "child:1|deep"}[i/3%3], id: fmt.Sprintf("%03d", i),
				versions: `{"x":1}`, news: `{"x":1}`, values: map[string]string{"x": fmt.Sprint(i)},
				meta: fmt.Sprintf(`{"source":%q,"step":%d}`, []string{"input", "loop"}[i%2], i/4),
			}
			l.put(p)
			l.write(l.ref(p.thread, p.ns, p.id), "task", "", "c", fmt.Sprint("w", i))
			all = append(all, l.get(p.thread, p.ns, p.id))
		}
		slices.Reverse(all)
		for _, threadID := range []*string{nil, new("a"), new("b"), new("unknown")} {
			for _, ns := range []*string{nil, new(""), new("child:1"), new("none")} {
				for _, limit := range []*int{nil, new(0), new(1), new(5), new(100)} {
					for _, before := range []string{"", "020", "000", "zzz"} {
						for _, filter := range []string{`{}`, `{"source":"loop"}`, `{"source":"loop","step":3}`, `{"step":"3"}`} {
							l.listed(all, threadID, ns, limit, before, filter)
						}
					}
				}
			}
		}
	},

	"OrderIsByIDOverAllThreads": func(l *lab) {
		l.put(point{thread: "a", id: "1"})
		l.put(point{thread: "b", id: "2"})
		l.put(point{thread: "a", id: "3"})
		l.put(point{thread: "b", id: "1"})
		l.put(point{thread: "a", ns: "n", id: "1"})
		var got []string
		for _, tuple := range l.list(thread.Query{}) {
			got = append(got, tuple.ID+tuple.Thread+tuple.NS)
		}
		same(l, "order", got, []string{"3a", "2b", "1b", "1an", "1a"})
	},

	"ListHasMoreThanOnePage": func(l *lab) {
		const n = 250
		var want []string
		for i := range n {
			id := fmt.Sprintf("%04d", i)
			l.put(point{thread: fmt.Sprint("t", i%4), id: id, meta: fmt.Sprintf(`{"pick":%t}`, i%7 == 0)})
			if i%7 == 0 {
				want = append(want, id)
			}
		}
		slices.Reverse(want)
		filter := map[string]json.RawMessage{"pick": json.RawMessage("true")}
		same(l, "count", len(l.list(thread.Query{})), n)
		same(l, "picked", ids(l.list(thread.Query{Filter: filter})), want)
		same(l, "picked at most 20", ids(l.list(thread.Query{Filter: filter, Limit: new(20)})), want[:20])
		same(l, "one thread", len(l.list(thread.Query{Thread: new("t1")})), n/4+1)
	},

	"TheSameIDInManyThreadsIsListedCompletely": func(l *lab) {
		for i := range 150 {
			l.put(point{thread: fmt.Sprintf("t%03d", i), ns: fmt.Sprint(i % 2), id: "same"})
		}
		seen := make(map[string]bool)
		for _, tuple := range l.list(thread.Query{}) {
			seen[tuple.Thread] = true
		}
		same(l, "threads", len(seen), 150)
	},

	"ListKeepsToItsBudget": func(l *lab) {
		const n = 8
		for i := range n {
			id := fmt.Sprint(i)
			l.put(point{id: id, versions: `{"x":1}`, news: `{"x":1}`, values: map[string]string{"x": strings.Repeat(id, 10_000)}, meta: `{"long":"` +
				strings.Repeat(id, 10_000) + `"}`})
			l.write(l.ref("t", "", id), "task", "", "c", strings.Repeat(id, 10_000))
		}
		all := l.list(thread.Query{MaxBytes: 1 << 20})
		same(l, "all", len(all), n)
		_, err := l.List(l.ctx(), thread.Query{Tenant: l.tenant, MaxBytes: 100_000})
		l.refused(err, ktrdr.CodeTooLarge)
		if !strings.Contains(err.Error(), "limit 3,") {
			l.Errorf("%v does not say that limit 3 fits", err)
		}
		var paged []thread.Tuple
		for before := ""; len(paged) < n; before = paged[len(paged)-1].ID {
			paged = append(paged, l.list(thread.Query{Before: before, Limit: new(3), MaxBytes: 100_000})...)
		}
		same(l, "pages", paged, all)
		same(l, "one that is too large alone", len(l.list(thread.Query{Limit: new(1), MaxBytes: 1000})), 1)
	},

	"AListContinuesBehindAPlaceThoughManyShareAnID": func(l *lab) {
		for _, threadID := range []string{"a", "b", "c", "d", "e"} {
			for _, ns := range []string{"", "child"} {
				for _, id := range []string{"1", "2"} {
					l.put(point{id: id, thread: threadID, ns: ns})
				}
			}
		}
		all := l.list(thread.Query{})
		same(l, "all", len(all), 20)
		for _, size := range []int{1, 3, 7} {
			var paged []thread.Tuple
			for after := (*thread.Position)(nil); len(paged) < 30; {
				page := l.list(thread.Query{After: after, Limit: &size})
				paged = append(paged, page...)
				if len(page) < size {
					break
				}
				last := page[len(page)-1]
				after = &thread.Position{Thread: last.Thread, NS: last.NS, ID: last.ID}
			}
			same(l, fmt.Sprintf("pages of %d", size), paged, all)
		}
		behind := l.list(thread.Query{After: &thread.Position{Thread: "c", NS: "gone", ID: "1"}, Thread: new("c")})
		same(l, "behind one that is gone", ids(behind), []string{"1", "1"})
	},

	"CheckpointFilterIsHonoured": func(l *lab) {
		for _, id := range []string{"1", "2", "3"} {
			l.put(point{id: id})
		}
		l.put(point{id: "2", ns: "child"})
		same(l, "by id", ids(l.list(thread.Query{Checkpoint: "2"})), []string{"2", "2"})
		same(l, "by id in a namespace", ids(l.list(thread.Query{Checkpoint: "2", NS: new("child")})), []string{"2"})
		same(l, "by id before it", ids(l.list(thread.Query{Checkpoint: "2", Before: "2"})), nil)
	},

	"FilterIsJSONEqualityOnTopLevelKeys": func(l *lab) {
		l.put(point{
			id: "1", meta: `{"n":1,"s":"1","null":null,"obj":{"a":[1,2],"b":true},"big":9007199254740993,"run_id":"r1","it's":"x","é":"\u00e9"}`,
		})
		l.put(point{id: "2", meta: `{"n":1.0,"obj":{ "b":true,"a":[1,2.0] }}`})
		l.put(point{id: "3", meta: `{"n":2,"run_id":7}`})
		for filter, want := range map[string][]string{
			`{"n":1}`:                           {"2", "1"},
			`{"n":10e-1}`:                       {"2", "1"},
			`{"n":"1"}`:                         nil,
			`{"s":"1"}`:                         {"1"},
			`{"s":1}`:                           nil,
			`{"obj":{"b":true,"a":[1,2]}}`:      {"2", "1"},
			`{"obj":{"b":true}}`:                nil,
			`{"obj":{"b":true,"a":[2,1]}}`:      nil,
			`{"null":null}`:                     {"1"},
			`{"absent":null}`:                   nil,
			`{"big":9007199254740993}`:          {"1"},
			`{"big":9007199254740992}`:          nil,
			`{"run_id":"r1"}`:                   {"1"},
			`{"run_id":7}`:                      {"3"},
			`{"run_id":null}`:                   nil,
			`{"n":1,"s":"1"}`:                   {"1"},
			`{"it's":"x"}`:                      {"1"},
			`{"é":"é"}`:                         {"1"},
			`{"a'); DROP TABLE checkpoints":1}`: nil,
			`{"n\u0000":1}`:                     nil,
			`{"$.n":1}`:                         nil,
		} {
			var q thread.Query
			if err := json.Unmarshal([]byte(filter), &q.Filter); err != nil {
				l.Fatal(err)
			}
			same(l, "filter "+filter, ids(l.list(q)), want)
		}
	},
}

// listed compares a list with what the parts of the query leave of all.
func (l *lab) listed(all []thread.Tuple, threadID, ns *string, limit *int, before, filter string) {
	l.Helper()
	q := thread.Query{Thread: threadID, NS: ns, Limit: limit, Before: before}
	if err := json.Unmarshal([]byte(filter), &q.Filter); err != nil {
		l.Fatal(err)
	}
	var want []thread.Tuple
	for _, t := range all {
		fits := (threadID == nil || *threadID == t.Thread) && (ns == nil || *ns == t.NS) && (before == "" || t.ID < before)
		for key, value := range q.Filter {
			fits = fits && strings.Contains(string(t.Metadata)+",", fmt.Sprintf("%q:%s", key, value)) // the test's own metadata has no spaces
		}
		if fits && (limit == nil || len(want) < *limit) {
			want = append(want, t)
		}
	}
	show := func(p *string) string {
		if p == nil {
			return "any"
		}
		return *p
	}
	same(l, fmt.Sprintf("list of thread %s, ns %s, before %q, filter %s", show(threadID), show(ns), before, filter), l.list(q), want)
}
