package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

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
	a := &app{out: &out, getenv: func(string) string { return "" }}
	f := &follower{watcher: watcher{a: a}, told: map[ktrdr.OperationID]ktrdr.Status{}}
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
