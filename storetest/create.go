package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ktrdr/ktrdr"
)

var creations = map[string]func(*lab){
	"CreateStoresAPendingOperation": func(l *lab) {
		n := ktrdr.NewOperation{
			Type: ktrdr.Training, Priority: 7, Ordinal: 3, BackendLocal: true,
			Spec:     json.RawMessage(`{"é": "quote \" and \u0000 escaped", "n": 1.0}`),
			Metadata: json.RawMessage(`{"who":"me"}`),
			RetryOf:  "op_training_before",
		}
		op := l.create(n)
		if !op.ID.Valid() || !strings.HasPrefix(string(op.ID), "op_training_") || op.CreatedAt.IsZero() || op.CreatedAt.Location() != time.UTC {
			l.Errorf("created %s at %v", op.ID, op.CreatedAt)
		}
		want := ktrdr.Operation{
			ID: op.ID, Type: n.Type, Status: ktrdr.Pending, Priority: 7, Root: op.ID, Ordinal: 3, BackendLocal: true,
			Spec: n.Spec, Metadata: n.Metadata, RetryOf: n.RetryOf, CreatedAt: op.CreatedAt,
		}
		if diff := cmp.Diff(want, op, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(ktrdr.Operation{}, "Unschedulable")); diff != "" {
			l.Errorf("created (-want +got):\n%s", diff)
		}
		same(l, "read back", l.op(op.ID), op)
	},

	"CreateOfALocalTypeIsBackendLocal": func(l *lab) {
		for typ, want := range map[ktrdr.Type]bool{ktrdr.AgentAssessment: true, ktrdr.Training: false} {
			if op := l.create(ktrdr.NewOperation{Type: typ}); op.BackendLocal != want {
				l.Errorf("a new %s has is_backend_local %v, want %v", typ, op.BackendLocal, want)
			}
		}
	},

	"CreateUsesTheGivenID": func(l *lab) {
		op := l.create(ktrdr.NewOperation{ID: "op_dummy_mine"})
		if op.ID != "op_dummy_mine" {
			l.Errorf("got %s", op.ID)
		}
		_, err := l.Create(l.ctx(), ktrdr.NewOperation{ID: "op_dummy_mine", Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{})
		l.refused(err, ktrdr.CodeConflict)
	},

	"CreateUnderAParentBelongsToItsTree": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		child := l.create(ktrdr.NewOperation{Parent: top.ID, Ordinal: 9})
		grandchild := l.create(ktrdr.NewOperation{Parent: child.ID})
		if child.Parent != top.ID || child.Root != top.ID || grandchild.Parent != child.ID || grandchild.Root != top.ID {
			l.Errorf("child %s/%s, grandchild %s/%s, want root %s", child.Parent, child.Root, grandchild.Parent, grandchild.Root, top.ID)
		}
	},

	"ATraceIsThatOfTheChildrenAndOfTheirTasks": func(l *lab) {
		const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		planned := parentOf(treeSpec{Children: 1})
		planned.Trace = trace
		top := l.create(planned)
		task := l.claim("w")
		if child := l.op(task.Operation); child.Parent != top.ID || child.Trace != trace || task.Trace != trace || l.op(top.ID).Trace != trace {
			l.Errorf("child of %s has the trace %q, its task %q, its parent %q", child.Parent, child.Trace, task.Trace, l.op(top.ID).Trace)
		}
		if untraced := l.create(ktrdr.NewOperation{}); untraced.Trace != "" {
			l.Errorf("an operation without a trace has %q", untraced.Trace)
		}
		for _, bad := range []string{strings.Repeat("0", 100), "a\x00b"} {
			_, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy, Trace: bad}, ktrdr.IdempotencyKey{})
			l.refused(err, ktrdr.CodeInvalid)
		}
	},

	"CreateUnderAnEndedParentIsRefused": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		l.cancel(top.ID)
		_, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy, Parent: top.ID}, ktrdr.IdempotencyKey{})
		l.refused(err, ktrdr.CodeConflict)
		_, err = l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy, Parent: "op_dummy_nobody"}, ktrdr.IdempotencyKey{})
		l.refused(err, ktrdr.CodeNotFound)
	},

	"AKeySeenBeforeReturnsTheOperationItMade": func(l *lab) {
		key := ktrdr.IdempotencyKey{Key: "k1", Body: ktrdr.Hash{1}}
		first, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, key)
		l.must(err)
		task := l.claim("w")
		again, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, key)
		l.must(err)
		same(l, "second answer", again, l.op(first.ID))
		if task.Operation != first.ID || l.try("w") != nil {
			l.Error("the key made two operations")
		}
	},

	"AKeyWithAnotherBodyIsRefused": func(l *lab) {
		_, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{Key: "k", Body: ktrdr.Hash{1}})
		l.must(err)
		_, err = l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{Key: "k", Body: ktrdr.Hash{2}})
		l.refused(err, ktrdr.CodeKeyReused)
		l.counted(ktrdr.Dummy, ktrdr.Pending, 1)
	},

	"ConcurrentCreatesUnderOneKeyMakeOneOperation": func(l *lab) {
		made := make([]ktrdr.OperationID, 24)
		each(len(made), len(made), func(i int) {
			op, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{Key: "k", Body: ktrdr.Hash{1}})
			if err != nil {
				l.Error(err)
			}
			made[i] = op.ID
		})
		if len(slices.Compact(made)) != 1 {
			l.Errorf("made %v", made)
		}
		l.counted(ktrdr.Dummy, ktrdr.Pending, 1)
	},

	"SeveralAreCreatedInTheirOrderOrNotAtAll": func(l *lab) {
		all := make([]ktrdr.NewOperation, ktrdr.MaxCreate)
		keys := make([]ktrdr.IdempotencyKey, len(all))
		for i := range all {
			all[i] = queued(ktrdr.Queue{Run: "r", Index: i, Force: true})
			keys[i] = ktrdr.IdempotencyKey{Key: fmt.Sprint(i), Body: ktrdr.Hash{1}}
		}
		half := len(all) / 2
		some, err := l.CreateAll(l.ctx(), all[:half], keys[:half])
		l.must(err)
		for i, op := range some {
			if op.Session != int64(i+1) || op.Queue.Index != i || (op.Status == ktrdr.Running) != (i < room) {
				l.Fatalf("the %d-th is %s with session %d", i, op.Status, op.Session)
			}
		}
		keys[len(all)-1].Key = keys[0].Key
		keys[len(all)-1].Body = ktrdr.Hash{2}
		_, err = l.CreateAll(l.ctx(), all, keys)
		l.refused(err, ktrdr.CodeKeyReused)
		l.queueCounts(room, half-room)
		keys[len(all)-1] = ktrdr.IdempotencyKey{Key: "last", Body: ktrdr.Hash{1}}
		created, err := l.CreateAll(l.ctx(), all, keys)
		l.must(err)
		same(l, "those that were there", idsOf(created[:half]), idsOf(some))
		l.queueCounts(room, len(all)-room)

		_, err = l.CreateAll(l.ctx(), append(all, queued(ktrdr.Queue{})), nil)
		l.refused(err, ktrdr.CodeInvalid)
		_, err = l.CreateAll(l.ctx(), all, keys[:1])
		l.refused(err, ktrdr.CodeInvalid)
		if none, err := l.CreateAll(l.ctx(), nil, nil); err != nil || len(none) != 0 {
			l.Errorf("of none came %v, %v", none, err)
		}
	},

	"TheZeroKeyMakesANewOperationEachTime": func(l *lab) {
		if a, b := l.create(ktrdr.NewOperation{}), l.create(ktrdr.NewOperation{}); a.ID == b.ID {
			l.Errorf("made %s twice", a.ID)
		}
	},

	"AMissingOperationIsNotFound": func(l *lab) {
		_, err := l.Operation(l.ctx(), "op_dummy_nobody")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"CountsCountByTypeAndStatus": func(l *lab) {
		for range 3 {
			l.create(ktrdr.NewOperation{})
		}
		l.create(ktrdr.NewOperation{Type: ktrdr.Training})
		l.finish(l.claim("w"), ktrdr.Completed)
		counts, err := l.Counts(l.ctx())
		l.must(err)
		slices.SortFunc(counts, func(a, b ktrdr.Count) int {
			return strings.Compare(string(a.Type)+string(a.Status), string(b.Type)+string(b.Status))
		})
		same(l, "counts", counts, []ktrdr.Count{
			{Type: ktrdr.Dummy, Status: ktrdr.Completed, N: 1},
			{Type: ktrdr.Dummy, Status: ktrdr.Pending, N: 2},
			{Type: ktrdr.Training, Status: ktrdr.Pending, N: 1},
		})
	},
}

