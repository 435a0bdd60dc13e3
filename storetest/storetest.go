// Package storetest is the proof that a ktrdr.Store keeps its contract. Run is
// the conformance suite: one case for each sentence of the contract. Matrix
// holds a store to ktrdr.Step in every situation an operation can be in.
// Differential gives two stores the same random life and compares all that
// they say.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// Capability is something that not every store can do.
type Capability string

// SeveralBackends says that other backends may live beside the one that
// starts; a store without it belongs to one backend at a time.
const SeveralBackends Capability = "several backends"

// Run tests the stores that open returns: an empty one for each case, with the
// given types, closed by open's own cleanup.
func Run(t *testing.T, open func(t *testing.T, types ktrdr.Types) ktrdr.Store, can ...Capability) {
	groups := []map[string]func(*lab){
		creations, lists, claims, keys, reports, saves, finishes, releases, cancels, races, resumes,
		starts, lives, sweeps, asks, orphans, trees, adoptions, queues, queuesAtOnce, longQueues, notes, noteQueries, logs,
		waits, calls, callEnds, callsAtOnce, breakers, probes,
		checkpoints, skips, retention, compactions, settings, sessions, workers, counts, badInput,
		runs, runCancels, runCancelsAtOnce, generations, runEnds, trials, trialQueries, trialPoints, looks, lookQueries, livingClaims, runTests,
		markets, marketMerges, comparisons, ledgerAtOnce, chains, holdouts,
		fleet, orders, libraryBars, libraryDocuments,
		aloneInIt,
	}
	if slices.Contains(can, SeveralBackends) {
		groups[len(groups)-1] = shared
	}
	for _, group := range groups {
		for _, name := range slices.Sorted(maps.Keys(group)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := &lab{T: t, remote: slices.Contains(can, SeveralBackends)}
				l.Store = open(t, Types(&tree{gate: &l.gate}))
				group[name](l)
			})
		}
	}
}

// lab is one case and its store.
type lab struct {
	*testing.T
	ktrdr.Store
	gate   atomic.Bool // opened, it lets the plans of gated trees continue
	names  atomic.Int64
	remote bool // the store is a server that others use too
}

// Saver is the store's saver of threads.
func (l *lab) Saver() thread.Saver { return l.Store.(interface{ Saver() thread.Saver }).Saver() }

func (l *lab) ctx() context.Context { return l.T.Context() }

// patience bounds every wait; only a broken store comes near it.
const patience = 30 * time.Second

// eventually waits until what is so.
func (l *lab) eventually(what string, so func() bool) {
	l.Helper()
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for end := time.Now().Add(patience); !so(); <-pace.C {
		if time.Now().After(end) {
			l.Fatalf("not so after %v: %s", patience, what)
		}
	}
}

// each calls f for 0..n-1 from several goroutines at once and waits.
func each(n, at int, f func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, at) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

// must requires no error.
func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// refused requires an error with one of the given codes.
func (l *lab) refused(err error, want ...ktrdr.Code) {
	l.Helper()
	if !slices.Contains(want, ktrdr.CodeOf(err)) {
		l.Errorf("error %v has code %q, want %q", err, ktrdr.CodeOf(err), want)
	}
	if err != nil && err.Error() == "" {
		l.Error("the refusal says nothing")
	}
}

// stale requires the refusal of a write by the fence.
func (l *lab) stale(err error, input ktrdr.Input, op ktrdr.Operation, given ktrdr.Epoch) {
	l.Helper()
	te, ok := errors.AsType[*ktrdr.TransitionError](err)
	if !ok {
		l.Errorf("got %v, want a TransitionError", err)
		return
	}
	same(l, "refusal", *te, ktrdr.TransitionError{
		ID: op.ID, Input: input, From: op.Status, Epoch: op.Epoch, Given: given, Code: ktrdr.CodeStaleEpoch,
	})
}

// same requires equal values; nil and empty are the same.
func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// name makes a text that no other call of this case makes.
func (l *lab) name(prefix string) string { return fmt.Sprintf("%s-%d", prefix, l.names.Add(1)) }

// create stores an operation; its zero type is Dummy.
func (l *lab) create(n ktrdr.NewOperation) ktrdr.Operation {
	l.Helper()
	if n.Type == "" {
		n.Type = ktrdr.Dummy
	}
	op, err := l.Create(l.ctx(), n, ktrdr.IdempotencyKey{})
	l.must(err)
	return op
}

