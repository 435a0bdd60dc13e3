package research

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
)

// testSpec is the test of a run of two researches, the first on its market, with 39 copies.
func testSpec(t testing.TB) FactoryTestSpec {
	t.Helper()
	s := someSpec(t)
	s.Holdout, s.Sealed = nil, nil
	return FactoryTestSpec{
		Search: s, Researches: []Tested{{Operation: "op_a"}, {Operation: "op_b"}}, Null: Flips, Seed: 1, Copies: CopyCounts{Most: 39, Stop: 1},
		Version: FactoryVersion,
	}
}

// testRun is a parent and its children, moved by the plan.
type testRun struct {
	t        *testing.T
	parent   ktrdr.Operation
	children []ktrdr.Operation
}

func newTestRun(t *testing.T, s FactoryTestSpec) *testRun {
	t.Helper()
	text, err := encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return &testRun{t: t, parent: ktrdr.Operation{ID: "op_test", Type: ktrdr.FactoryTest, Spec: text, Priority: -10}}
}

// next asks the plan and creates what it wants.
func (x *testRun) next(why ktrdr.Why) ktrdr.Decision {
	x.t.Helper()
	d, err := factoryPlan{}.Next(x.parent, x.children, why)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, n := range d.Create {
		if n.Priority != x.parent.Priority {
			x.t.Errorf("a part has priority %d", n.Priority)
		}
		x.children = append(x.children, ktrdr.Operation{
			ID: ktrdr.OperationID(fmt.Sprintf("op_part_%d", n.Ordinal)), Status: ktrdr.Pending, Spec: n.Spec, Ordinal: n.Ordinal,
		})
	}
	return d
}

