package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

var settings = map[string]func(*lab){
	"TokensAreKeptByTheirHash": func(l *lab) {
		token := ktrdr.Token{ID: "t1", Name: "laptop", Scope: ktrdr.ScopeRead, Hash: ktrdr.Hash{9}}
		l.must(l.AddToken(l.ctx(), token))
		got, err := l.TokenByHash(l.ctx(), token.Hash)
		l.must(err)
		if got.ID != token.ID || got.Name != token.Name || got.Scope != token.Scope || got.Hash != token.Hash || got.CreatedAt.IsZero() ||
			!got.RevokedAt.IsZero() {
			l.Errorf("kept: %+v", got)
		}
		_, err = l.TokenByHash(l.ctx(), ktrdr.Hash{8})
		l.refused(err, ktrdr.CodeNotFound)
		l.must(l.AddToken(l.ctx(), ktrdr.Token{ID: "t2", Name: "other", Scope: ktrdr.ScopeAdmin, Hash: ktrdr.Hash{7}}))
		all, err := l.Tokens(l.ctx())
		l.must(err)
		same(l, "tokens", len(all), 2)
	},

	"ARevokedTokenIsNoToken": func(l *lab) {
		token := ktrdr.Token{ID: "t1", Name: "laptop", Scope: ktrdr.ScopeAdmin, Hash: ktrdr.Hash{9}}
		l.must(l.AddToken(l.ctx(), token))
		l.must(l.RevokeToken(l.ctx(), "t1"))
		if got, err := l.TokenByHash(l.ctx(), token.Hash); err == nil && got.RevokedAt.IsZero() {
			l.Errorf("the revoked token is still one: %+v", got)
		}
		all, err := l.Tokens(l.ctx())
		l.must(err)
		if len(all) != 1 || all[0].RevokedAt.IsZero() {
			l.Errorf("tokens: %+v", all)
		}
		l.must(l.RevokeToken(l.ctx(), "t1"))
		again, err := l.Tokens(l.ctx())
		l.must(err)
		same(l, "revoked again", again, all)
		l.refused(l.RevokeToken(l.ctx(), "unknown"), ktrdr.CodeNotFound)
	},

	"TheBlobRootIsBoundOnce": func(l *lab) {
		lab := func() string {
			info, err := l.Info(l.ctx())
			l.must(err)
			return info.Lab
		}
		same(l, "lab of a store without blobs", lab(), "")
		l.must(l.BindBlobRoot(l.ctx(), "root-a"))
		l.must(l.BindBlobRoot(l.ctx(), "root-a"))
		l.refused(l.BindBlobRoot(l.ctx(), "root-b"), ktrdr.CodeMismatch)
		same(l, "lab", lab(), "root-a")
	},

	"OneOfManyBlobRootsIsBound": func(l *lab) {
		var bound atomic.Int64
		each(10, 10, func(i int) {
			switch err := l.BindBlobRoot(l.ctx(), string(rune('a'+i))); {
			case err == nil:
				bound.Add(1)
			case ktrdr.CodeOf(err) != ktrdr.CodeMismatch:
				l.Error(err)
			}
		})
		same(l, "bound", bound.Load(), int64(1))
	},

	"PauseIsAnEvent": func(l *lab) {
		paused, err := l.Paused(l.ctx())
		l.must(err)
		same(l, "paused at first", paused, false)
		l.must(l.SetPaused(l.ctx(), true))
		l.must(l.SetPaused(l.ctx(), false))
		same(l, "events", kinds(l.logOf(""))[:2], []ktrdr.EventKind{ktrdr.EventPaused, ktrdr.EventUnpaused})
	},

	"ChangedReportsNewWork": func(l *lab) {
		for what, do := range map[string]func(){
			"a new operation": func() { l.create(ktrdr.NewOperation{}) },
			"a cancel":        func() { l.cancel(l.claim("w").Operation) },
			"a resume": func() {
				op := l.failed()
				_, err := l.Resume(l.ctx(), op.ID)
				l.must(err)
			},
		} {
			if what == "a cancel" {
				l.create(ktrdr.NewOperation{})
			}
			changed, ready := l.Changed(), l.Ready()
			do()
			for who, hint := range map[string]<-chan struct{}{"readers": changed, "workers": ready} {
				select {
				case <-hint:
				case <-time.After(patience):
					l.Errorf("%s was not told to %s", what, who)
				}
			}
		}
	},

	"InfoDescribesTheStore": func(l *lab) {
		info, err := l.Info(l.ctx())
		l.must(err)
		if info.Kind == "" || info.Version == "" || info.Schema < 1 || info.Location == "" {
			l.Errorf("info: %+v", info)
		}
		if info.Detail != nil && !json.Valid(info.Detail) {
			l.Errorf("detail: %s", info.Detail)
		}
	},

	"TheSaverSharesTheStore": func(l *lab) {
		task := l.running()
		l.save(task, 1, 1)
		tuple, err := l.Saver().GetTuple(l.ctx(), thread.Ref{Thread: string(task.Operation)})
		l.must(err)
		same(l, "checkpoint", tuple.ID, ktrdr.CheckpointID(1, 1))
	},
}

