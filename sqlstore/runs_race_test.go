package sqlstore

import (
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

// oneAfterTheOther is a plan of two children.
func oneAfterTheOther(_ ktrdr.Operation, children []ktrdr.Operation, _ ktrdr.Why) (d ktrdr.Decision, _ error) {
	for _, c := range children {
		switch {
		case c.Status == ktrdr.Failed:
			d.Finish = &ktrdr.Finished{Outcome: ktrdr.Failed}
			return d, nil
		case !c.Status.Terminal():
			return d, nil
		}
	}
	if len(children) == 2 {
		d.Finish = &ktrdr.Finished{Outcome: ktrdr.Completed}
		return d, nil
	}
	d.Create = []ktrdr.NewOperation{{Type: ktrdr.Dummy, Ordinal: len(children)}}
	return d, nil
}

// meeting is a run of which everything can be started that a run can start.
type meeting struct {
	*testing.T
	s                      *Store
	working, failed, waits ktrdr.Operation
	task                   *ktrdr.Task
}

func (m *meeting) research(limit int) ktrdr.Operation {
	m.Helper()
	return create(m.T, m.s, m.newResearch(limit))
}

func (m *meeting) newResearch(limit int) ktrdr.NewOperation {
	return ktrdr.NewOperation{
		Type: ktrdr.AgentResearch, HasPlan: true, BackendLocal: true, Queue: &ktrdr.Queue{Name: "q", Limit: limit, Force: true, Run: "r"},
	}
}

func newMeeting(t *testing.T, s *Store) *meeting {
	t.Helper()
	m := &meeting{T: t, s: s}
	m.failed = m.research(9)
	finish(t, s, claimDummy(t, s, ""), ktrdr.Failed)
	m.working = m.research(9)
	m.task = claimDummy(t, s, "")
	m.research(9) // its child can be claimed
	m.waits = m.research(1)
	return m
}

// What starts something of a run while the run is being cancelled waits for the
// cancel, and starts nothing.
func TestPostgres_WhatMeetsACancelOfItsRunStartsNothing(t *testing.T) {
	creating := func(n func(m *meeting) ktrdr.NewOperation) func(m *meeting) error {
		return func(m *meeting) error {
			_, err := m.s.Create(m.Context(), n(m), ktrdr.IdempotencyKey{})
			return err
		}
	}
	for name, c := range map[string]struct {
		act  func(m *meeting) error // by another goroutine
		code ktrdr.Code
		then func(m *meeting)
	}{
		"a claim": {act: func(m *meeting) error {
			task, err := m.s.Claim(m.Context(), ktrdr.ClaimRequest{Worker: "w2", Types: []ktrdr.Type{ktrdr.Dummy}}, "")
			if task != nil {
				m.Errorf("claimed %+v", task)
			}
			return err
		}},
		"the next child": {act: func(m *meeting) error {
			_, err := m.s.Finish(m.Context(), ktrdr.Finished{Operation: m.task.Operation, Epoch: m.task.Epoch, Outcome: ktrdr.Completed})
			return err
		}, then: func(m *meeting) {
			wantStatus(m.T, m.s, m.working.ID, ktrdr.Cancelled)
			if n := len(childrenOf(m.T, m.s, m.working.ID)); n != 1 {
				m.Errorf("%d children, want no second", n)
			}
		}},
		"a start": {act: func(m *meeting) error {
			n, err := m.s.StartQueued(m.Context(), "q", 9)
			if n != 0 {
				m.Errorf("%d started", n)
			}
			return err
		}, then: func(m *meeting) { wantStatus(m.T, m.s, m.waits.ID, ktrdr.Pending) }},
		"a resume": {act: func(m *meeting) error {
			_, err := m.s.Resume(m.Context(), m.failed.ID)
			return err
		}, code: ktrdr.CodeConflict, then: func(m *meeting) { wantStatus(m.T, m.s, m.failed.ID, ktrdr.Failed) }},
		"a child by hand": {act: creating(func(m *meeting) ktrdr.NewOperation {
			return ktrdr.NewOperation{Type: ktrdr.Dummy, Parent: m.working.ID, Ordinal: 9}
		}), code: ktrdr.CodeConflict},
		"a new research": {act: creating(func(m *meeting) ktrdr.NewOperation { return m.newResearch(9) }), code: ktrdr.CodeConflict},
		"a retry": {act: creating(func(m *meeting) ktrdr.NewOperation {
			n := m.newResearch(9)
			n.RetryOf = m.failed.ID
			return n
		}), code: ktrdr.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, InstalledPostgres(t), storetest.Types(planFunc(oneAfterTheOther)))
			m := newMeeting(t, s)
			cancelling, cancel, cancelled := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			go func() { cancelled <- cancelSlowly(t, s, cancelling, cancel) }()
			<-cancelling
			done := make(chan error, 1)
			go func() { done <- c.act(m) }()
			eventually(t, "it waits for the cancel, or has not waited", func() bool { return waitsForALock(t, s) || len(done) > 0 })
			if len(done) > 0 {
				t.Error("it did not wait for the cancel")
			}
			close(cancel)
			if err := <-cancelled; err != nil {
				t.Error(err)
			}
			if err := <-done; ktrdr.CodeOf(err) != c.code {
				t.Errorf("err = %v, want the code %q", err, c.code)
			}
			if c.then != nil {
				c.then(m)
			}
		})
	}
}

