package storetest

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/ktrdr/ktrdr"
)

var claims = map[string]func(*lab){
	"ClaimTakesTheHighestPriorityFirst": func(l *lab) {
		low := l.create(ktrdr.NewOperation{Priority: -1})
		high := l.create(ktrdr.NewOperation{Priority: 5})
		middle := l.create(ktrdr.NewOperation{})
		l.claimsInOrder(high.ID, middle.ID, low.ID)
	},

	"ClaimTakesTheOldestRootFirst": func(l *lab) {
		old := l.plant(treeSpec{Children: 2})
		young := l.createAfter(old, ktrdr.NewOperation{})
		task := l.claim("w")
		if task.Operation != l.children(old.ID)[0].ID {
			l.Fatalf("claimed %s, want the older tree's child", task.Operation)
		}
		l.finish(task, ktrdr.Completed) // the second child is younger than young, its root is not
		l.claimsInOrder(l.children(old.ID)[1].ID, young.ID)
	},

	"ClaimTakesSiblingsByID": func(l *lab) {
		top := l.plant(treeSpec{Children: 5, Parallel: true})
		l.claimsInOrder(slices.Sorted(slices.Values(idsOf(l.children(top.ID))))...)
	},

	"ClaimTakesOnlyTheTypesAskedFor": func(l *lab) {
		l.create(ktrdr.NewOperation{Type: ktrdr.Training, Priority: 9})
		dummy := l.create(ktrdr.NewOperation{})
		l.claimsInOrder(dummy.ID)
		if task := l.try("w", ktrdr.Backtesting, ktrdr.DataLoad); task != nil {
			l.Errorf("claimed %s", task.Operation)
		}
		if task := l.try("w", ktrdr.Backtesting, ktrdr.Training); task == nil || task.Type != ktrdr.Training {
			l.Errorf("claimed %v, want the training", task)
		}
	},

	"ClaimGivesBackendLocalWorkOnlyToABackend": func(l *lab) {
		local := l.create(ktrdr.NewOperation{BackendLocal: true, Priority: 9})
		l.create(ktrdr.NewOperation{})
		if task := l.claim("w"); task.Operation == local.ID || l.try("w") != nil {
			l.Fatal("an outside worker got work that belongs into a backend")
		}
		if task := l.claimLocal("i1"); task.Operation != local.ID {
			l.Errorf("the backend got %s, want %s", task.Operation, local.ID)
		}
		if op := l.op(local.ID); op.HeldBy != "i1" {
			l.Errorf("held by %q, want i1", op.HeldBy)
		}
	},

	"ClaimNeverHandsOutAParent": func(l *lab) {
		l.plant(treeSpec{Children: 0, Gated: true})
		if task := l.try("w", typeNames...); task != nil {
			l.Errorf("claimed %s", task.Operation)
		}
		task, err := l.Claim(l.ctx(), ktrdr.ClaimRequest{Worker: "w", Types: typeNames, Free: 1}, "i1")
		l.must(err)
		if task != nil {
			l.Errorf("a backend claimed %s", task.Operation)
		}
	},

	"ClaimOfNothingIsNoTask": func(l *lab) {
		if task := l.try("w", typeNames...); task != nil {
			l.Errorf("claimed %s", task.Operation)
		}
	},

	"ClaimIsRecorded": func(l *lab) {
		created := l.create(ktrdr.NewOperation{})
		task := l.claim("w1")
		op := l.op(created.ID)
		if op.Status != ktrdr.Running || op.Epoch != 1 || op.Attempts != 1 || op.Worker != "w1" || op.HeldBy != "" {
			l.Errorf("claimed: %+v", op)
		}
		if op.StartedAt.Before(op.CreatedAt) || op.ClaimedAt != op.StartedAt || op.HeartbeatAt != op.ClaimedAt {
			l.Errorf("created %v, started %v, claimed %v, heard of %v", op.CreatedAt, op.StartedAt, op.ClaimedAt, op.HeartbeatAt)
		}
		l.eventually("the second claim is later than the first", func() bool {
			l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
			task = l.claim("w2")
			return l.op(created.ID).ClaimedAt.After(op.ClaimedAt)
		})
		again := l.op(created.ID)
		if again.StartedAt != op.StartedAt || again.Worker != "w2" || int(again.Epoch) != again.Attempts || again.Epoch != task.Epoch {
			l.Errorf("claimed again: %+v", again)
		}
	},

	"TaskCarriesAllThatIsNeeded": func(l *lab) {
		op := l.create(ktrdr.NewOperation{Spec: json.RawMessage(`{"steps": 3}`)})
		first := l.claim("w")
		same(l, "first task", first, ktrdr.Task{
			Operation: op.ID, Type: ktrdr.Dummy, Epoch: 1, Attempts: 1, Spec: op.Spec,
		})
		l.save(first, 1, 1)
		l.save(first, 2, 2)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: op.ID, Epoch: 1, Reason: ktrdr.MessageReleased}))
		second := l.claim("w")
		from, err := l.Checkpoint(l.ctx(), op.ID, ktrdr.CheckpointID(1, 2))
		l.must(err)
		same(l, "second task", second, ktrdr.Task{
			Operation: op.ID, Type: ktrdr.Dummy, Epoch: 2, Attempts: 2, Spec: op.Spec, Checkpoint: &from,
		})
	},

	"ConcurrentClaimersShareTheQueue": func(l *lab) {
		const n = 60
		each(n, 8, func(int) {
			if _, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{}); err != nil {
				l.Error(err)
			}
		})
		var mu sync.Mutex
		got := map[ktrdr.OperationID]int{}
		each(12, 12, func(i int) {
			worker := ktrdr.WorkerID(rune('a' + i))
			for {
				task, err := l.Claim(l.ctx(), ktrdr.ClaimRequest{Worker: worker, Key: l.name("key"), Types: typeNames, Free: 1}, "")
				if err != nil {
					l.Error(err)
					return
				}
				mu.Lock()
				if task != nil {
					got[task.Operation]++
				}
				left := n - len(got)
				mu.Unlock()
				if task == nil && left == 0 {
					return
				}
				if task != nil && task.Epoch != 1 {
					l.Errorf("%s was claimed with epoch %d", task.Operation, task.Epoch)
				}
			}
		})
		if len(got) != n {
			l.Errorf("claimed %d operations, want %d", len(got), n)
		}
		for id, times := range got {
			if op := l.op(id); times != 1 || op.Attempts != 1 {
				l.Errorf("%s was handed out %d times in %d attempts", id, times, op.Attempts)
			}
		}
	},

	"PauseStopsNewClaims": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		task := l.claim("w")
		l.create(ktrdr.NewOperation{})
		l.must(l.SetPaused(l.ctx(), true))
		l.must(l.SetPaused(l.ctx(), true))
		if paused, err := l.Paused(l.ctx()); err != nil || !paused {
			l.Errorf("paused = %v, %v", paused, err)
		}
		if got := l.try("w"); got != nil {
			l.Errorf("claimed %s while paused", got.Operation)
		}
		l.save(task, 1, 1) // running work is not stopped
		l.finish(task, ktrdr.Completed)
		l.must(l.SetPaused(l.ctx(), false))
		if paused, err := l.Paused(l.ctx()); err != nil || paused {
			l.Errorf("paused = %v, %v", paused, err)
		}
		l.claim("w")
	},
}

