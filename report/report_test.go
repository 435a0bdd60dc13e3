package report

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// onBothStores runs a test on SQLite and on PostgreSQL.
func onBothStores(t *testing.T, test func(t *testing.T, s *sqlstore.Store)) {
	t.Helper()
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "ktrdr.db") },
		"postgres": func(t *testing.T) string { t.Helper(); return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sqlstore.Open(t.Context(), sqlstore.Config{
				URL: url(t), Types: ktrdr.MergeTypes(dummy.Types(), research.Types()), Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			test(t, s)
		})
	}
}

func TestSpellBegan_GoesBackToTheLastQuietHours(t *testing.T) {
	now := time.Date(2026, 11, 15, 7, 0, 0, 0, time.UTC)
	run := func(ago, lasted time.Duration) ktrdr.Run {
		r := ktrdr.Run{CreatedAt: now.Add(-ago)}
		if lasted > 0 {
			r.EndedAt = r.CreatedAt.Add(lasted)
		}
		return r
	}
	for name, c := range map[string]struct {
		runs []ktrdr.Run
		ago  time.Duration
	}{
		"no run at all": {nil, usualSpan},
		"one run":       {[]ktrdr.Run{run(time.Hour, time.Minute)}, time.Hour},
		"one after the other": {
			[]ktrdr.Run{run(time.Hour, time.Minute), run(6*time.Hour, time.Hour), run(20*time.Hour, time.Hour)}, 6 * time.Hour,
		},
		"a long run before":              {[]ktrdr.Run{run(time.Hour, time.Minute), run(9*time.Hour, 7*time.Hour)}, 9 * time.Hour},
		"a run that is still open":       {[]ktrdr.Run{run(time.Hour, time.Minute), run(30*time.Hour, 0)}, 30 * time.Hour},
		"quiet for longer than the rest": {[]ktrdr.Run{run(time.Hour, time.Minute), run(10*time.Hour, time.Hour)}, time.Hour},
	} {
		if got := now.Sub(spellBegan(c.runs, now)); got != c.ago {
			t.Errorf("%s: it began %v ago, want %v", name, got, c.ago)
		}
	}
}