// createAfter stores an operation that is younger than before by the store's
// own clock, whose ticks may be coarse.
func (l *lab) createAfter(before ktrdr.Operation, n ktrdr.NewOperation) ktrdr.Operation {
	l.Helper()
	var op ktrdr.Operation
	l.eventually("the store's clock has advanced", func() bool {
		op = l.create(n)
		if op.CreatedAt.After(before.CreatedAt) {
			return true
		}
		_, _, err := l.Cancel(l.ctx(), op.ID, "made too early")
		l.must(err)
		return false
	})
	return op
}

// op reads an operation that must exist.
func (l *lab) op(id ktrdr.OperationID) ktrdr.Operation {
	l.Helper()
	op, err := l.Operation(l.ctx(), id)
	l.must(err)
	return op
}

// is requires an operation's status and returns it.
func (l *lab) is(id ktrdr.OperationID, want ktrdr.Status) ktrdr.Operation {
	l.Helper()
	op := l.op(id)
	if op.Status != want {
		l.Fatalf("%s is %s (%s), want %s", id, op.Status, op.ErrorMessage, want)
	}
	return op
}

// try claims for a worker; nil when there is nothing.
func (l *lab) try(worker ktrdr.WorkerID, types ...ktrdr.Type) *ktrdr.Task {
	l.Helper()
	if len(types) == 0 {
		types = []ktrdr.Type{ktrdr.Dummy}
	}
	task, err := l.Claim(l.ctx(), ktrdr.ClaimRequest{Worker: worker, Key: l.name("key"), Types: types, Free: 1}, "")
	l.must(err)
	return task
}

// claim claims an operation that must be there.
func (l *lab) claim(worker ktrdr.WorkerID) ktrdr.Task {
	l.Helper()
	task := l.try(worker)
	if task == nil {
		l.Fatal("there is nothing to claim")
	}
	return *task
}

// claimLocal claims for a worker inside a backend.
func (l *lab) claimLocal(holder ktrdr.Incarnation) ktrdr.Task {
	l.Helper()
	task, err := l.Claim(l.ctx(), ktrdr.ClaimRequest{Worker: "inside", Key: l.name("key"), Types: typeNames, Free: 1}, holder)
	l.must(err)
	if task == nil {
		l.Fatal("there is nothing to claim")
	}
	return *task
}

// running makes a claimed operation.
func (l *lab) running() ktrdr.Task {
	l.Helper()
	l.create(ktrdr.NewOperation{})
	return l.claim("w")
}

// save stores a checkpoint of a claim.
func (l *lab) save(task ktrdr.Task, seq, step int64) ktrdr.CheckpointInfo {
	l.Helper()
	info, err := l.SaveCheckpoint(l.ctx(), checkpoint(task, seq, step), nil)
	l.must(err)
	return info
}

func checkpoint(task ktrdr.Task, seq, step int64) ktrdr.NewCheckpoint {
	return ktrdr.NewCheckpoint{
		Operation: task.Operation, Epoch: task.Epoch, Seq: seq, Step: step, Type: ktrdr.CheckpointPeriodic,
		State: json.RawMessage(fmt.Sprintf(`{"step":%d}`, step)),
	}
}

// finish ends a claim.
func (l *lab) finish(task ktrdr.Task, outcome ktrdr.Status) ktrdr.Operation {
	l.Helper()
	op, err := l.Finish(l.ctx(), ending(task, outcome))
	l.must(err)
	return op
}

func ending(task ktrdr.Task, outcome ktrdr.Status) ktrdr.Finished {
	f := ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: outcome}
	switch outcome {
	case ktrdr.Completed:
		f.Result = json.RawMessage(`{"ok":true}`)
	case ktrdr.Failed:
		f.ErrorMessage = "the work went wrong"
		f.Error = ktrdr.NewFailure(ktrdr.CodeFailed, errors.New(f.ErrorMessage))
	}
	return f
}

// failed makes an operation that failed with a checkpoint, ready to resume.
func (l *lab) failed() ktrdr.Operation {
	l.Helper()
	task := l.running()
	l.save(task, 1, 1)
	return l.finish(task, ktrdr.Failed)
}

// cancel cancels an operation that must not have ended.
func (l *lab) cancel(id ktrdr.OperationID) []ktrdr.OperationID {
	l.Helper()
	_, reached, err := l.Cancel(l.ctx(), id, "enough")
	l.must(err)
	return reached
}

// held is a task as a worker reports it.
func held(task ktrdr.Task, step int64) ktrdr.Claimed {
	return ktrdr.Claimed{Operation: task.Operation, Epoch: task.Epoch, Step: step}
}

// report reports claims for a worker.
func (l *lab) report(worker ktrdr.WorkerID, running ...ktrdr.Claimed) ktrdr.Orders {
	l.Helper()
	orders, err := l.Report(l.ctx(), ktrdr.Heartbeat{Worker: worker, Running: running})
	l.must(err)
	return orders
}
