package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/research"
)

// aRun is a run with counts of four digits.
func aRun(id string, state ktrdr.RunState) ktrdr.Run {
	r := ktrdr.Run{
		ID: id, State: state, Goal: "mean reversion on EURUSD 1h that is left after costs, long only", Size: 8, Generations: 1250, Closed: 1250,
		CreatedAt: time.Now().Add(-time.Hour),
		RunCounts: ktrdr.RunCounts{
			Created: 9999, Open: 1000, Completed: 4000, Rejected: 2000, Failed: 1500, Cancelled: 1499, Finalists: 1234, Looks: 1250, Claims: 12,
		},
	}
	if state != ktrdr.RunRunning {
		r.EndedAt = time.Now()
	}
	return r
}

func TestRuns_AreCompleteInAPipe(t *testing.T) {
	var b strings.Builder
	view.Runs(&b, ktrdr.RunPage{
		Runs: []ktrdr.Run{aRun("run_0123456789abcdef", ktrdr.RunGivenUp), aRun("run_fedcba9876543210", ktrdr.RunRunning)}, Next: "more",
	}, ktrdr.RunQuery{})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "run_01234567  GIVEN_UP  unknown  1h") ||
		!strings.Contains(lines[1], "mean reversion on EURUSD 1h that is left after costs, long only") ||
		!strings.Contains(lines[3], "--cursor more") {
		t.Errorf("runs:\n%s", b.String())
	}
	for name, q := range map[string]ktrdr.RunQuery{"No run yet.": {}, "No such run.": {State: []ktrdr.RunState{ktrdr.RunRunning}}} {
		b.Reset()
		if view.Runs(&b, ktrdr.RunPage{}, q); !strings.HasPrefix(b.String(), name) {
			t.Errorf("an empty page of %+v: %q, want %q", q, b.String(), name)
		}
	}
}

func TestRunOutcome_IsTheExitCode(t *testing.T) {
	for name, c := range map[string]struct {
		run  ktrdr.Run
		code int
	}{
		"all completed":        {ktrdr.Run{State: ktrdr.RunCompleted}, exitOK},
		"one failed":           {ktrdr.Run{State: ktrdr.RunCompleted, RunCounts: ktrdr.RunCounts{Failed: 1, Cancelled: 1}}, exitFailed},
		"one was cancelled":    {ktrdr.Run{State: ktrdr.RunCompleted, RunCounts: ktrdr.RunCounts{Cancelled: 1}}, exitCancelled},
		"cancelled as a whole": {ktrdr.Run{State: ktrdr.RunCancelled}, exitCancelled},
		"given up":             {ktrdr.Run{State: ktrdr.RunGivenUp}, exitFailed},
	} {
		if got := exitCode(runOutcome{Run: c.run}.exit()); got != c.code {
			t.Errorf("%s: exit %d, want %d", name, got, c.code)
		}
	}
}

func TestRunOutcome_NamesFailuresAndReasons(t *testing.T) {
	run := aRun("run_0123456789abcdef", ktrdr.RunCancelled)
	run.CancelReason, run.CancelledAt, run.CancelledBy = "enough", time.Now(), "ann"
	var b strings.Builder
	printOutcome(&b, runOutcome{
		Run: run, Failures: []ktrdr.Operation{{ID: "op_agent_research_20261115_080000_685ec14d", ErrorMessage: "TRAINING: disk full"}},
	})
	for _, part := range []string{
		"685ec14d failed: TRAINING: disk full", "Reason: enough",
		"run_01234567 CANCELLED: 9999 created, 1000 open, 4000 completed, 2000 gate rejected, 1500 failed, 1499 cancelled; 1234 finalists, " +
			"1250 looks, 12 claims.",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is missing in:\n%s", part, b.String())
		}
	}
	b.Reset()
	view.Run(&b, run)
	if !strings.Contains(b.String(), "cancelled") || !strings.Contains(b.String(), "by ann: enough") ||
		!strings.Contains(b.String(), "ktrdr report --run run_01234567") {
		t.Errorf("status of the run:\n%s", b.String())
	}
}

func TestStatus_CountsAllThatWait(t *testing.T) {
	st := research.Status{Capacity: ktrdr.QueueHealth{Active: 1, Limit: 1, Waiting: 9000}}
	for range 20 { // as many as the server lists
		st.Active = append(st.Active, research.Active{Operation: "op_agent_research_20261115_080000_685ec14d", Status: ktrdr.Pending})
	}
	st.Lasting = []research.Lasting{{Run: "run_1", Until: time.Now(), Generation: 3, Open: 8}}
	var b strings.Builder
	view.Researches(&b, st)
	if !strings.Contains(b.String(), "… and 8995 more wait") || !strings.Contains(b.String(), "end it with `ktrdr cancel run_1`") {
		t.Errorf("status:\n%s", b.String())
	}
}