func TestMachineOf_CountsByWhatEventsSayInTheirFields(t *testing.T) {
	at := time.Date(2026, 11, 15, 7, 0, 0, 0, time.UTC)
	got := MachineOf(ktrdr.MachineCounts{
		Events: []ktrdr.EventCount{
			{Kind: ktrdr.EventBackendStarted, N: 3},
			{Kind: ktrdr.EventBackendDied, N: 1},
			{Kind: ktrdr.EventWorkerRegistered, HeldBy: "b-1", N: 100},
			{Kind: ktrdr.EventWorkerRegistered, N: 4},
			{Kind: ktrdr.EventWorkerLeft, HeldBy: "b-1", N: 100},
			{Kind: ktrdr.EventWorkerLeft, N: 15},
			{Kind: ktrdr.EventWorkerLost, N: 2},
			{Kind: ktrdr.EventFailed, Code: ktrdr.CodeOrphaned, N: 5},
			{Kind: ktrdr.EventFailed, Code: ktrdr.CodePoison, N: 6},
			{Kind: ktrdr.EventFailed, Code: ktrdr.CodeBackendRestart, N: 7},
			{Kind: ktrdr.EventFailed, Code: ktrdr.CodeFailed, N: 100},
			{Kind: ktrdr.EventReleased, By: ktrdr.ReleasedByRecovery, N: 8},
			{Kind: ktrdr.EventReleased, By: ktrdr.ReleasedByWorker, N: 9},
			{Kind: ktrdr.EventReleased, By: ktrdr.ReleasedToWait, N: 100},
			{Kind: ktrdr.EventReported, N: 10},
			{Kind: ktrdr.EventResumed, N: 11},
			{Kind: ktrdr.EventCheckpointSkipped, N: 12},
			{Kind: ktrdr.EventWriteRefused, N: 13},
			{Kind: ktrdr.EventBreaker, N: 14},
			{Kind: ktrdr.EventPaused, N: 1},
		},
		Pauses: []ktrdr.Event{
			{Kind: ktrdr.EventUnpaused, At: at.Add(time.Minute)},
			{Kind: ktrdr.EventPaused, At: at.Add(time.Hour)},
			{Kind: ktrdr.EventUnpaused, At: at.Add(2 * time.Hour)},
			{Kind: ktrdr.EventPaused, At: at.Add(3 * time.Hour)},
		},
	}, at)
	want := Machine{
		BackendStarts: 3, BackendDeaths: 1, WorkersJoined: 4, WorkersLeft: 15, WorkersLost: 2, Orphaned: 5, Poisoned: 6, Interrupted: 7,
		Requeued: 8, Released: 9, Reported: 10, Resumed: 11,
		CheckpointsSkipped: 12, WritesRefused: 13, BreakerChanges: 14,
		Processes: []ProcessLife{}, Log: []ProcessEvent{},
		Pauses: []Pause{{From: at, To: at.Add(time.Minute)}, {From: at.Add(time.Hour), To: at.Add(2 * time.Hour)}, {From: at.Add(3 * time.Hour)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadCalls_CountsWhatWasChargedInTheSpan(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *sqlstore.Store) {
		ctx := t.Context()
		op, err := s.Create(ctx, ktrdr.NewOperation{Type: ktrdr.Dummy, Spec: json.RawMessage(`{"steps":1}`)}, ktrdr.IdempotencyKey{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.RegisterWorker(ctx, ktrdr.Registration{
			Protocol: ktrdr.Protocol, Worker: ktrdr.Worker{ID: "w", Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1},
		}); err != nil {
			t.Fatal(err)
		}
		task, err := s.Claim(ctx, ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1}, "")
		if err != nil || task == nil {
			t.Fatalf("claim: %v, %v", task, err)
		}
		ask := func(key byte, model string, end *ktrdr.CallEnd) {
			t.Helper()
			c, err := s.ReserveCall(ctx, ktrdr.NewCall{
				Operation: op.ID, Epoch: task.Epoch, Key: ktrdr.Hash{key}, Model: model, Most: 50_000, Daily: 1e6, Research: 1e6,
			})
			if err == nil && end != nil {
				end.ID = c.ID
				err = s.SettleCall(ctx, *end)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		ask(1, "a/large", &ktrdr.CallEnd{Status: ktrdr.CallAnswered, Cost: 12_500, Answer: json.RawMessage(`{}`)})
		ask(2, "a/large", &ktrdr.CallEnd{Status: ktrdr.CallFailed, Error: "503"})
		ask(3, "b/small", &ktrdr.CallEnd{Status: ktrdr.CallAnswered, Cost: 2_500, Answer: json.RawMessage(`{}`)})
		ask(4, "b/small", nil)
		ask(5, "a/large", &ktrdr.CallEnd{Status: ktrdr.CallFailed, Error: ktrdr.NotAsked}) // no provider was called

		read := func(from time.Time, run string) *ModelCalls {
			t.Helper()
			l := &lookback{Reporter: Reporter{calls: s}, out: Report{From: from}, query: Query{Run: run}}
			if err := l.readCalls(ctx); err != nil {
				t.Fatal(err)
			}
			return l.out.Models
		}
		want := &ModelCalls{Calls: 4, Failed: 1, InFlight: 1, USD: 0.065, ByModel: []ModelSum{
			{Model: "b/small", Calls: 2, USD: 0.0525}, {Model: "a/large", Calls: 2, Failed: 1, USD: 0.0125},
		}}
		if diff := cmp.Diff(want, read(time.Now().Add(-time.Hour), "")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := read(time.Now().Add(time.Hour), ""); got != nil {
			t.Errorf("calls before the span: %+v", got)
		}
		if got := read(time.Unix(0, 0), "run_other"); got != nil {
			t.Errorf("calls of another run: %+v", got)
		}
	})
}

func TestReasons_GroupFailuresByWhatTheySay(t *testing.T) {
	r := reasons{}
	fail := func(id, message string, checkpoint bool) {
		r.add(&ktrdr.FailedOperation{ID: ktrdr.OperationID(id), Message: message, Code: ktrdr.CodeFailed, Resumable: checkpoint})
	}
	fail("op_1", "TRAINING: op_training_20261115_083802_8afdba58: the disk is full", false)
	fail("op_2", "TRAINING: op_training_20261115_083803_00000001: the disk is full", true)
	fail("op_3", "TRAINING: op_training_20261115_083804_00000002: the disk is full", true)
	fail("op_4", "never began", false)
	want := []FailureReason{
		{
			Reason: "TRAINING: the disk is full", Code: "failed", Count: 3, Resumable: 2, Operations: []ktrdr.OperationID{"op_2", "op_3", "op_1"},
			Next: "ktrdr resume op_2",
		},
		{Reason: "never began", Code: "failed", Count: 1, Operations: []ktrdr.OperationID{"op_4"}, Next: "ktrdr retry op_4"},
	}
	if diff := cmp.Diff(want, r.list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range 1000 { // every one says something else
		fail("op_n", strings.Repeat("x", 500)+" "+strings.Repeat("y", i), false)
		fail("op_n", time.Duration(i).String(), false)
	}
	if n := len(r.list()); n != mostReasons {
		t.Errorf("%d reasons are shown, want the %d most frequent", n, mostReasons)
	}
}
