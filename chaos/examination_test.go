package chaos_test

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
)

// TestExamination_KilledGivesTheSameNumbers kills the backend with SIGKILL while it examines
// a finalist: as soon as the examination exists, between its units, and when only changed
// strategies and related symbols are left. The examinations are those of an undisturbed lab, and the
// related market counts each of them once.
func TestExamination_KilledGivesTheSameNumbers(t *testing.T) {
	t.Parallel()
	calm := labtest.New(t, labtest.SQLite, labtest.Calm)
	want, trials := examinations(t, calm, -1)
	if len(want) == 0 || trials != len(want) {
		t.Fatalf("undisturbed, there are %d examinations and %d trials on the related market", len(want), trials)
	}
	for name, step := range map[string]int64{"created": 0, "begun": 1, "its splits and folds are made": 19} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
				got, counted := examinations(t, lab, step)
				if len(got) != len(want) || counted != trials {
					t.Fatalf("%d examinations and %d trials on the related market, undisturbed %d and %d", len(got), counted, len(want), trials)
				}
				for hash := range want {
					if !got[hash] {
						t.Errorf("no examination has the result hash %s", hash)
					}
				}
			})
		})
	}
}

// examinations are the hashes of the examinations of a run, and the trials on the related
// market. The backend is killed when the first has made a number of units; -1: never.
func examinations(t *testing.T, lab *labtest.Lab, step int64) (hashes map[string]bool, trials int) {
	t.Helper()
	plant(lab)
	lab.Market("GBPUSD", 4000, 9)
	backend := lab.ServeWith(2)
	run := lab.Research(oneLook, "run").Run
	if step >= 0 {
		for deadline := time.Now().Add(time.Minute); len(ofType(lab, ktrdr.Examining)) == 0; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatal("no finalist is examined")
			}
		}
		lab.Step(ofType(lab, ktrdr.Examining)[0].ID, step)
		backend.Kill()
		lab.ServeWith(2)
	}
	lab.RunEnds(run)
	hashes = map[string]bool{}
	for _, op := range ofType(lab, ktrdr.Examining) {
		var r jobs.ExaminationResult
		if op.Status != ktrdr.Completed || json.Unmarshal(op.Result, &r) != nil {
			t.Fatalf("%s is %s: %s", op.ID, op.Status, op.ErrorMessage)
		}
		hashes[r.ResultHash.String()] = true
		if p := r.Examination.Perturbed; len(p) == 0 || p[len(p)-1].Kind != evidence.PerturbSymbol || p[len(p)-1].Sharpe == nil {
			t.Errorf("%s was not traded on the related symbol: %+v", op.ID, p)
		}
	}
	return hashes, lab.Trials("GBPUSD")
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
