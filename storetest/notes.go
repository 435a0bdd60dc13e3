package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ktrdr/ktrdr"
)

// noted plants a tree that notes its beginning and its end.
func (l *lab) noted(key, saying string, q ktrdr.Queue) ktrdr.Operation {
	l.Helper()
	return l.create(notedIn(key, saying, q))
}

func notedIn(key, saying string, q ktrdr.Queue) ktrdr.NewOperation {
	n := parentOf(treeSpec{Children: 1, Noted: key, Saying: saying})
	q.Name, q.Limit, q.Force = line, 1000, true
	n.Queue = &q
	return n
}

// allNotes reads every page of a query.
func (l *lab) allNotes(q ktrdr.NoteQuery) []ktrdr.Note {
	l.Helper()
	var all []ktrdr.Note
	for {
		page, err := l.Notes(l.ctx(), q)
		l.must(err)
		all = append(all, page.Notes...)
		if page.Next == "" {
			return all
		}
		if len(page.Notes) != cmp.Or(q.Limit, 50) {
			l.Fatalf("a page of %d notes is not the last", len(page.Notes))
		}
		q.Cursor = page.Next
	}
}

// keysOf is what notes are told apart by.
func keysOf(all []ktrdr.Note) []string {
	keys := make([]string, len(all))
	for i, n := range all {
		keys[i] = n.Kind + " " + n.Key
	}
	return keys
}

var notes = map[string]func(*lab){
	"WhatAPlanNotesIsStoredWithItsDecision": func(l *lab) {
		top := l.noted("k", `{"é": 1.0}`, ktrdr.Queue{Run: "r", Generation: 3, Index: 4})
		for generation := range 3 {
			l.closes("r", generation, true)
		}
		l.startQueued(room, 1)
		want := ktrdr.Note{
			Kind: "began", Key: "k", Run: "r", Generation: 3, Index: 4,
			Data: json.RawMessage(`{"é": 1.0}`), Operation: top.ID,
		}
		got := l.allNotes(ktrdr.NoteQuery{})
		if len(got) != 1 || got[0].At.IsZero() {
			l.Fatalf("notes: %+v", got)
		}
		want.At = got[0].At
		same(l, "note", got[0], want)
		l.end(top.ID)
		same(l, "notes at the end", keysOf(l.allNotes(ktrdr.NoteQuery{Order: ktrdr.NotesOldest})), []string{"began k", "ended k"})
	},

	"TheFirstNoteOfAKindAndKeyIsKept": func(l *lab) {
		first := l.noted("k", `{"n":1}`, ktrdr.Queue{})
		second := l.noted("k", `{"n":2}`, ktrdr.Queue{})
		l.is(second.ID, ktrdr.Running)
		l.end(first.ID)
		l.end(second.ID)
		all := l.allNotes(ktrdr.NoteQuery{})
		if len(all) != 2 || all[0].Operation != first.ID || all[1].Operation != first.ID || string(all[0].Data) != `{"n":1}` {
			l.Errorf("notes: %+v", all)
		}
	},

	"ANoteThatCannotBeStoredFailsThePlan": func(l *lab) {
		for _, n := range []struct{ key, saying string }{
			{strings.Repeat("k", 256), ""},
			{"a\x00b", ""},
			{"k", "no JSON"},
			{"k", `"` + strings.Repeat("x", ktrdr.InlineState) + `"`},
		} {
			if top := l.noted(n.key, n.saying, ktrdr.Queue{}); top.Status != ktrdr.Failed || !strings.Contains(top.ErrorMessage, "note") {
				l.Errorf("a note with key %.10q and data %.10q: %s %q", n.key, n.saying, top.Status, top.ErrorMessage)
			}
		}
		same(l, "notes", len(l.allNotes(ktrdr.NoteQuery{})), 0)
	},

	"NotesOutliveEverything": func(l *lab) {
		hash := ktrdr.Hash{7}
		top := l.noted("k", fmt.Sprintf(`{"model":{"name":"m","sha256":%q,"size":3}}`, hash), ktrdr.Queue{})
		l.end(top.ID)
		before := l.allNotes(ktrdr.NoteQuery{})
		_, err := l.ExpireCheckpoints(l.ctx(), 0)
		l.must(err)
		_, err = l.PruneEvents(l.ctx(), 0)
		l.must(err)
		same(l, "notes", l.allNotes(ktrdr.NoteQuery{}), before)
		named := 0
		for ref, err := range l.BlobRefs(l.ctx()) {
			l.must(err)
			if ref.SHA256 == hash && ref.Operation == top.ID {
				named++
			}
		}
		same(l, "the notes that name the blob", named, 2)
	},

	"AHorizonNeverMoves": func(l *lab) {
		const n = 60
		var mu sync.Mutex
		pins := map[string][]string{} // horizon -> what was there when it was taken
		l.pin(pins, &mu)
		each(n, 8, func(i int) {
			top := notedIn(fmt.Sprintf("%03d", i), "", ktrdr.Queue{Generation: i})
			if _, err := l.Create(l.ctx(), top, ktrdr.IdempotencyKey{}); err != nil {
				l.Error(err)
			}
			l.finishOne()
			if keys := l.pin(pins, &mu); !slices.Contains(keys, fmt.Sprintf("began %03d", i)) {
				l.Errorf("note %d is not there after its transaction", i)
			}
		})
		for l.finishOne() { // those that no worker claimed while others held the rows
		}
		for at, keys := range pins {
			same(l, "the notes up to "+at, l.upTo(at), keys)
		}
		same(l, "the notes at the end", len(l.upTo("")), 2*n)
	},
}

