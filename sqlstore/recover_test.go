package sqlstore

import (
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

const tiny = 20 * time.Millisecond

var policy = ktrdr.RecoveryPolicy{Timeout: time.Hour, Late: time.Minute, AutoResume: true}

func within(d time.Duration) ktrdr.RecoveryPolicy {
	p := policy
	p.Timeout, p.Late = d, d
	return p
}

func life(id string, n string) ktrdr.Backend {
	return ktrdr.Backend{ID: id, Incarnation: ktrdr.Incarnation(id + "-" + n), PID: 1}
}

func start(t *testing.T, s *Store, b ktrdr.Backend, p ktrdr.RecoveryPolicy) ktrdr.Recovered {
	t.Helper()
	r, err := s.Start(t.Context(), b, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sweep(t *testing.T, s *Store, b ktrdr.Backend, p ktrdr.RecoveryPolicy, judge bool) ktrdr.Recovered {
	t.Helper()
	r, err := s.Sweep(t.Context(), b, p, judge)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// elapse waits until the store's own clock has moved by d.
func elapse(t *testing.T, s *Store, d time.Duration) {
	t.Helper()
	clock := func() (us int64) {
		err := s.readOne(t.Context(), func(r queryer) error { return r.row(t.Context(), `SELECT {now}`).Scan(&us) })
		if err != nil {
			t.Fatal(err)
		}
		return us
	}
	for begun := clock(); clock() <= begun+d.Microseconds(); {
		time.Sleep(time.Millisecond)
	}
}

func TestSweep_OrphansAreNeverEarlyAndChildrenStillRun(t *testing.T) {
	eachStore(t, storetest.Types(fanOut(1)), func(t *testing.T, s *Store) {
		b := life("a", "1")
		start(t, s, b, policy)
		alone := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy, Priority: 1})
		p := createParent(t, s)
		first, child := claimDummy(t, s, ""), claimDummy(t, s, "")

		if r := sweep(t, s, b, policy, true); len(r.Orphaned) != 0 || r.NextOrphan <= 0 || r.NextOrphan > policy.Timeout {
			t.Fatalf("within the timeout the sweep did %+v", r)
		}
		elapse(t, s, tiny)
		if r := sweep(t, s, b, within(tiny), false); len(r.Orphaned) != 0 || r.Potential != 2 {
			t.Fatalf("without judging the sweep did %+v, want 2 potential orphans", r)
		}
		r := sweep(t, s, b, within(tiny), true)
		if len(r.Orphaned) != 2 || r.NextOrphan != 0 {
			t.Fatalf("the sweep did %+v, want 2 orphans", r)
		}
		for _, o := range r.Orphaned {
			if o.Silent < tiny || o.Worker != "w1" || o.Epoch != 1 || o.Resumed != (o.Operation == child.Operation) {
				t.Errorf("orphan %+v", o)
			}
		}
		if op := wantStatus(t, s, alone.ID, ktrdr.Failed); op.ErrorMessage != ktrdr.MessageOrphaned ||
			op.Error.Code != ktrdr.CodeOrphaned || op.Losses != 1 {
			t.Errorf("orphan has %q, %+v, %d losses", op.ErrorMessage, op.Error, op.Losses)
		}
		if first.Operation != alone.ID {
			t.Errorf("claimed %s first, want the one of higher priority", first.Operation)
		}

		for range ktrdr.PoisonLosses - 1 {
			claimDummy(t, s, "")
			elapse(t, s, tiny)
			r = sweep(t, s, b, within(tiny), true)
		}
		if len(r.Orphaned) != 1 || !r.Orphaned[0].Poison || r.Orphaned[0].Resumed {
			t.Fatalf("the third loss was %+v, want poison", r.Orphaned)
		}
		if op := wantStatus(t, s, child.Operation, ktrdr.Failed); op.Error.Code != ktrdr.CodePoison || op.ErrorMessage != messagePoison {
			t.Errorf("poison has %q, %+v", op.ErrorMessage, op.Error)
		}
		wantStatus(t, s, p.ID, ktrdr.Failed) // the plan was told
	})
}

func TestStart_TreatsWhatEarlierLivesHeld(t *testing.T) {
	eachStore(t, storetest.Types(fanOut(1)), func(t *testing.T, s *Store) {
		start(t, s, life("a", "1"), policy)
		requeued := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy, Priority: 3})
		flagged := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy, Priority: 2})
		claimDummy(t, s, "a-1")
		claimDummy(t, s, "a-1")
		if _, _, err := s.Cancel(t.Context(), flagged.ID, ""); err != nil {
			t.Fatal(err)
		}
		design := create(t, s, ktrdr.NewOperation{Type: ktrdr.AgentDesign, BackendLocal: true})
		if task, err := s.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w1", Types: []ktrdr.Type{ktrdr.AgentDesign}}, ""); task != nil ||
			err != nil {
			t.Fatalf("an outside worker got %v, %v; want nothing of what is backend-local", task, err)
		}
		if task, err := s.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w1", Types: []ktrdr.Type{ktrdr.AgentDesign}}, "a-1"); task == nil ||
			err != nil {
			t.Fatalf("the backend's own worker got %v, %v", task, err)
		}
		outside := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
		claimDummy(t, s, "")

		r := start(t, s, life("a", "2"), policy)
		if !slices.Equal(r.Requeued, []ktrdr.OperationID{requeued.ID}) || !slices.Equal(r.Failed, []ktrdr.OperationID{design.ID}) ||
			!slices.Equal(r.Reconciling, []ktrdr.OperationID{outside.ID}) {
			t.Errorf("start did %+v", r)
		}
		wantStatus(t, s, requeued.ID, ktrdr.Pending)
		wantStatus(t, s, flagged.ID, ktrdr.Cancelled)
		if op := wantStatus(t, s, design.ID, ktrdr.Failed); op.ErrorMessage != ktrdr.MessageRestartLost ||
			op.Error.Code != ktrdr.CodeBackendRestart {
			t.Errorf("design failed with %q, %+v", op.ErrorMessage, op.Error)
		}
		wantStatus(t, s, outside.ID, ktrdr.Reconciling)
		orders, err := s.Report(t.Context(), ktrdr.Heartbeat{Worker: "w1", Running: []ktrdr.Claimed{{Operation: outside.ID, Epoch: 1}}})
		if err != nil || !orders.Empty() {
			t.Fatalf("report: %+v, %v", orders, err)
		}
		wantStatus(t, s, outside.ID, ktrdr.Running)

		if err := s.Beat(t.Context(), life("a", "1")); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			t.Errorf("beat of the life before: err = %v, want a conflict", err)
		}
		if err := s.Beat(t.Context(), life("a", "2")); err != nil {
			t.Error(err)
		}
	})
}

