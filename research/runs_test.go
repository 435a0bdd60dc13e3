package research

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
)

// diary is a store of one run in memory. It notes what a RunController asks for.
type diary struct {
	run      ktrdr.OpenRun
	finalist *ktrdr.Operation
	second   *ktrdr.Operation          // another finalist
	state    evidence.ExaminationState // that every examination comes to; empty: robust
	scores   []float64                 // of the examinations
	breaks   bool                      // every examination fails
	exams    []ktrdr.Operation         // that were created
	examined []ktrdr.Examined
	tallies  []ktrdr.GenerationTally
	first    ktrdr.Operation
	paused   bool
	batches  int       // that cancelling takes
	holdout  time.Time // where the holdout of every market begins
	holdouts []ktrdr.Holdout
	fails    error

	related FindRelated
	trials  []*ktrdr.NewTrial // of the examinations

	did       []string
	confirmed *ktrdr.NewOperation
	submitted []ktrdr.NewOperation
}

func (d *diary) note(format string, args ...any) { d.did = append(d.did, fmt.Sprintf(format, args...)) }

func (d *diary) OpenRuns(context.Context) ([]ktrdr.OpenRun, error) {
	return []ktrdr.OpenRun{d.run}, d.fails
}

func (d *diary) CancelBatch(context.Context, string) (bool, error) {
	d.note("batch")
	d.batches--
	return d.batches > 0, nil
}

func (d *diary) SettleRun(context.Context, string) error { d.note("settle"); return nil }

func (d *diary) Finalists(context.Context, string, int, int) (list []ktrdr.Operation, err error) {
	for _, f := range []*ktrdr.Operation{d.finalist, d.second} {
		if f != nil {
			list = append(list, *f)
		}
	}
	return list, nil
}

func (d *diary) CloseGeneration(_ context.Context, _ string, g int, confirm *ktrdr.NewOperation, x ...ktrdr.Examined) (bool, error) {
	d.note("close %d", g)
	d.confirmed, d.examined = confirm, x
	return true, nil
}

func (d *diary) TallyGenerations(context.Context, string) ([]ktrdr.GenerationTally, error) {
	return d.tallies, nil
}

func (d *diary) GiveUpRun(_ context.Context, _, why string) (bool, error) {
	d.note("give up: %s", why)
	return true, nil
}

func (d *diary) EndRun(context.Context, string) (bool, error) { d.note("end"); return true, nil }

func (d *diary) List(_ context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
	if slices.Contains(q.Type, ktrdr.Examining) {
		return ktrdr.OperationPage{Operations: d.exams}, nil
	}
	return ktrdr.OperationPage{Operations: []ktrdr.Operation{d.first}}, nil
}

func (d *diary) SubmitAll(_ context.Context, ops []ktrdr.NewOperation, _ []ktrdr.IdempotencyKey) ([]ktrdr.Operation, error) {
	if ops[0].Type == ktrdr.Examining {
		return d.examine(ops), nil
	}
	d.note("start %d", ops[0].Queue.Generation)
	d.submitted = ops
	return nil, nil
}

// examine creates examinations. Asked for them again, it says that they have ended.
func (d *diary) examine(ops []ktrdr.NewOperation) (made []ktrdr.Operation) {
	if len(d.exams) > 0 {
		return d.exams
	}
	d.note("examine %d", len(ops))
	for i, n := range ops {
		op := ktrdr.Operation{
			ID: ktrdr.OperationID(fmt.Sprintf("op_examination_%d", i+1)), Type: n.Type, Spec: n.Spec, Status: ktrdr.Pending,
		}
		made, d.trials = append(made, op), append(d.trials, n.Trial)
		op.Status = ktrdr.Completed
		x := evidence.Examination{State: cmp.Or(d.state, evidence.Robust), Summary: "Fragile: a reason."}
		if i < len(d.scores) {
			x.Score = &d.scores[i]
		}
		if d.breaks {
			op.Status, op.ErrorMessage = ktrdr.Failed, "out of memory"
		} else {
			op.Result, _ = encode(jobs.ExaminationResult{Examination: x})
		}
		d.exams = append(d.exams, op)
	}
	return made
}

