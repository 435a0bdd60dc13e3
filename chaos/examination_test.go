package chaos_test

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
)

// TestExamination_KilledGivesTheSameNumbers kills the backend with SIGKILL while it examines
// a finalist. The examinations are those of an undisturbed lab.
func TestExamination_KilledGivesTheSameNumbers(t *testing.T) {
	t.Parallel()
	examinations := func(lab *labtest.Lab, kill bool) map[string]bool {
		plant(lab)
		backend := lab.ServeWith(2)
		run := lab.Research(oneLook, "run").Run
		if kill {
			for deadline := time.Now().Add(time.Minute); len(ofType(lab, ktrdr.Examining)) == 0; runtime.Gosched() {
				if time.Now().After(deadline) {
					t.Fatal("no finalist is examined")
				}
			}
			lab.Step(ofType(lab, ktrdr.Examining)[0].ID, 1)
			backend.Kill()
			lab.ServeWith(2)
		}
		lab.RunEnds(run)
		hashes := map[string]bool{}
		for _, op := range ofType(lab, ktrdr.Examining) {
			var r jobs.ExaminationResult
			if op.Status != ktrdr.Completed || json.Unmarshal(op.Result, &r) != nil {
				t.Fatalf("%s is %s: %s", op.ID, op.Status, op.ErrorMessage)
			}
			hashes[r.ResultHash.String()] = true
		}
		return hashes
	}
	want := examinations(labtest.New(t, labtest.SQLite, labtest.Calm), false)
	got := examinations(labtest.New(t, labtest.SQLite, labtest.Calm), true)
	if len(want) == 0 || len(got) != len(want) {
		t.Fatalf("%d examinations, undisturbed %d", len(got), len(want))
	}
	for hash := range want {
		if !got[hash] {
			t.Errorf("no examination has the result hash %s", hash)
		}
	}
}

// ofType lists the operations of a type that have no parent.
func ofType(lab *labtest.Lab, want ktrdr.Type) (list []ktrdr.Operation) {
	for _, op := range lab.Roots() {
		if op.Type == want {
			list = append(list, lab.Op(op.ID))
		}
	}
	return list
}