// run ends open parts, the last first, until the test has ended. score gives that of a
// copy; -1 that of the real bars.
func (x *testRun) run(score func(int) *float64) FactoryTest {
	x.t.Helper()
	for why := ktrdr.WhyCreated; ; why = ktrdr.WhyChild {
		d := x.next(why)
		if d.Finish != nil {
			var r FactoryTest
			if err := json.Unmarshal(d.Finish.Result, &r); err != nil {
				x.t.Fatalf("%+v: %v", d.Finish, err)
			}
			return r
		}
		open := 0
		for i := len(x.children) - 1; i >= 0; i-- {
			c := &x.children[i]
			if c.Status != ktrdr.Pending {
				continue
			}
			open++
			part, err := ktrdr.ParseSpec[FactoryPartSpec](c.Spec)
			if err != nil {
				x.t.Fatal(err)
			}
			end := FactoryPart{From: part.From}
			if part.Real {
				end.Real = &RealScore{Score: score(-1), Best: 1}
			}
			for k := part.From; k < part.To; k++ {
				end.Scores = append(end.Scores, score(k))
			}
			c.Status, c.Result = ktrdr.Completed, mustJSON(x.t, end)
			if d := x.next(ktrdr.WhyChild); d.Finish != nil {
				if open < 1 {
					x.t.Error("it ended while parts are open")
				}
				return x.run(score)
			}
		}
		if open == 0 {
			x.t.Fatal("nothing is open and nothing follows")
		}
	}
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Whatever the order in which parts end, the ranks are those of copies drawn one by one.
func TestFactoryPlan_RanksAsOneByOne(t *testing.T) {
	for name, c := range map[string]struct {
		copies CopyCounts
		score  func(int) *float64
	}{
		"nothing reaches it":         {CopyCounts{39, 1}, func(i int) *float64 { return new(-float64(i)) }},
		"the third reaches it":       {CopyCounts{39, 1}, twoIf(func(i int) bool { return i == 2 || i == -1 })},
		"the last of 199 reaches it": {CopyCounts{199, 5}, twoIf(func(i int) bool { return i == 198 || i == -1 })},
		"every tenth reaches it":     {CopyCounts{199, 5}, twoIf(func(i int) bool { return i%10 == 9 || i == -1 })},
		"no copy has a finalist": {CopyCounts{39, 1}, func(i int) *float64 {
			if i >= 0 {
				return nil
			}
			return new(0.1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSpec(t)
			s.Copies = c.copies
			got := newTestRun(t, s).run(c.score)
			want := evidence.Sequential{Most: c.copies.Most, Stop: c.copies.Stop}
			for i := 0; !want.Done(); i++ {
				want.Draw(evidence.Reached(c.score(i), c.score(-1)))
			}
			if got.P != *want.P() || got.Copies != want.Copies || got.Reached != want.Reached {
				t.Errorf("p %v of %d copies, %d reached it; want %v of %+v", got.P, got.Copies, got.Reached, *want.P(), want)
			}
			if passed := *want.P() <= 0.025 && *c.score(-1) > 0; got.Passed != passed || got.Best != "op_b" {
				t.Errorf("passed %v with best %s, want %v with op_b", got.Passed, got.Best, passed)
			}
		})
	}
}

// The result is the same when the test is asked again and again on the way.
func TestFactoryPlan_AskedAgainItDecidesNothingMore(t *testing.T) {
	x := newTestRun(t, testSpec(t))
	if d := x.next(ktrdr.WhyCreated); len(d.Create) != 1 {
		t.Fatalf("%d parts at first, want that of the real bars", len(d.Create))
	}
	for range 3 {
		if d := x.next(ktrdr.WhyReconcile); len(d.Create) > 0 || d.Finish != nil {
			t.Fatalf("asked again: %+v", d)
		}
	}
}

func TestFactoryPlan_ARunWithoutAFinalistHasPOne(t *testing.T) {
	r := newTestRun(t, testSpec(t)).run(func(int) *float64 { return nil })
	if r.P != 1 || r.Passed || r.Best != "" || r.Copies != 0 || !strings.Contains(r.Summary, "no finalist") {
		t.Errorf("%+v", r)
	}
}

func TestFactoryPlan_ADeadPartEndsItAndIsResumed(t *testing.T) {
	x := newTestRun(t, testSpec(t))
	x.next(ktrdr.WhyCreated)
	x.children[0].Status, x.children[0].ErrorMessage = ktrdr.Failed, "the disk is full"
	d := x.next(ktrdr.WhyChild)
	if d.Finish == nil || d.Finish.Outcome != ktrdr.Failed || !strings.Contains(d.Finish.ErrorMessage, "the disk is full") {
		t.Errorf("%+v, want FAILED with the reason", d.Finish)
	}
	if d := x.next(ktrdr.WhyResumed); len(d.Resume) != 1 || d.Resume[0] != x.children[0].ID {
		t.Errorf("resumed: %+v", d)
	}
}

func TestFactoryTestSpec_RefusesWhatCannotBeSearched(t *testing.T) {
	for want, change := range map[string]func(*FactoryTestSpec){
		"names no run":               func(s *FactoryTestSpec) { s.Search.Run = "" },
		"has 0 researches":           func(s *FactoryTestSpec) { s.Researches = nil },
		"the holdout is no part":     func(s *FactoryTestSpec) { s.Search.Holdout = []jobs.Bars{{}} },
		"built-in designer only":     func(s *FactoryTestSpec) { s.Search.Model = "gpt" },
		"there is no null \"coins\"": func(s *FactoryTestSpec) { s.Null = "coins" },
		"it stops after 1 or more":   func(s *FactoryTestSpec) { s.Copies = CopyCounts{} },
		"this program has":           func(s *FactoryTestSpec) { s.Version = "0" },
	} {
		s := testSpec(t)
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// A test that has ended says the same in the row of its run.
func TestTested_IsWhatTheRowOfTheRunKeeps(t *testing.T) {
	r := newTestRun(t, testSpec(t)).run(func(i int) *float64 { return new(-float64(i)) })
	e := tested(ktrdr.Operation{Result: mustJSON(t, r)})
	if e.Tested == nil || e.Tested.Run != r.Run || *e.Tested.P != r.P || e.Tested.Best != "op_b" || !e.Tested.Passed || e.Tested.Copies != 39 {
		t.Errorf("%+v of %+v", e.Tested, r)
	}
	if e := tested(ktrdr.Operation{Result: json.RawMessage("[]")}); e.Tested != nil {
		t.Errorf("of a result that cannot be read: %+v", e)
	}
}

// rivals is a store with runs, in the order of their creation.
type rivals struct {
	TestStore
	runs  []ktrdr.Run
	specs map[string]Spec
	notes []ktrdr.Note
}

func (s rivals) Runs(context.Context, ktrdr.RunQuery) (ktrdr.RunPage, error) {
	return ktrdr.RunPage{Runs: s.runs}, nil
}

func (s rivals) List(_ context.Context, q ktrdr.OperationQuery) (page ktrdr.OperationPage, err error) {
	text, err := encode(s.specs[q.Run])
	page.Operations = []ktrdr.Operation{{ID: "op_first", Spec: text}}
	return page, err
}

func (s rivals) Market(_ context.Context, id string) (ktrdr.Market, error) {
	if id == "mkt_old" {
		id = "mkt_a" // it was merged
	}
	return ktrdr.Market{ID: id}, nil
}

func (s rivals) Notes(_ context.Context, q ktrdr.NoteQuery) (page ktrdr.NotePage, err error) {
	if q.Kind == NoteExperiment && q.Horizon == "later" {
		page.Notes = s.notes
	}
	return page, nil
}

// A run that is chosen among many for its result is not tested as the first of them.
func TestTester_CountsTheRunsThatCouldHaveBeenTested(t *testing.T) {
	s := rivals{specs: map[string]Spec{}}
	note, err := json.Marshal(Experiment{Name: "known", Status: OutcomeCompleted})
	if err != nil {
		t.Fatal(err)
	}
	s.notes = []ktrdr.Note{{Kind: NoteExperiment, Run: "another", Key: "another/0", Data: note}}
	add := func(id string, state ktrdr.RunState, change func(*Spec)) {
		spec := someSpec(t)
		spec.Run, spec.Horizon, spec.Markets = id, "", []SymbolMarket{{Symbol: "EURUSD", Market: "mkt_a"}}
		change(&spec)
		s.specs[id] = spec
		s.runs = append(s.runs, ktrdr.Run{
			ID: id, State: state, Request: json.RawMessage(fmt.Sprintf(`{"fresh":%v}`, spec.Horizon == "")),
		})
	}
	add("run_fresh", ktrdr.RunCompleted, func(*Spec) {})
	add("run_cancelled", ktrdr.RunCancelled, func(*Spec) {})
	add("run_merged", ktrdr.RunCompleted, func(s *Spec) { s.Markets[0].Market = "mkt_old" })
	add("run_without_notes", ktrdr.RunCompleted, func(s *Spec) { s.Horizon = "first" })
	add("run_elsewhere", ktrdr.RunCompleted, func(s *Spec) { s.Markets[0].Market = "mkt_b" })
	add("run_of_a_model", ktrdr.RunCompleted, func(s *Spec) { s.Model = "gpt" })
	add("run_remembers", ktrdr.RunCompleted, func(s *Spec) { s.Horizon = "later" })
	add("run_remembers_too", ktrdr.RunCompleted, func(s *Spec) { s.Horizon = "later" })
	add("run_open", ktrdr.RunRunning, func(*Spec) {})
	add("run_tested", ktrdr.RunCompleted, func(*Spec) {})
	add("run_after", ktrdr.RunCompleted, func(*Spec) {})
	for id, want := range map[string]int{"run_fresh": 0, "run_cancelled": 1, "run_elsewhere": 4, "run_tested": 5, "run_after": 6} {
		if got, err := (Tester{s}).before(t.Context(), &ktrdr.Run{ID: id}, []SymbolMarket{{Market: "mkt_a"}}); err != nil || got != want {
			t.Errorf("%s: %d before it, %v; want %d", id, got, err, want)
		}
	}
}

// A run whose request asked for it is tested before it ends, so that a crash between the
// two loses nothing. What can never be tested does not keep the run from ending.
func TestKeeper_TestsARunBeforeItEnds(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		err     error
		did     []string
		why     string
		fails   bool
	}{
		"asked for":     {`{"test":true}`, nil, []string{"close 0", "test run_a", "end"}, "", false},
		"not asked for": {`{"fresh":true}`, nil, []string{"close 0", "end"}, "", false},
		"no request":    {"", nil, []string{"close 0", "end"}, "", false},
		"it cannot be tested": {
			`{"test":true}`, refused("a research failed"),
			[]string{"close 0", "test run_a", "end"},
			"a research failed", false,
		},
		"the database is away": {`{"test":true}`, ktrdr.Errorf(ktrdr.CodeUnavailable, "away"), []string{"close 0", "test run_a"}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := lasting(func(d *diary) { d.run.Until, d.run.Request = time.Time{}, json.RawMessage(c.request) })
			k := NewRunController(d, nil)
			k.Test = func(_ context.Context, run ktrdr.Run) error {
				d.note("test %s", run.ID)
				return c.err
			}
			did, _, err := k.Advance(t.Context(), time.Now())
			if (err != nil) != c.fails || !slices.Equal(d.did, c.did) {
				t.Errorf("did %q, %v; want %q", d.did, err, c.did)
			}
			said := ""
			for _, step := range did {
				said += step.Why
			}
			if said != c.why {
				t.Errorf("said %q, want %q", said, c.why)
			}
		})
	}
}

// twoIf scores 2 where reached says so, and 0 elsewhere.
func twoIf(reached func(i int) bool) func(i int) *float64 {
	return func(i int) *float64 {
		if reached(i) {
			return new(2.0)
		}
		return new(0.0)
	}
}