// counted requires how many operations of a type have a status.
func (l *lab) counted(kind ktrdr.Type, status ktrdr.Status, want int64) {
	l.Helper()
	counts, err := l.Counts(l.ctx())
	l.must(err)
	var got int64
	for _, c := range counts {
		if c.Type == kind && c.Status == status {
			got += c.N
		}
	}
	if got != want {
		l.Errorf("%d operations of type %s are %s, want %d", got, kind, status, want)
	}
}

func byOrdinal(ops []ktrdr.Operation) []ktrdr.Operation {
	slices.SortFunc(ops, func(a, b ktrdr.Operation) int {
		if a.Ordinal != b.Ordinal {
			return a.Ordinal - b.Ordinal
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return ops
}

func idsOf(ops []ktrdr.Operation) []ktrdr.OperationID {
	var ids []ktrdr.OperationID
	for _, op := range ops {
		ids = append(ids, op.ID)
	}
	return ids
}

var lists = map[string]func(*lab){
	"ListIsNewestFirst": func(l *lab) {
		a := l.create(ktrdr.NewOperation{})
		b := l.createAfter(a, ktrdr.NewOperation{Type: ktrdr.Training})
		c := l.createAfter(b, ktrdr.NewOperation{Type: ktrdr.Training})
		same(l, "order", l.list(ktrdr.OperationQuery{ActiveOnly: true}), []ktrdr.OperationID{c.ID, b.ID, a.ID})
	},

	"ListFilters": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		child := l.children(top.ID)[0]
		failed := func() ktrdr.Operation { // with no checkpoint
			l.create(ktrdr.NewOperation{Priority: 9})
			return l.finish(l.claim("w"), ktrdr.Failed)
		}()
		l.create(ktrdr.NewOperation{Priority: 9})
		task := l.claim("w")
		l.save(task, 1, 1)
		resumable := l.finish(task, ktrdr.Failed)
		done := func() ktrdr.Operation {
			l.create(ktrdr.NewOperation{Priority: 9})
			return l.finish(l.claim("w"), ktrdr.Completed)
		}()
		for name, c := range map[string]struct {
			q    ktrdr.OperationQuery
			want []ktrdr.OperationID
		}{
			"all":           {ktrdr.OperationQuery{}, []ktrdr.OperationID{top.ID, child.ID, failed.ID, resumable.ID, done.ID}},
			"status":        {ktrdr.OperationQuery{Status: []ktrdr.Status{ktrdr.Failed}}, []ktrdr.OperationID{failed.ID, resumable.ID}},
			"two statuses":  {ktrdr.OperationQuery{Status: []ktrdr.Status{ktrdr.Pending, ktrdr.Completed}}, []ktrdr.OperationID{child.ID, done.ID}},
			"type":          {ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.AgentResearch}}, []ktrdr.OperationID{top.ID}},
			"active":        {ktrdr.OperationQuery{ActiveOnly: true}, []ktrdr.OperationID{top.ID, child.ID}},
			"resumable":     {ktrdr.OperationQuery{Resumable: true}, []ktrdr.OperationID{resumable.ID}},
			"parent":        {ktrdr.OperationQuery{Parent: top.ID}, []ktrdr.OperationID{child.ID}},
			"parents":       {ktrdr.OperationQuery{Parents: []ktrdr.OperationID{done.ID, top.ID}}, []ktrdr.OperationID{child.ID}},
			"no parents":    {ktrdr.OperationQuery{Parents: []ktrdr.OperationID{done.ID}}, nil},
			"roots":         {ktrdr.OperationQuery{Roots: true}, []ktrdr.OperationID{top.ID, failed.ID, resumable.ID, done.ID}},
			"roots, active": {ktrdr.OperationQuery{Roots: true, ActiveOnly: true}, []ktrdr.OperationID{top.ID}},
			"an id":         {ktrdr.OperationQuery{Search: strings.ToUpper(string(done.ID))}, []ktrdr.OperationID{done.ID}},
			"part of an id": {ktrdr.OperationQuery{Search: string(done.ID[5:])}, []ktrdr.OperationID{done.ID}},
			"a pattern":     {ktrdr.OperationQuery{Search: "op%"}, nil},
			"a wildcard":    {ktrdr.OperationQuery{Search: strings.Replace(string(done.ID), "op_", "_p_", 1)}, nil},
			"none":          {ktrdr.OperationQuery{Parent: done.ID}, nil},
		} {
			same(l, name, slices.Sorted(slices.Values(l.list(c.q))), slices.Sorted(slices.Values(c.want)))
		}
	},

	// What is asked for may be far behind what is not.
	"AFilterLooksBehindAllThatDoesNotMatch": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		old := l.finish(l.claim("w"), ktrdr.Failed)
		l.saved("agent:old", 0)
		for i := range 25 {
			l.create(ktrdr.NewOperation{})
			l.finish(l.claim("w"), ktrdr.Completed)
			l.saved("agent:other", int64(i))
		}
		same(l, "failed", l.list(ktrdr.OperationQuery{Status: []ktrdr.Status{ktrdr.Failed}, Limit: 1}), []ktrdr.OperationID{old.ID})
		history, err := l.BreakerHistory(l.ctx(), "agent:old", 1)
		l.must(err)
		if len(history) != 1 || history[0].Name != "agent:old" {
			l.Errorf("changes of the old breaker: %+v", history)
		}
	},

	"ListShowsTheCompleteOperation": func(l *lab) {
		op := l.failed()
		page, err := l.List(l.ctx(), ktrdr.OperationQuery{})
		l.must(err)
		same(l, "listed", page.Operations, []ktrdr.Operation{l.op(op.ID)})
		if page.Operations[0].Checkpoint == nil {
			l.Error("the listed operation lacks its checkpoint")
		}
	},

	"PagesAreCompleteAndStable": func(l *lab) {
		const n = 75
		want := make([]ktrdr.OperationID, n)
		each(n, 8, func(i int) {
			op, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{})
			if err != nil {
				l.Error(err)
			}
			want[i] = op.ID
		})
		first, err := l.List(l.ctx(), ktrdr.OperationQuery{})
		l.must(err)
		if len(first.Operations) != 50 || first.Next == "" {
			l.Fatalf("the first page holds %d and leads to %q, want 50 and a cursor", len(first.Operations), first.Next)
		}
		var got []ktrdr.OperationID
		q := ktrdr.OperationQuery{Limit: 10}
		for {
			page, err := l.List(l.ctx(), q)
			l.must(err)
			got = append(got, idsOf(page.Operations)...)
			if page.Next == "" {
				break
			}
			q.Cursor = page.Next
			l.create(ktrdr.NewOperation{}) // newer ones must not shift the pages
		}
		if !slices.IsSortedFunc(first.Operations, func(a, b ktrdr.Operation) int { return b.CreatedAt.Compare(a.CreatedAt) }) {
			l.Error("the page is not newest first")
		}
		seen := map[ktrdr.OperationID]int{}
		for _, id := range got {
			seen[id]++
		}
		for _, id := range want {
			if seen[id] != 1 {
				l.Errorf("%s is on %d pages, want 1", id, seen[id])
			}
		}
	},

	"AnExactPageEnds": func(l *lab) {
		for range 4 {
			l.create(ktrdr.NewOperation{})
		}
		page, err := l.List(l.ctx(), ktrdr.OperationQuery{Limit: 4})
		l.must(err)
		if len(page.Operations) != 4 || page.Next != "" {
			l.Errorf("got %d operations and cursor %q, want 4 and none", len(page.Operations), page.Next)
		}
	},

	"ListRefusesWhatItCannotAnswer": func(l *lab) {
		for _, q := range []ktrdr.OperationQuery{
			{Cursor: "rubbish"},
			{Cursor: "\x00"},
			{Limit: -1},
			{Limit: 1001},
			{Status: []ktrdr.Status{"DONE"}},
			{Type: []ktrdr.Type{"cooking"}},
		} {
			if _, err := l.List(l.ctx(), q); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%+v: got %v, want %s", q, err, ktrdr.CodeInvalid)
			}
		}
	},
}

// list returns the ids of a query's first page.
func (l *lab) list(q ktrdr.OperationQuery) []ktrdr.OperationID {
	l.Helper()
	page, err := l.List(l.ctx(), q)
	l.must(err)
	if page.Next != "" {
		l.Fatalf("%d operations are more than a page", len(page.Operations))
	}
	return idsOf(page.Operations)
}