// twice advances a run whose finalists are examined in between.
func (d *diary) twice(t *testing.T) []RunStep {
	t.Helper()
	k := NewRunController(d, d.related)
	did, _, err := k.Advance(t.Context(), time.Now())
	if err != nil || len(did) != 1 || did[0].Did != "examining" || d.confirmed != nil {
		t.Fatalf("did %+v, %v; want it to examine", did, err)
	}
	if did, _, err = k.Advance(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	return did
}

func (d *diary) Market(_ context.Context, id string) (ktrdr.Market, error) {
	return ktrdr.Market{ID: id, HoldoutFrom: d.holdout, Holdouts: d.holdouts}, nil
}

func (d *diary) Paused(context.Context) (bool, error) { return d.paused, nil }

// lasting is a run of generations of two until an hour from now.
func lasting(change func(*diary)) *diary {
	now := time.Now()
	d := &diary{run: ktrdr.OpenRun{OldestOpen: -1, NewestAdded: now, Run: ktrdr.Run{
		ID: "run_a", State: ktrdr.RunRunning, Size: 2, Planned: 2, Until: now.Add(time.Hour), Generations: 1, Closed: 0,
		RunCounts: ktrdr.RunCounts{Created: 2},
	}}, tallies: []ktrdr.GenerationTally{{Generation: 0, Researches: 2}}}
	change(d)
	return d
}

func TestKeeper_DoesWhatIsDue(t *testing.T) {
	old := time.Now().Add(-2 * time.Minute)
	failed := func(g, n int) ktrdr.GenerationTally {
		return ktrdr.GenerationTally{Generation: g, Researches: n, Failed: n}
	}
	for name, c := range map[string]struct {
		change func(*diary)
		want   []string
	}{
		"a generation is open":        {func(d *diary) { d.run.OldestOpen = 0 }, nil},
		"a generation has ended":      {func(*diary) {}, []string{"close 0", "start 1"}},
		"two have ended":              {func(d *diary) { d.run.Generations = 2 }, []string{"close 0", "close 1", "start 2"}},
		"the first has ended":         {func(d *diary) { d.run.Generations, d.run.OldestOpen = 2, 1 }, []string{"close 0"}},
		"its time is over":            {func(d *diary) { d.run.Until = old }, []string{"close 0", "end"}},
		"it had a size":               {func(d *diary) { d.run.Until = time.Time{} }, []string{"close 0", "end"}},
		"it is paused":                {func(d *diary) { d.paused = true }, []string{"close 0"}},
		"a confirmation is open":      {func(d *diary) { d.run.Closed, d.run.OldestOpen = 1, 0 }, nil},
		"it is being created":         {func(d *diary) { d.run.Planned = 5 }, nil},
		"its creation was broken off": {func(d *diary) { d.run.Planned, d.run.NewestAdded = 5, old }, []string{"settle", "close 0", "start 1"}},
		"its creation ended long ago": {func(d *diary) { d.run.NewestAdded = old }, []string{"close 0", "start 1"}},
		"it was cancelled": {
			func(d *diary) { d.run.State, d.run.OldestOpen, d.batches = ktrdr.RunCancelled, 0, 3 }, []string{"batch", "batch", "batch", "end"},
		},
		"it was cancelled and is empty": {func(d *diary) { d.run.State = ktrdr.RunCancelled }, []string{"end"}},
		"it was given up":               {func(d *diary) { d.run.State = ktrdr.RunGivenUp }, []string{"end"}},
		"eight failures": {func(d *diary) { d.tallies = []ktrdr.GenerationTally{failed(0, 8)} }, []string{
			"close 0", "give up: all 8 researches of generation 0 failed or were cancelled", "end",
		}},
		"two generations of failures": {func(d *diary) { d.tallies = []ktrdr.GenerationTally{failed(3, 2), failed(4, 2)} }, []string{
			"close 0", "give up: all 2 researches of generation 4 failed or were cancelled", "end",
		}},
		"one generation of few failures": {func(d *diary) {
			d.tallies = []ktrdr.GenerationTally{{Generation: 3, Researches: 2, Failed: 1}, failed(4, 2)}
		}, []string{"close 0", "start 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := lasting(c.change)
			spec := someSpec(t)
			spec.Size, spec.RunPosition, spec.Until = 2, RunPosition{"run_a", 0, 0}, d.run.Until
			d.first.Spec, _ = encode(spec)
			if _, _, err := NewRunController(d, nil).Advance(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(d.did, c.want) {
				t.Errorf("did %q, want %q", d.did, c.want)
			}
			if len(d.submitted) > 0 && (len(d.submitted) != 2 || d.submitted[0].Queue.Run != "run_a" || d.submitted[0].Trial == nil) {
				t.Errorf("submitted %+v", d.submitted)
			}
		})
	}
}

// finalist is a research that passed every check.
func finalist(t *testing.T, spec Spec) *ktrdr.Operation {
	t.Helper()
	z := 3.0
	tr := assessed(t, spec, func(v any) {
		if a, ok := v.(*Assessment); ok {
			a.Finalist, a.Verdict = true, evidence.Promising
			a.Figures = &evidence.Figures{SharpeZ: &z, AlphaZ: &z}
		}
	})
	return &tr.parent
}

func TestKeeper_ConfirmsTheFinalistOfAGeneration(t *testing.T) {
	spec, _ := spanned(t)
	spec.HoldoutFrom = day(100)
	d := lasting(func(d *diary) { d.run.Until, d.finalist = time.Time{}, finalist(t, spec) })
	did := d.twice(t)
	if !slices.Equal(d.did, []string{"examine 1", "close 0"}) {
		t.Fatalf("did %q (%v): want it to wait for the confirmation", d.did, did)
	}
	if x := d.examined; len(x) != 1 || x[0] != (ktrdr.Examined{Research: d.finalist.ID, Operation: "op_examination_1", State: "robust"}) {
		t.Errorf("examined %+v", x)
	}
	n := d.confirmed
	if n == nil || n.Type != ktrdr.AgentConfirm || n.Run != "run_a" || n.Look == nil {
		t.Fatalf("confirms with %+v", n)
	}
	if l := n.Look; l.Kind != ktrdr.LookConfirmation || l.Research != d.finalist.ID || !slices.Equal(l.Markets, []string{"mkt_a"}) {
		t.Errorf("look %+v", l)
	}
	c, err := ktrdr.ParseSpec[ConfirmSpec](n.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if c.Research != d.finalist.ID || !c.From.Equal(spec.HoldoutFrom) || c.Holdout[0].Hash != spec.Holdout[0].Hash ||
		c.Model.SHA256 != mark(40) || c.ResultHash == (ktrdr.Hash{}) {
		t.Errorf("spec %+v", c)
	}
}

func TestKeeper_DoesNotConfirmWhatNamesNoMarket(t *testing.T) {
	spec, _ := spanned(t)
	spec.Markets = nil // an earlier version created it
	d := lasting(func(d *diary) { d.run.Until, d.finalist = time.Time{}, finalist(t, spec) })
	if _, _, err := NewRunController(d, nil).Advance(t.Context(), time.Now()); err != nil || d.confirmed != nil ||
		!slices.Equal(d.did, []string{"close 0", "end"}) {
		t.Errorf("did %q with %+v, %v", d.did, d.confirmed, err)
	}
}

// A finalist that can never be confirmed does not keep its run from ending.
func TestKeeper_ClosesWithoutALookWhatCannotBeConfirmed(t *testing.T) {
	d := lasting(func(d *diary) {
		d.run.Until = time.Time{}
		d.finalist = &ktrdr.Operation{ID: "op_agent_research_1", Spec: json.RawMessage(`{}`)}
	})
	did, _, err := NewRunController(d, nil).Advance(t.Context(), time.Now())
	if err != nil || d.confirmed != nil || !slices.Equal(d.did, []string{"close 0", "end"}) ||
		!strings.Contains(did[0].Why, "op_agent_research_1") {
		t.Errorf("did %q, said %+v, %v", d.did, did, err)
	}
}

// A merge has moved the holdout: what lies before its start now is not opened.
func TestKeeper_ConfirmsOnlyOnBarsThatAreHoldoutNow(t *testing.T) {
	spec, _ := spanned(t) // sealed from day 100 to day 120
	spec.HoldoutFrom = day(100)
	for name, c := range map[string]struct {
		now  time.Time
		want time.Time // zero: not opened
	}{
		"as it was":           {day(100), day(100)},
		"earlier":             {day(90), day(100)},
		"in the middle of it": {day(110), day(110)},
		"after it":            {day(120), time.Time{}},
	} {
		d := lasting(func(d *diary) { d.run.Until, d.finalist, d.holdout = time.Time{}, finalist(t, spec), c.now })
		for range 2 { // it is examined in between
			if _, _, err := NewRunController(d, nil).Advance(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if (d.confirmed == nil) != c.want.IsZero() {
			t.Errorf("%s: confirms with %+v", name, d.confirmed)
			continue
		}
		if d.confirmed == nil {
			continue
		}
		if got, err := ktrdr.ParseSpec[ConfirmSpec](d.confirmed.Spec); err != nil || !got.From.Equal(c.want) {
			t.Errorf("%s: from %v, %v, want %v", name, got.From, err, c.want)
		}
	}
}

// A research keeps the holdout that it was given. That of an assistant, who can read the
// bars before the newest one since, does not.
func TestKeeper_ConfirmsOnTheHoldoutThatTheResearchWasGiven(t *testing.T) {
	spec, _ := spanned(t) // sealed from day 100 to day 120
	spec.HoldoutFrom = day(100)
	for name, c := range map[string]struct {
		wait float64
		want time.Time
	}{
		"of the built-in designer": {0, day(100)},
		"of an assistant":          {60, day(115)},
	} {
		spec.AssistantWait = c.wait
		d := lasting(func(d *diary) { d.run.Until, d.finalist, d.holdout = time.Time{}, finalist(t, spec), day(115) })
		d.holdouts = []ktrdr.Holdout{{From: day(100)}, {From: day(115)}}
		d.twice(t)
		if d.confirmed == nil {
			t.Fatalf("%s: not confirmed", name)
		}
		got, err := ktrdr.ParseSpec[ConfirmSpec](d.confirmed.Spec)
		if err != nil || !got.From.Equal(c.want) || !d.confirmed.Look.Holdout.Equal(c.want) {
			t.Errorf("%s: from %v, %v, look %+v, want %v", name, got.From, err, d.confirmed.Look, c.want)
		}
	}
}

func TestKeeper_TriesAgainWhenTheStoreIsAway(t *testing.T) {
	d := lasting(func(*diary) {})
	d.fails = errors.New("the store is away")
	if _, waits, err := NewRunController(d, nil).Advance(t.Context(), time.Now()); err == nil || !waits {
		t.Errorf("waits %v, %v, want it to be tried again", waits, err)
	}
}

func TestLookHash_KnowsOnlyWhatMatters(t *testing.T) {
	spec, _ := spanned(t)
	spec.HoldoutFrom = day(100)
	op, err := confirmation(finalist(t, spec), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ktrdr.ParseSpec[ConfirmSpec](op.Spec)
	if err != nil {
		t.Fatal(err)
	}
	hash := func(c ConfirmSpec, l evidence.Confirmation) ktrdr.Hash {
		h, err := c.LookHash(&l)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	look := evidence.Confirmation{Before: 2}
	base := hash(c, look)
	elsewhere := c
	elsewhere.Research, elsewhere.RunPosition = "op_agent_research_2", RunPosition{"run_b", 4, 1}
	if hash(elsewhere, look) != base {
		t.Error("the same look in another run has another hash")
	}
	other, later := c, c
	other.Holdout = slices.Clone(c.Holdout)
	other.Holdout[0].Hash = mark(99)
	later.From = later.From.Add(time.Hour)
	for name, h := range map[string]ktrdr.Hash{
		"other bars":     hash(other, look),
		"another start":  hash(later, look),
		"another number": hash(c, evidence.Confirmation{Before: 3}),
		"a claim":        hash(c, evidence.Confirmation{Before: 2, Claim: true}),
	} {
		if h == base {
			t.Errorf("%s has the same hash", name)
		}
	}
}