var workers = map[string]func(*lab){
	"RegisterWorkerRecordsIt": func(l *lab) {
		l.start("b", "i1", ktrdr.RecoveryPolicy{Timeout: time.Hour})
		w := ktrdr.Worker{
			ID: "w1", Name: "box", Types: []ktrdr.Type{ktrdr.Dummy, ktrdr.Training}, Slots: 2,
			HeldBy: "i1", Host: "host", PID: 42, Version: "v1",
		}
		orders := l.register(ktrdr.Registration{Worker: w})
		same(l, "orders", orders, ktrdr.Orders{})
		got := l.worker("w1")
		if got.RegisteredAt.IsZero() || got.SeenAt.Before(got.RegisteredAt) || !got.Live {
			l.Errorf("registered: %+v", got)
		}
		got.RegisteredAt, got.SeenAt, got.Live = time.Time{}, time.Time{}, false
		slices.Sort(got.Types)
		same(l, "the worker", got, w)

		w.Slots, w.Types = 4, []ktrdr.Type{ktrdr.Dummy}
		l.register(ktrdr.Registration{Worker: w})
		if again := l.worker("w1"); again.Slots != 4 || len(again.Types) != 1 {
			l.Errorf("registered again: %+v", again)
		}
		same(l, "events", kinds(l.logOf("")), []ktrdr.EventKind{
			// the last two are the marker
			ktrdr.EventBackendStarted, ktrdr.EventWorkerRegistered, ktrdr.EventWorkerRegistered, ktrdr.EventWorkerLeft,
		})
	},

	"AWorkerStaysWhereItWasRegistered": func(l *lab) {
		inside := ktrdr.Worker{ID: "inside", Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1, HeldBy: "i1"}
		outside := ktrdr.Worker{ID: "outside", Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1}
		task := l.running()
		l.register(ktrdr.Registration{Worker: inside})
		l.register(ktrdr.Registration{Worker: outside})
		waits := l.create(ktrdr.NewOperation{})
		before := l.op(task.Operation)
		for _, as := range []struct {
			id ktrdr.WorkerID
			by ktrdr.Incarnation
		}{{"inside", ""}, {"inside", "i2"}, {"outside", "i1"}} {
			w := outside
			w.ID, w.HeldBy, w.Slots = as.id, as.by, 9
			_, err := l.RegisterWorker(l.ctx(), ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: w, Running: []ktrdr.Claimed{held(task, 8)}})
			l.refused(err, ktrdr.CodeForbidden)
			_, err = l.Report(l.ctx(), ktrdr.Heartbeat{Worker: as.id, HeldBy: as.by, Running: []ktrdr.Claimed{held(task, 8)}})
			l.refused(err, ktrdr.CodeForbidden)
			_, err = l.Claim(l.ctx(), ktrdr.ClaimRequest{Worker: as.id, Key: "k", Types: w.Types, Free: 1}, as.by)
			l.refused(err, ktrdr.CodeForbidden)
		}
		same(l, "the operation", l.op(task.Operation), before)
		same(l, "what waits", l.op(waits.ID), waits)
		same(l, "inside", l.worker("inside").Slots, 1)
		same(l, "inside", l.worker("inside").HeldBy, "i1")
		same(l, "outside", l.worker("outside").Slots, 1)
	},

	"RegisteringCountsAsAReport": func(l *lab) {
		runs, cancelled, lost, finished := l.running(), l.running(), l.running(), l.running()
		l.cancel(cancelled.Operation)
		l.finish(lost, ktrdr.Failed)
		l.start("b", "i1", keep)
		before := l.op(finished.Operation)
		orders := l.register(ktrdr.Registration{
			Worker:   ktrdr.Worker{ID: "w", Types: []ktrdr.Type{ktrdr.Dummy}},
			Running:  []ktrdr.Claimed{held(runs, 4), held(cancelled, 0), held(lost, 0)},
			Finished: []ktrdr.Claimed{held(finished, 6)},
		})
		same(l, "orders", orders, ktrdr.Orders{Cancel: []ktrdr.Claimed{held(cancelled, 0)}, Lost: []ktrdr.Claimed{held(lost, 0)}})
		if op := l.is(runs.Operation, ktrdr.Running); op.MaxStep != 4 {
			l.Errorf("step %d, want 4", op.MaxStep)
		}
		if op := l.is(finished.Operation, ktrdr.Running); op.HeartbeatAt.Before(before.HeartbeatAt) || op.MaxStep != 6 {
			l.Errorf("finished: %+v", op)
		}
		l.finish(finished, ktrdr.Completed)
	},

	"AWorkerIsLiveWhileItIsHeardOf": func(l *lab) {
		task := l.running()
		l.register(ktrdr.Registration{
			Worker: ktrdr.Worker{ID: "w", Slots: 1, Types: []ktrdr.Type{ktrdr.Dummy}}, Running: []ktrdr.Claimed{held(task, 0)},
		})
		first := l.worker("w")
		if !first.Live || first.Running != 1 {
			l.Errorf("registered: %+v", first)
		}
		l.eventually("its silence is noticed", func() bool {
			all, err := l.Workers(l.ctx(), time.Microsecond)
			l.must(err)
			return len(all) == 1 && !all[0].Live
		})
		l.eventually("its report is noticed", func() bool {
			l.report("w", held(task, 0))
			return l.worker("w").SeenAt.After(first.SeenAt)
		})
		l.finish(task, ktrdr.Completed)
		same(l, "running in the end", l.worker("w").Running, 0)
	},

	"AWorkerIsNoLongerLiveThanTheBackendItLivesIn": func(l *lab) {
		l.start("b", "life1", ktrdr.RecoveryPolicy{Timeout: time.Hour})
		l.register(ktrdr.Registration{Worker: ktrdr.Worker{ID: "w", HeldBy: "life1", Slots: 1, Types: []ktrdr.Type{ktrdr.Dummy}}})
		same(l, "live in its backend", l.worker("w").Live, true)
		l.start("b", "life2", ktrdr.RecoveryPolicy{Timeout: time.Hour})
		same(l, "live after its backend", l.worker("w").Live, false)
	},

	"WorkersAreListedByID": func(l *lab) {
		for _, id := range []ktrdr.WorkerID{"c", "a", "b"} {
			l.register(ktrdr.Registration{Worker: ktrdr.Worker{ID: id, Types: []ktrdr.Type{ktrdr.Dummy}}})
		}
		all, err := l.Workers(l.ctx(), time.Hour)
		l.must(err)
		var got []ktrdr.WorkerID
		for _, w := range all {
			got = append(got, w.ID)
		}
		same(l, "workers", got, []ktrdr.WorkerID{"a", "b", "c"})
	},

	"RemoveWorkerForgetsIt": func(l *lab) {
		l.register(ktrdr.Registration{Worker: ktrdr.Worker{ID: "w", Types: []ktrdr.Type{ktrdr.Dummy}}})
		l.must(l.RemoveWorker(l.ctx(), "w", ""))
		all, err := l.Workers(l.ctx(), time.Hour)
		l.must(err)
		same(l, "workers", len(all), 0)
		l.must(l.RemoveWorker(l.ctx(), "w", ""))
	},

	"RemoveWorkerIsForWhereItLives": func(l *lab) {
		l.register(ktrdr.Registration{Worker: ktrdr.Worker{ID: "in", HeldBy: "life", Types: []ktrdr.Type{ktrdr.Dummy}}})
		l.register(ktrdr.Registration{Worker: ktrdr.Worker{ID: "out", Types: []ktrdr.Type{ktrdr.Dummy}}})
		l.refused(l.RemoveWorker(l.ctx(), "in", ""), ktrdr.CodeForbidden)
		l.refused(l.RemoveWorker(l.ctx(), "in", "another"), ktrdr.CodeForbidden)
		l.refused(l.RemoveWorker(l.ctx(), "out", "life"), ktrdr.CodeForbidden)
		all, err := l.Workers(l.ctx(), time.Hour)
		l.must(err)
		same(l, "workers", len(all), 2)
		l.must(l.RemoveWorker(l.ctx(), "in", "life"))
		l.must(l.RemoveWorker(l.ctx(), "out", ""))
	},
}