func TestStart_FailPolicyFailsParentsFirst(t *testing.T) {
	eachStore(t, storetest.Types(fanOut(1)), func(t *testing.T, s *Store) {
		start(t, s, life("a", "1"), policy)
		p := createParent(t, s)
		child := claimDummy(t, s, "a-1")
		hard := policy
		hard.FailLocal = true
		r := start(t, s, life("a", "2"), hard)
		if len(r.Failed) != 2 || len(r.Requeued) != 0 {
			t.Errorf("start did %+v, want parent and child failed", r)
		}
		if op := wantStatus(t, s, p.ID, ktrdr.Failed); op.ErrorMessage != ktrdr.MessageRestartResumable {
			t.Errorf("parent failed with %q", op.ErrorMessage)
		}
		wantStatus(t, s, child.Operation, ktrdr.Failed)
		if op, err := s.Resume(t.Context(), p.ID); err != nil || op.Status != ktrdr.Running || op.Epoch != 2 {
			t.Errorf("resumed parent is %s at epoch %d (%v)", op.Status, op.Epoch, err)
		}
		wantStatus(t, s, child.Operation, ktrdr.Pending)
	})
}

func TestSweep_RecoversAnotherBackendAfterTheTimeout(t *testing.T) {
	s := openStore(t, InstalledPostgres(t), nil)
	a, b := life("a", "1"), life("b", "1")
	start(t, s, a, policy)
	start(t, s, b, policy)
	create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
	task := claimDummy(t, s, b.Incarnation)

	if r := start(t, s, life("a", "2"), policy); len(r.Requeued) != 0 {
		t.Fatalf("the start of a took %v from b, which is alive", r.Requeued)
	}
	elapse(t, s, tiny)
	if r := sweep(t, s, life("a", "2"), within(tiny), false); len(r.Requeued) != 0 {
		t.Fatalf("the sweep took %v by silence without judging", r.Requeued)
	}
	if r := sweep(t, s, life("a", "2"), within(tiny), true); !slices.Equal(r.Requeued, []ktrdr.OperationID{task.Operation}) {
		t.Fatalf("the sweep did %+v, want b's work requeued", r)
	}

	task = claimDummy(t, s, b.Incarnation)
	if err := s.Leave(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if r := sweep(t, s, life("a", "2"), policy, false); !slices.Equal(r.Requeued, []ktrdr.OperationID{task.Operation}) {
		t.Fatalf("the sweep did %+v, want the work of b, which has left", r)
	}
}

func TestStart_LeavesThePunctualToAnotherBackend(t *testing.T) {
	s := openStore(t, InstalledPostgres(t), nil)
	start(t, s, life("b", "1"), policy)
	op := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
	claimDummy(t, s, "")
	if r := start(t, s, life("a", "1"), policy); len(r.Reconciling) != 0 {
		t.Fatalf("start put %v aside, whose heartbeat is fresh", r.Reconciling)
	}
	elapse(t, s, tiny)
	late := policy
	late.Late = tiny
	if r := start(t, s, life("a", "2"), late); !slices.Equal(r.Reconciling, []ktrdr.OperationID{op.ID}) {
		t.Fatalf("start did %+v, want the late one aside", r)
	}
}

func TestSweep_AsksAParentThatWaitsForNoChild(t *testing.T) {
	eachStore(t, storetest.Types(fanOut(1)), func(t *testing.T, s *Store) {
		p := createParent(t, s)
		task := claimDummy(t, s, "")
		// The parent was not told that its child ended.
		mustRaw(t, s, `UPDATE operations SET status = 'COMPLETED', completed_at = {now} WHERE id = $1`, task.Operation)
		sweep(t, s, life("a", "1"), policy, false)
		wantStatus(t, s, p.ID, ktrdr.Completed)
	})
}

func TestSweep_LooksAgainWhenASilentBackendIsDeadAndNotBefore(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		silent, b := life("a", "1"), life("b", "1")
		start(t, s, b, policy)
		if err := s.Beat(t.Context(), silent); err != nil {
			t.Fatal(err)
		}
		create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
		claimDummy(t, s, silent.Incarnation)
		age := func(q query, by time.Duration) {
			t.Helper()
			err := s.write(t.Context(), normal, func(tx *tx) error {
				_, err := tx.exec(t.Context(), q, by.Microseconds())
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		age(`UPDATE operations SET heartbeat_at = {now} - $1`, 2*policy.Timeout)
		age(`UPDATE backends SET seen_at = {now} - $1 WHERE id = 'a'`, policy.Timeout/2)
		r := sweep(t, s, b, policy, true)
		if len(r.Orphaned)+len(r.Requeued) != 0 || r.Potential != 1 {
			t.Errorf("while the backend may be alive the sweep did %+v", r)
		}
		if r.NextOrphan < policy.Timeout/3 || r.NextOrphan > policy.Timeout/2 {
			t.Errorf("next in %v, want when the backend is dead: %v", r.NextOrphan, policy.Timeout/2)
		}
		age(`UPDATE backends SET seen_at = {now} - $1 WHERE id = 'a'`, policy.Timeout)
		if r := sweep(t, s, b, policy, true); len(r.Requeued) != 1 || r.NextOrphan != 0 {
			t.Errorf("when it is dead the sweep did %+v", r)
		}
	})
}