// claimsInOrder claims until nothing is left and requires these operations.
func (l *lab) claimsInOrder(want ...ktrdr.OperationID) {
	l.Helper()
	var got []ktrdr.OperationID
	for task := l.try("w"); task != nil; task = l.try("w") {
		got = append(got, task.Operation)
	}
	same(l, "claimed", got, want)
}

// claimUnder claims under a key of the caller's.
func (l *lab) claimUnder(worker ktrdr.WorkerID, key string) *ktrdr.Task {
	task, err := l.Claim(l.ctx(), ktrdr.ClaimRequest{Worker: worker, Key: key, Types: typeNames, Free: 1}, "")
	if err != nil {
		l.Error(err)
	}
	return task
}

var keys = map[string]func(*lab){
	"TheSameClaimKeyReturnsTheSameClaim": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		l.create(ktrdr.NewOperation{})
		first := l.claimUnder("w", "k")
		l.save(*first, 1, 1)
		again := l.claimUnder("w", "k")
		if again == nil || again.Operation != first.Operation || again.Epoch != first.Epoch || again.Attempts != first.Attempts {
			l.Fatalf("got %+v, want %+v again", again, first)
		}
		if op := l.op(first.Operation); op.Attempts != 1 || again.Checkpoint == nil {
			l.Errorf("attempts %d and checkpoint %v after the same claim twice", op.Attempts, again.Checkpoint)
		}
		l.counted(ktrdr.Dummy, ktrdr.Pending, 1)
	},

	"AClaimKeyIsAnsweredAgainWhilePaused": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		first := l.claimUnder("w", "k")
		l.must(l.SetPaused(l.ctx(), true))
		if again := l.claimUnder("w", "k"); again == nil || again.Epoch != first.Epoch {
			l.Errorf("got %+v, want the claim that is live", again)
		}
	},

	"AClaimKeyIsAnsweredAgainWhileReconciling": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		first := l.claimUnder("w", "k")
		l.start("b", "i1", keep)
		l.is(first.Operation, ktrdr.Reconciling)
		if again := l.claimUnder("w", "k"); again == nil || again.Epoch != first.Epoch {
			l.Errorf("got %+v, want the claim that is live", again)
		}
	},

	"AnEndedClaimsKeyClaimsAgain": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		l.create(ktrdr.NewOperation{})
		first := l.claimUnder("w", "k")
		l.finish(*first, ktrdr.Completed)
		if next := l.claimUnder("w", "k"); next == nil || next.Operation == first.Operation {
			l.Errorf("got %+v, want the other operation", next)
		}
	},

	"AClaimKeyBelongsToItsWorker": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		l.create(ktrdr.NewOperation{})
		mine, other := l.claimUnder("w1", "k"), l.claimUnder("w2", "k")
		if mine == nil || other == nil || mine.Operation == other.Operation {
			l.Errorf("claimed %+v and %+v, want two operations", mine, other)
		}
	},

	"ConcurrentClaimsUnderOneKeyAreOneClaim": func(l *lab) {
		got := make([]ktrdr.Claimed, 16)
		for range got { // fewer could all be locked by the others, and then there is nothing to claim
			l.create(ktrdr.NewOperation{})
		}
		each(len(got), len(got), func(i int) {
			if task := l.claimUnder("w", "k"); task != nil {
				got[i] = held(*task, 0)
			}
		})
		if len(slices.Compact(got)) != 1 || got[0].Operation == "" {
			l.Errorf("got %v, want one claim", got)
		}
		l.counted(ktrdr.Dummy, ktrdr.Running, 1)
	},
}
