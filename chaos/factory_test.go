package chaos_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
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
	want := testResult(t, copiesEnd(calm, id))
	if !want.Passed || want.P != 1./40 || want.Copies != 39 || want.Before != 0 || want.Threshold != 0.025 {
		t.Errorf("a market with an edge: %+v", want)
	}
	isCandidate(t, calm, want)
	sameInProcess(t, calm, id)

	rough := labtest.New(t, labtest.SQLite, labtest.Calm)
	plant(rough)
	backend := rough.ServeWith(1)
	outside := rough.WorkerNamed("outside", string(ktrdr.FactoryPart))
	run = rough.Research(request, "tested").Run
	rough.RunEnds(run)
	id = rough.TestRun(run)
	killed, parts := 0, partsOf(rough, id)
	for ; killed < kills && parts.further(); killed++ {
		backend.Kill()
		outside.Kill()
		backend = rough.ServeWith(1)
		outside = rough.WorkerNamed("outside", string(ktrdr.FactoryPart))
	}
	got := testResult(t, copiesEnd(rough, id))
	if killed < 2 {
		t.Errorf("%d kills before it ended: too few to show anything", killed)
	}
	if got.Hash != want.Hash || got.P != want.P || got.Summary != want.Summary {
		t.Errorf("killed: %+v\nundisturbed: %+v", got, want)
	}
	if out, code := rough.Command("memory", "trials"); code != 0 || strings.Count(out, "EURUSD") != request.Count {
		t.Errorf("copies are in the ledger: %s", out)
	}
}

// parts are the parts of a search of copies that is killed again and again. Each has to get further
// between two kills: after three in vain the program gives it up as what kills its workers.
type parts struct {
	lab    *labtest.Lab
	parent ktrdr.OperationID
	steps  map[ktrdr.OperationID]int64 // at the last kill
}

func partsOf(l *labtest.Lab, parent ktrdr.OperationID) *parts {
	return &parts{l, parent, map[ktrdr.OperationID]int64{}}
}

// further waits until the parts that run have searched at least one more copy each. It is false
// when the search has ended.
func (p *parts) further() bool {
	var now map[ktrdr.OperationID]int64
	op := p.lab.Until(p.parent, 3*time.Minute, "further", func(op ktrdr.Operation) bool {
		now = map[ktrdr.OperationID]int64{}
		running, ok := 0, true
		for _, c := range p.lab.Children(p.parent) {
			if now[c.ID] = c.Progress.StepsCompleted; c.Status == ktrdr.Running {
				running++
				ok = ok && now[c.ID] > p.steps[c.ID]
			}
		}
		return op.Status.Terminal() || ok && running > 0
	})
	p.steps = now
	return !op.Status.Terminal()
}

// copiesEnd waits for searches of copies: on a machine that has other work they take longer than other operations.
func copiesEnd(l *labtest.Lab, id ktrdr.OperationID) ktrdr.Operation {
	l.Until(id, 5*time.Minute, "ended", func(op ktrdr.Operation) bool { return op.Status.Terminal() })
	return l.Ends(id, ktrdr.Completed)
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
	line := "p = 0.025 after 39 copies, at most 0.025 is allowed: " + test.Best.Tail() + " is a candidate"
	for _, c := range [][]string{
		{"memory", "show", string(test.Best)},
		{"results", string(test.Best)},
		{"report", "--run", test.Run},
		{"status", test.Run},
	} {
		if out, code := l.Command(c...); code != 0 || !strings.Contains(out, line) || c[0] != "report" && c[0] != "status" &&
			!strings.Contains(out, "✔ candidate (p = 0.025)") {
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

// A run that asks for its test has one when it ends, also if the backend dies on the way. A
// run without a finalist needs no copies. The run before it that could have been tested counts.
func TestRunTest_IsMadeWhenTheRunEnds(t *testing.T) {
	t.Parallel()
	l := labtest.New(t, labtest.SQLite, labtest.Calm)
	l.Market("EURUSD", 3000, 11)
	backend := l.ServeWith(2)
	request := research.Request{Symbols: []string{"EURUSD"}, Count: 2, Seed: new(uint64(8)), Fresh: true}
	l.RunEnds(l.Research(request, "could-be-tested").Run)
	request.Fresh = false
	l.RunEnds(l.Research(request, "remembers").Run)
	request.Seed, request.Fresh, request.Test = new(uint64(7)), true, true
	run := l.Research(request, "tests-itself").Run
	backend.Kill()
	l.ServeWith(2)
	l.RunEnds(run)
	r := testResult(t, l.Ends(l.Only(ktrdr.FactoryTest), ktrdr.Completed))
	if r.Run != run || r.P != 1 || r.Copies != 0 || r.Best != "" || r.Passed || r.Before != 1 || r.Threshold != 0.05/6 {
		t.Errorf("the test of %s: %+v", run, r)
	}
	if kept := l.Run(run).Test; kept.EndedAt.IsZero() || *kept.P != 1 || kept.Operation != l.Only(ktrdr.FactoryTest) {
		t.Errorf("its row says %+v", kept)
	}
	if out, code := l.Command("research", "--symbol", "EURUSD", "--test"); code == 0 || !strings.Contains(out, "add --fresh") {
		t.Errorf("with memory: exit code %d: %s", code, out)
	}
}

// sameInProcess checks that the first copies have the scores of the same searches in this
// process.
func sameInProcess(t *testing.T, l *labtest.Lab, id ktrdr.OperationID) {
	t.Helper()
	spec, err := ktrdr.ParseSpec[research.FactoryTestSpec](l.Op(id).Spec)
	if err != nil {
		t.Fatal(err)
	}
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 4000, Seed: 1, Edge: 0.8})
	w, err := factory.Split([]*market.Bars{bars}, 0)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, c := range l.Children(id) {
		var part research.FactoryPart
		if err := json.Unmarshal(c.Result, &part); err != nil {
			t.Fatal(err)
		}
		for i, got := range part.Scores[:min(len(part.Scores), 2)] {
			if part.From > 4 {
				continue
			}
			out, err := factory.SearchCopy(t.Context(), w, spec.Search, factory.Settings{Researches: len(spec.Researches), Before: spec.Others()},
				research.Flips, spec.CopySeed(part.From+i))
			if err != nil {
				t.Fatal(err)
			}
			want := out.Statistic()
			if (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("copy %d: score %v, want %v", part.From+i+1, got, want)
			}
			compared++
		}
	}
	if compared < 3 {
		t.Errorf("%d copies were compared", compared)
	}
}
