package chaos_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// The test of a run whose backend and worker are killed again and again ends with the
// numbers of one that ran undisturbed, and with those of the same searches in one process.
// Its best strategy is a candidate.
func TestRunTest_KilledGivesTheSameNumbers(t *testing.T) {
	t.Parallel()
	kills := 3
	if soak() {
		kills = 20
	}
	request := oneLook
	request.Fresh = true
	calm := labtest.New(t, labtest.SQLite, labtest.Calm)
	plant(calm)
	calm.ServeWith(2)
	run := calm.Research(request, "tested").Run
	calm.RunEnds(run)
	id := calm.TestRun(run)
	if again := calm.TestRun(run); again != id {
		t.Errorf("the same run again: %s, want %s", again, id)
	}
	want := testResult(t, calm.Ends(id, ktrdr.Completed))
	if !want.Passed || want.P != 1./40 || want.Copies != 39 || want.Before != 0 || want.Threshold != 0.025 {
		t.Errorf("a market with an edge: %+v", want)
	}
	isCandidate(t, calm, want)

	rough := labtest.New(t, labtest.SQLite, labtest.Calm)
	plant(rough)
	backend := rough.ServeWith(1)
	outside := rough.WorkerNamed("outside", string(ktrdr.FactoryPart))
	run = rough.Research(request, "tested").Run
	rough.RunEnds(run)
	id = rough.TestRun(run)
	killed := 0
	for i := range kills {
		searched := int64(i * 30 / kills)
		op := rough.Until(id, 3*time.Minute, fmt.Sprint(searched, " copies"), func(op ktrdr.Operation) bool {
			return op.Status.Terminal() || worlds(rough, id) > searched
		})
		if op.Status.Terminal() {
			break
		}
		killed++
		backend.Kill()
		outside.Kill()
		backend = rough.ServeWith(1)
		outside = rough.WorkerNamed("outside", string(ktrdr.FactoryPart))
	}
	got := testResult(t, rough.Ends(id, ktrdr.Completed))
	if killed < 2 {
		t.Errorf("%d kills before it ended: too few to show anything", killed)
	}
	if got.Hash != want.Hash || got.P != want.P || *got.Score != *want.Score || *got.Luckiest != *want.Luckiest {
		t.Errorf("killed: %+v\nundisturbed: %+v", got, want)
	}
	if out, code := rough.Command("memory", "trials"); code != 0 || strings.Count(out, "EURUSD") != request.Count {
		t.Errorf("copies are in the ledger: %s", out)
	}
}

func testResult(t *testing.T, op ktrdr.Operation) (r research.FactoryTest) {
	t.Helper()
	if err := json.Unmarshal(op.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// isCandidate checks that the commands show the rung of the best strategy of a run, and
// that no other run may be tested in its place.
func isCandidate(t *testing.T, l *labtest.Lab, test research.FactoryTest) {
	t.Helper()
	for _, c := range [][]string{{"memory", "show", string(test.Best)}, {"results", string(test.Best)}} {
		if out, code := l.Command(c...); code != 0 || !strings.Contains(out, "candidate") || !strings.Contains(out, "0.025") {
			t.Errorf("%v: exit code %d:\n%s", c, code, out)
		}
	}
	if out, code := l.Command("runs", "test", test.Run); code != 1 || !strings.Contains(out, "was tested: p = 0.025") {
		t.Errorf("the same run a day later: exit code %d: %s", code, out)
	}
	later := oneLook
	later.Seed = new(uint64(8))
	second := l.Research(later, "remembers").Run
	if out, code := l.Command("runs", "test", second); code != 1 || !strings.Contains(out, "has not ended") {
		t.Errorf("a run that is open: exit code %d: %s", code, out)
	}
	l.RunEnds(second)
	if out, code := l.Command("runs", "test", second); code != 1 || !strings.Contains(out, "--fresh") {
		t.Errorf("a run with memory: exit code %d: %s", code, out)
	}
}