func (l *lab) register(r ktrdr.Registration) ktrdr.Orders {
	l.Helper()
	r.Protocol = ktrdr.Protocol
	orders, err := l.RegisterWorker(l.ctx(), r)
	l.must(err)
	return orders
}

func (l *lab) worker(id ktrdr.WorkerID) ktrdr.Worker {
	l.Helper()
	all, err := l.Workers(l.ctx(), time.Hour)
	l.must(err)
	i := slices.IndexFunc(all, func(w ktrdr.Worker) bool { return w.ID == id })
	if i < 0 {
		l.Fatalf("there is no worker %s", id)
	}
	return all[i]
}

var badInput = map[string]func(*lab){
	"CreateRefusesWhatNoWorkerCouldRun": func(l *lab) {
		for what, n := range map[string]ktrdr.NewOperation{
			"an unknown type":          {Type: "cooking"},
			"no type":                  {},
			"a spec not of JSON":       {Type: ktrdr.Dummy, Spec: json.RawMessage(`{"a":`)},
			"a spec with a NUL":        {Type: ktrdr.Dummy, Spec: json.RawMessage("{\"a\":\"\x00\"}")},
			"a spec not of UTF-8":      {Type: ktrdr.Dummy, Spec: json.RawMessage("{\"a\":\"\xff\"}")},
			"a spec and a half":        {Type: ktrdr.Dummy, Spec: json.RawMessage(`{} {`)},
			"metadata not of JSON":     {Type: ktrdr.Dummy, Metadata: json.RawMessage(`NaN`)},
			"an id that is not one":    {Type: ktrdr.Dummy, ID: "../../etc/passwd"},
			"an id with a NUL":         {Type: ktrdr.Dummy, ID: "op_dummy_\x00"},
			"an id of a kilobyte":      {Type: ktrdr.Dummy, ID: ktrdr.OperationID("op_" + strings.Repeat("a", 1000))},
			"a plan that is not there": {Type: ktrdr.Training, HasPlan: true},
		} {
			if _, err := l.Create(l.ctx(), n, ktrdr.IdempotencyKey{}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: got %v, want %s", what, err, ktrdr.CodeInvalid)
			}
		}
		_, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{Key: "a\x00b"})
		l.refused(err, ktrdr.CodeInvalid)
		_, err = l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{Key: strings.Repeat("k", 10_000)})
		l.refused(err, ktrdr.CodeInvalid)
		counts, err := l.Counts(l.ctx())
		l.must(err)
		same(l, "operations afterwards", len(counts), 0)
	},

	"OddIdsAreRefusedEverywhere": func(l *lab) {
		for _, id := range []ktrdr.OperationID{
			"", "x", "op_dummy_\x00", "op_'; DROP TABLE operations; --", "op_\xff\xfe", ktrdr.OperationID("op_" + strings.Repeat("a", 100_000)),
		} {
			task := ktrdr.Task{Operation: id, Epoch: 1}
			refusals := map[string]error{}
			_, refusals["Operation"] = l.Operation(l.ctx(), id)
			refusals["SaveProgress"] = l.SaveProgress(l.ctx(), ktrdr.ProgressReport{Operation: id, Epoch: 1})
			_, refusals["Finish"] = l.Finish(l.ctx(), ending(task, ktrdr.Completed))
			refusals["Release"] = l.Release(l.ctx(), ktrdr.Released{Operation: id, Epoch: 1})
			_, _, refusals["Cancel"] = l.Cancel(l.ctx(), id, "")
			_, refusals["Resume"] = l.Resume(l.ctx(), id)
			_, refusals["SaveCheckpoint"] = l.SaveCheckpoint(l.ctx(), checkpoint(task, 1, 1), nil)
			_, refusals["Checkpoint"] = l.Checkpoint(l.ctx(), id, "")
			refusals["SkipCheckpoint"] = l.SkipCheckpoint(l.ctx(), ktrdr.Skip{Operation: id, Epoch: 1, Checkpoint: "x"})
			_, refusals["DeleteCheckpoints"] = l.DeleteCheckpoints(l.ctx(), id)
			for method, err := range refusals {
				if code := ktrdr.CodeOf(err); code != ktrdr.CodeNotFound && code != ktrdr.CodeInvalid {
					l.Errorf("%s of %.20q: got %.200v", method, id, err)
				}
				if err != nil && len(err.Error()) > 1000 {
					l.Errorf("%s of a huge id quotes all of it", method)
				}
			}
		}
	},

	"OddTextsAreStoredOrRefusedButNeverBreak": func(l *lab) {
		task := l.running()
		odd := "a\x00b\xffc “quotes” ' \" \\ 🚀"
		_, _, err := l.Cancel(l.ctx(), task.Operation, odd)
		l.must(err)
		if got := l.op(task.Operation).CancelReason; !clean(got) || !strings.Contains(got, "🚀") {
			l.Errorf("the reason became %q", got)
		}
		l.must(l.SaveProgress(l.ctx(), ktrdr.ProgressReport{Operation: task.Operation, Epoch: 1, Progress: ktrdr.Progress{CurrentStep: odd}}))
		if got := l.op(task.Operation).Progress.CurrentStep; !strings.Contains(got, "🚀") {
			l.Errorf("the step became %q", got)
		}
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: 1, Reason: odd}))
		l.is(task.Operation, ktrdr.Cancelled)
		l.logIsLegal()
		_, err = l.Claim(l.ctx(), ktrdr.ClaimRequest{Worker: "w\x00", Types: typeNames, Free: 1}, "")
		l.refused(err, ktrdr.CodeInvalid)
		_, err = l.RegisterWorker(l.ctx(), ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: ktrdr.Worker{ID: "w\x00"}})
		l.refused(err, ktrdr.CodeInvalid)
		l.refused(l.AddToken(l.ctx(), ktrdr.Token{ID: "t", Name: "n\x00", Scope: ktrdr.ScopeRead}), ktrdr.CodeInvalid)
	},
}
