package sqlstore

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

// eachRestarted runs a test over two lives of one database.
func eachRestarted(t *testing.T, first, second func(t *testing.T, s *Store)) {
	t.Helper()
	for name, url := range map[string]func(testing.TB) string{"SQLite": InstalledSQLite, "PostgreSQL": InstalledPostgres} {
		t.Run(name, func(t *testing.T) {
			where := url(t)
			s, err := Open(t.Context(), Config{URL: where, Types: storetest.Types(nil)})
			if err != nil {
				t.Fatal(err)
			}
			first(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			second(t, openStore(t, where, nil))
		})
	}
}

// A process that knows nothing of the one before it counts its checkpoints from
// one. That the one before it came further must not hide them.
func TestCheckpoint_ALaterLifeThatCountsFromOneIsTheNewest(t *testing.T) {
	var op ktrdr.OperationID
	eachRestarted(t, func(t *testing.T, s *Store) {
		x := running(t, s)
		op = x.op
		for seq := range int64(40) {
			x.save(1, seq+1)
		}
		x.release(1)
	}, func(t *testing.T, s *Store) {
		x := &saved{t, s, op}
		task := x.claim(2)
		if task.Checkpoint == nil || task.Checkpoint.ID != id(1, 40) {
			t.Errorf("it begins from %+v, want %s", task.Checkpoint, id(1, 40))
		}
		x.save(2, 1)
		x.newest(id(2, 1))
		if c, err := s.Checkpoint(t.Context(), op, ""); err != nil || c.Parent != id(1, 40) {
			t.Errorf("its parent is %q, %v; want %s", c.Parent, err, id(1, 40))
		}
		_, err := s.SaveCheckpoint(t.Context(), x.checkpoint(1, 41), nil)
		x.refused(err, ktrdr.CodeStaleEpoch) // and the one before it comes no further
		x.newest(id(2, 1))
	})
}

func TestEvents_OutliveEveryStart(t *testing.T) {
	var op ktrdr.OperationID
	eachRestarted(t, func(t *testing.T, s *Store) {
		x := running(t, s)
		op = x.op
		x.release(1)
	}, func(t *testing.T, s *Store) {
		x := &saved{t, s, op}
		x.claim(2)
		wantEvents(t, s, op, ktrdr.EventCreated, ktrdr.EventClaimed, ktrdr.EventReleased, ktrdr.EventClaimed)
	})
}

// The same instant is the same whatever the clock on the wall said, and comes
// back in UTC.
func TestTimes_AreInstantsWhateverTheirOffset(t *testing.T) {
	at := time.Date(2026, 11, 15, 1, 30, 0, 0, time.UTC)
	eachStore(t, nil, func(t *testing.T, s *Store) {
		for name, zone := range map[string]*time.Location{
			"east": time.FixedZone("", 14*3600), "west": time.FixedZone("", -11*3600), "here": time.Local,
		} {
			b := ktrdr.Breaker{Name: "agent:" + name, Scope: ktrdr.ScopeAgent, State: ktrdr.BreakerOpen, RetryAt: at.In(zone)}
			if _, err := s.SaveBreaker(t.Context(), b, ktrdr.BreakerChange{From: ktrdr.BreakerClosed, To: ktrdr.BreakerOpen}); err != nil {
				t.Fatal(err)
			}
		}
		all, err := s.Breakers(t.Context())
		if err != nil || len(all) != 3 {
			t.Fatalf("%d breakers, %v", len(all), err)
		}
		for _, b := range all {
			if b.RetryAt != at {
				t.Errorf("%s is open until %v, want %v", b.Name, b.RetryAt, at)
			}
		}
	})
}

// explode is named so that it can be found in a stack.
func explode(ktrdr.Operation, []ktrdr.Operation, ktrdr.Why) (ktrdr.Decision, error) { panic("boom") }

func TestPlan_APanicLeavesItsStack(t *testing.T) {
	var log bytes.Buffer
	s, err := Open(t.Context(), Config{
		URL: filepath.Join(t.TempDir(), "ktrdr.db"), Types: storetest.Types(planFunc(explode)), Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := create(t, s, ktrdr.NewOperation{Type: ktrdr.AgentResearch, HasPlan: true})
	if p.Status != ktrdr.Failed || p.ErrorMessage != "plan of agent_research: plan panicked: boom" {
		t.Errorf("it is %s: %q", p.Status, p.ErrorMessage)
	}
	if err := s.Close(); err != nil { // who writes the log has ended
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, string(p.ID)) || !strings.Contains(text, "sqlstore.explode") {
		t.Errorf("the log does not tell whose plan it was, and where:\n%s", text)
	}
}