// pin takes a horizon and remembers what is there.
func (l *lab) pin(pins map[string][]string, mu *sync.Mutex) []string {
	at, err := l.Horizon(l.ctx())
	if err != nil {
		l.Error(err)
	}
	keys := l.upTo(at)
	mu.Lock()
	defer mu.Unlock()
	if before, taken := pins[at]; taken {
		same(l, "the notes up to "+at, keys, before)
	}
	pins[at] = keys
	return keys
}

// upTo lists the notes up to a horizon.
func (l *lab) upTo(at string) []string {
	page, err := l.Notes(l.ctx(), ktrdr.NoteQuery{Horizon: at, Order: ktrdr.NotesByPlace, Limit: 1000})
	if err != nil {
		l.Error(err)
	}
	return keysOf(page.Notes)
}

var noteQueries = map[string]func(*lab){
	"NotesComeInTheirOrders": func(l *lab) {
		var newest []string
		for i, place := range [][2]int{{1, 0}, {0, 1}, {0, 0}, {1, 0}, {0, 1}} {
			key := fmt.Sprintf("k%d", 9-i)
			l.noted(key, "", ktrdr.Queue{Generation: place[0], Index: place[1]})
			newest = append([]string{"began " + key}, newest...)
		}
		oldest := slices.Clone(newest)
		slices.Reverse(oldest)
		for order, want := range map[ktrdr.NoteOrder][]string{
			ktrdr.NotesNewest: newest, ktrdr.NotesOldest: oldest,
			ktrdr.NotesByPlace: {"began k7", "began k5", "began k8", "began k6", "began k9"},
		} {
			for _, limit := range []int{1, 2, 5, 6} {
				same(l, fmt.Sprintf("order %q by %d", order, limit), keysOf(l.allNotes(ktrdr.NoteQuery{Order: order, Limit: limit})), want)
			}
		}
	},

	"NotesAreSelectedByWhatTheyAre": func(l *lab) {
		var ops []ktrdr.Operation
		for i := range 4 {
			ops = append(ops, l.noted(fmt.Sprintf("k%d", i), "", ktrdr.Queue{Run: []string{"r", "s"}[i%2], Generation: i}))
		}
		l.closes("s", 0, true)
		l.startQueued(1000, 1)
		horizon, err := l.Horizon(l.ctx()) // when the second generation of each run still waits
		l.must(err)
		for range ops {
			l.finishOne()
			for i := range 2 * len(ops) {
				_, err := l.CloseGeneration(l.ctx(), []string{"r", "s"}[i%2], i/2, nil)
				l.must(err)
			}
			_, err := l.StartQueued(l.ctx(), line, 1000)
			l.must(err)
		}
		none, two := 0, 2
		for what, c := range map[string]struct {
			q    ktrdr.NoteQuery
			want map[string]int64
		}{
			"all":                     {ktrdr.NoteQuery{}, map[string]int64{"began": 4, "ended": 4}},
			"of a kind":               {ktrdr.NoteQuery{Kind: "ended"}, map[string]int64{"ended": 4}},
			"of no kind that is":      {ktrdr.NoteQuery{Kind: "nothing"}, map[string]int64{}},
			"of a run":                {ktrdr.NoteQuery{Run: "s"}, map[string]int64{"began": 2, "ended": 2}},
			"of an operation":         {ktrdr.NoteQuery{Operation: ops[0].ID}, map[string]int64{"began": 1, "ended": 1}},
			"of lower generations":    {ktrdr.NoteQuery{BeforeGeneration: &two}, map[string]int64{"began": 2, "ended": 2}},
			"before the first":        {ktrdr.NoteQuery{BeforeGeneration: &none}, map[string]int64{}},
			"up to a horizon":         {ktrdr.NoteQuery{Horizon: horizon}, map[string]int64{"began": 2}},
			"of a run and no horizon": {ktrdr.NoteQuery{Run: "r", Horizon: "0"}, map[string]int64{}},
		} {
			counts, err := l.CountNotes(l.ctx(), c.q)
			l.must(err)
			same(l, "counts "+what, counts, c.want)
			listed := map[string]int64{}
			for _, n := range l.allNotes(c.q) {
				listed[n.Kind]++
			}
			same(l, "listed "+what, listed, c.want)
		}
	},

	"NotesRefuseWhatMakesNoSense": func(l *lab) {
		l.noted("a", "", ktrdr.Queue{})
		l.noted("b", "", ktrdr.Queue{})
		page, err := l.Notes(l.ctx(), ktrdr.NoteQuery{Limit: 1})
		l.must(err)
		for _, q := range []ktrdr.NoteQuery{
			{Limit: -1},
			{Limit: 1001},
			{Order: "shuffled"},
			{Horizon: "yesterday"},
			{Horizon: "-1"},
			{Cursor: "rubbish"},
			{Cursor: page.Next, Order: ktrdr.NotesOldest},
			{Kind: "a\x00b"},
			{Operation: "unknown"},
		} {
			if _, err := l.Notes(l.ctx(), q); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%+v: got %v, want %s", q, err, ktrdr.CodeInvalid)
			}
		}
	},
}