// cancelSlowly is CancelRun that commits when it is told to.
func cancelSlowly(t *testing.T, s *Store, begun, commit chan struct{}) error {
	t.Helper()
	return s.write(t.Context(), normal, func(x *tx) error {
		if _, err := loadRun(t.Context(), x, lockRun, "r"); err != nil {
			return err
		}
		_, err := x.exec(t.Context(), markCancelled, "r", "", "")
		close(begun)
		<-commit
		return err
	})
}

func waitsForALock(t *testing.T, s *Store) bool {
	t.Helper()
	var n int
	if err := s.readOne(t.Context(), func(r queryer) error {
		return r.row(t.Context(),
			`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// Two reserve a look with the same key at once, on markets of their own: the
// second is refused as if it had come later.
func TestPostgres_TheSecondOfTwoLooksWithOneKeyIsRefused(t *testing.T) {
	s := openStore(t, InstalledPostgres(t), nil)
	var markets [2]string
	for i := range markets {
		series, err := s.AddSeries(t.Context(), ktrdr.NewSeries{MarketSeries: ktrdr.MarketSeries{Symbol: string(rune('A' + i)), Timeframe: "1h"}})
		if err != nil {
			t.Fatal(err)
		}
		markets[i] = series.Market
	}
	reserved, commit, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	look := ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "k", Markets: markets[:1]}
	go func() {
		first <- s.write(t.Context(), normal, func(x *tx) error {
			locked, err := lockMarkets(t.Context(), x, look.Markets)
			if err == nil {
				_, err = reserveLook(t.Context(), x, "", ktrdr.Queue{}, look, locked, ktrdr.Hash{})
			}
			close(reserved)
			<-commit
			return err
		})
	}()
	<-reserved
	second := make(chan error, 1)
	go func() {
		_, err := s.ReserveLook(t.Context(), ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "k", Markets: markets[1:]})
		second <- err
	}()
	eventually(t, "the second waits for the first", func() bool { return waitsForALock(t, s) || len(second) > 0 })
	close(commit)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if err := <-second; ktrdr.CodeOf(err) != ktrdr.CodeKeyReused {
		t.Errorf("err = %v, want CodeKeyReused", err)
	}
	if m, err := s.Market(t.Context(), markets[1]); err != nil || m.Looks != 0 {
		t.Errorf("the market of the second counts %d looks, %v", m.Looks, err)
	}
}
