package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// An operation that failed, was resumed and failed again is followed to its last end.
func TestFollow_TellsTheStoryToTheLastEnd(t *testing.T) {
	l := newLab(t)
	l.serve("--workers", "1")
	id := l.start("--steps", "20", "--step-ms", "1", "--checkpoint-every", "5", "--fail-at", "19")
	l.refused(exitFailed, "FAILED", "follow", id)
	l.must("resume", id)
	l.refused(exitFailed, "FAILED", "follow", id)

	out := l.run("follow", id).out
	_, rest, failed := strings.Cut(out, "failed: ")
	_, rest, resumed := strings.Cut(rest, "resumed")
	if !failed || !resumed || !strings.Contains(rest, "failed: ") {
		t.Errorf("the story is not failed, resumed, failed:\n%s", out)
	}
}

// Lines in a pipe carry the time of what they tell, and the last one has words.
func TestFollow_LinesOfAPipe(t *testing.T) {
	var out bytes.Buffer
	started, ended := time.Date(2026, 11, 1, 3, 4, 5, 0, time.Local), time.Date(2026, 11, 1, 6, 7, 8, 0, time.Local)
	child := func(id ktrdr.OperationID, s ktrdr.Status) ktrdr.Operation {
		op := ktrdr.Operation{Status: s}
		op.ID, op.CreatedAt, op.StartedAt = id, started.Add(-time.Hour), started
		if s.Terminal() {
			op.CompletedAt = ended
		}
		return op
	}
	f := &follower{a: &app{out: &out, getenv: func(string) string { return "" }}, told: map[ktrdr.OperationID]ktrdr.Status{}}
	f.children = []ktrdr.Operation{child("op_a", ktrdr.Running), child("op_b", ktrdr.Completed), child("op_c", ktrdr.Pending)}
	f.show()
	for _, want := range []string{"03:04:05    op_a  RUNNING", "06:07:08    op_b  COMPLETED", "02:04:05    op_c  PENDING"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}

	out.Reset()
	f.op = child("op_a", ktrdr.Completed)
	f.op.Result = json.RawMessage(`{"hash":"0a1b","steps":60,"parts":[1,2]}`)
	_ = f.outcome()
	if got, want := out.String(), "op_a COMPLETED after 3h3m: hash 0a1b, steps 60\n"; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
}

// An id that is left out of a reason leaves no brackets.
func TestReport_AReasonWithoutItsIDHasNoBrackets(t *testing.T) {
	r := reasons{}
	for _, id := range []string{"op_dummy_20261116_010203_0a1b2c3d", "op_dummy_20261116_010203_9e3779b1"} {
		op := &ktrdr.FailedOperation{Message: "child 0 (" + id + ") ended FAILED: no room"}
		op.ID = ktrdr.OperationID(id)
		r.add(op)
	}
	if list := r.list(); len(list) != 1 || list[0].Reason != "child 0 ended FAILED: no room" {
		t.Errorf("%+v, want one reason: child 0 ended FAILED: no room", list)
	}
}
