package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/research"
)

// What `ops --json` says of an operation is what the operation has. What a list leaves out
// is left out, and is not 0.
func TestOps_JSONIsWhatTheOperationHas(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "1")
	l.finished("dummy", "--steps", "7", "--step-ms", "1", "--priority", "3")
	for _, args := range [][]string{{"ops", "--json"}, {"ops", "--json", "--all"}} {
		rows := decode[[]map[string]any](t, l.must(args...))
		if len(rows) != 1 {
			t.Fatalf("%d rows, want one", len(rows))
		}
		id, _ := rows[0]["operation_id"].(string)
		full := decode[map[string]any](t, l.must("status", id, "--json"))
		differ(t, "", rows[0], full)
		progress, _ := rows[0]["progress"].(map[string]any)
		if rows[0]["priority"] != 3.0 || progress["steps_completed"] != 7.0 || progress["steps_total"] != 7.0 {
			t.Errorf("the row says priority %v and %v of %v steps, want 3, 7 and 7", rows[0]["priority"], progress["steps_completed"],
				progress["steps_total"])
		}
	}
	if none := l.must("ops", "--json", "--type", "training"); strings.TrimSpace(none) != "[]" {
		t.Errorf("a list of none is %s", none)
	}
}

// differ compares what both have.
func differ(t *testing.T, where string, row, full map[string]any) {
	t.Helper()
	for name, v := range row {
		part, deep := v.(map[string]any)
		other, same := full[name]
		if sub, ok := other.(map[string]any); deep && ok {
			differ(t, where+name+".", part, sub)
			continue
		}
		a, _ := json.Marshal(v)
		if b, _ := json.Marshal(other); same && string(a) != string(b) {
			t.Errorf("%s%s is %s in the list, and the operation has %s", where, name, a, b)
		}
		if !same && name != "resumable" { // which the list derives
			t.Errorf("%s%s is in the list only", where, name)
		}
	}
}

// Where only a run can be meant, its id needs no run_.
func TestRuns_AreNamedWithoutTheirPrefix(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "SYNTH", "--timeframe", "1h", "--bars", "3000")
	l.serve("--workers", "0", "--agents", "0")
	run := decode[research.Triggered](t, l.must("research", "trend on SYNTH 1h", "--json")).Run
	for _, id := range []string{run, run[:len("run_")+6], strings.TrimPrefix(run, "run_"), strings.TrimPrefix(run, "run_")[:6]} {
		l.refused(exitFailed, "has not ended", "runs", "test", id)
		if list := l.must("ops", "--run", id); !strings.Contains(list, "agent_research") {
			t.Errorf("ops --run %s:\n%s", id, list)
		}
	}
	l.refused(exitUsage, "run_0000000", "runs", "test", "0000000")
}
