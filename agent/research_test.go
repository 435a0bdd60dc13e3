package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/worker"
)

// edge is a market in which something is to be found.
var edge = market.SynthConfig{Symbol: "EURUSD", Bars: 4000, Seed: 1, Edge: 0.8}

var sixResearches = research.Request{Brief: "mean reversion on EURUSD, simple", Count: 6, Run: "night"}

func seeded(t research.Request) research.Request {
	t.Seed = new(uint64(7))
	return t
}

func TestResearch_FromTheBriefToTheLook(t *testing.T) {
	l := newLab(t, edge, nil)
	var hidden ktrdr.Hash
	finalists := map[int]int{} // by generation
	for _, id := range l.trigger(seeded(sixResearches)) {
		r := l.result(id)
		op, err := l.Operation(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := ktrdr.ParseSpec[research.Spec](op.Spec)
		if err != nil {
			t.Fatal(err)
		}
		hidden = spec.Holdout[0].SHA256
		if r.ResultHash == (ktrdr.Hash{}) || r.StrategyName == "" || r.Verdict == "" || r.Summary == "" || op.Session == 0 ||
			op.Phase != string(research.Done) {
			t.Errorf("%s: %+v", id, r)
		}
		if op.Trials != 6 || r.Figures != nil && r.Figures.Trials != 0 && r.Figures.Trials != 6 {
			t.Errorf("%d trials are counted against %s, want all 6 of its run", op.Trials, id)
		}
		if r.Rung == ktrdr.RungFinalist {
			finalists[r.Generation]++
		}
		var kinds []ktrdr.Type
		for _, c := range l.children(id) {
			kinds = append(kinds, c.Type)
			if c.Type == ktrdr.AgentAssessment {
				checkAssessment(t, c)
			}
		}
		want := []ktrdr.Type{ktrdr.AgentDesign, ktrdr.Training, ktrdr.Backtesting, ktrdr.AgentAssessment}
		if r.Figures == nil {
			want = slices.Delete(want, 2, 3)
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("%s has children %v, want %v", id, kinds, want)
		}
		if c := op.Checkpoint; c == nil || c.Type != ktrdr.CheckpointFinal {
			t.Errorf("%s: last checkpoint %+v, want the final one", id, c)
		}
	}
	run := l.runEnds("night")
	looks := l.looks("night")
	if run.State != ktrdr.RunCompleted || run.Created != 6 || run.Open != 0 || run.Looks != len(looks) || run.Claims == 0 {
		t.Errorf("run %+v, want it completed, with a claim on a market that hides nothing", run)
	}
	if len(looks) != len(finalists) || len(looks) == 0 {
		t.Errorf("%d looks for generations with finalists %v, want one each", len(looks), finalists)
	}
	for i, look := range looks {
		if look.Before != i || len(look.Markets) != 1 || look.Markets[0].Number != i+1 || look.P == nil || look.Hash == (ktrdr.Hash{}) {
			t.Errorf("look %d: %+v", i, look)
		}
		if want := min(1, *look.P*float64(evidence.LookFactor(i))); *look.Adjusted != want {
			t.Errorf("look %d pays %v, want %v", i, *look.Adjusted, want)
		}
	}
	if n := l.blobs.times(hidden); n != len(looks) {
		t.Errorf("the holdout was read %d times for %d looks", n, len(looks))
	}
	if n := len(l.notes(research.NoteExperiment)); n != 6 {
		t.Errorf("%d experiments, want 6", n)
	}
}

func checkAssessment(t *testing.T, op ktrdr.Operation) {
	t.Helper()
	var a research.Assessment
	if err := json.Unmarshal(op.Result, &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Strengths) == 0 || len(a.Weaknesses) == 0 || a.Summary == "" || a.Verdict == "" || len(a.Hypotheses) == 0 {
		t.Errorf("assessment %+v lacks something", a)
	}
	for _, r := range a.Reasons {
		if a.Finalist && !r.Passed {
			t.Errorf("a finalist although %s", r.Text)
		}
	}
	if a.Finalist && a.Verdict != evidence.Promising {
		t.Errorf("a finalist that is %s", a.Verdict)
	}
}

func TestResearch_WhereThereIsNothingNothingIsClaimed(t *testing.T) {
	l := newLab(t, market.SynthConfig{Symbol: "EURUSD", Bars: 4000, Seed: 1}, nil)
	for _, id := range l.trigger(seeded(sixResearches)) {
		l.result(id)
		for _, c := range l.children(id) {
			if c.Type == ktrdr.AgentAssessment {
				checkAssessment(t, c)
			}
		}
	}
	if run := l.runEnds("night"); run.Claims != 0 || run.Looks > 2 {
		t.Errorf("run %+v on a market without an edge", run)
	}
}

// A research that is resumed after its generation's look is not opened.
func TestResearch_ResumedAfterTheLookIsNotOpened(t *testing.T) {
	var fails atomic.Bool
	fails.Store(true)
	l := newLab(t, edge, func(l *lab) {
		l.inject = func(op ktrdr.Operation) string {
			if fails.Load() && op.Type == ktrdr.Training && strings.Contains(string(op.Metadata), `"index":2`) {
				return "fail"
			}
			return ""
		}
	})
	one := sixResearches
	one.Count = 3
	ids := l.trigger(seeded(one))
	if op := l.await(ids[2], ended); op.Status != ktrdr.Failed {
		t.Fatalf("the third ended %s, want FAILED", op.Status)
	}
	if run := l.runEnds("night"); run.Looks != 1 || run.Failed != 1 {
		t.Fatalf("run %+v, want one look and one failure", run)
	}
	fails.Store(false)
	if _, err := l.Resume(t.Context(), ids[2]); err != nil {
		t.Fatal(err)
	}
	l.result(ids[2])
	if n := len(l.looks("night")); n != 1 {
		t.Errorf("%d looks after the resume, want 1", n)
	}
	if run := l.runEnds("night"); run.Failed != 0 || run.Open != 0 || run.Completed+run.Rejected != 3 {
		t.Errorf("run %+v, want the resumed research to be counted as it ended", run)
	}
}

// A confirmation that failed is resumed under the number of its look.
func TestConfirmation_ResumedKeepsItsNumber(t *testing.T) {
	var fails atomic.Bool
	fails.Store(true)
	l := newLab(t, edge, func(l *lab) {
		l.inject = func(op ktrdr.Operation) string {
			if fails.Load() && op.Type == ktrdr.AgentConfirm {
				return "fail"
			}
			return ""
		}
	})
	one := sixResearches
	one.Count = 3
	l.trigger(seeded(one))
	run := l.runEnds("night")
	looks := l.looks("night")
	if len(looks) != 1 || !looks[0].EndedAt.IsZero() || run.Looks != 1 {
		t.Fatalf("looks %+v, want one that has not ended", looks)
	}
	id := looks[0].Operation
	if op := l.await(id, ended); op.Status != ktrdr.Failed {
		t.Fatalf("the confirmation is %s", op.Status)
	}
	if _, err := l.Retry(t.Context(), id, ktrdr.IdempotencyKey{}); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
		t.Errorf("retry: %v, want it refused", err)
	}
	fails.Store(false)
	if _, err := l.Resume(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	l.await(id, func(op ktrdr.Operation) bool { return op.Status == ktrdr.Completed })
	after := l.looks("night")
	if len(after) != 1 || after[0].EndedAt.IsZero() || after[0].P == nil || after[0].Markets[0] != looks[0].Markets[0] {
		t.Errorf("looks %+v, want the same number, ended", after)
	}
	var told research.Confirmation
	if err := json.Unmarshal(after[0].Result, &told); err != nil || told.Daily == nil {
		t.Fatalf("the look keeps no daily returns: %v", err)
	}
	days, err := told.Daily.List()
	if err != nil {
		t.Fatal(err)
	}
	grown := 1.0
	for _, d := range days {
		grown *= 1 + float64(d.Return)
	}
	if want := told.Look.Holdout.Return; math.Abs(grown-1-want) > 1e-4 {
		t.Errorf("the daily returns of the holdout make %v of it, want %v", grown-1, want)
	}
}

// Strategies that people wrote: a regression, two timeframes, two symbols.
func TestResearch_OfAGivenStrategy(t *testing.T) {
	l := newLab(t, market.SynthConfig{Symbol: "EURUSD", Bars: 4000, Seed: 1, Edge: 0.4}, nil)
	l.add(market.SynthConfig{Symbol: "GBPUSD", Bars: 4000, Seed: 2, Edge: 0.4})
	hours, err := l.library.Get(t.Context(), "EURUSD", market.H1)
	if err != nil {
		t.Fatal(err)
	}
	long, err := market.Resample(hours, market.H4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.library.Import(t.Context(), library.Import{Bars: long, Origin: ktrdr.BarsResampled}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"return_regression", "trend_two_timeframes", "lstm_momentum"} {
		var text string
		for _, e := range strategy.Examples() {
			if e.Name == name {
				text = regexp.MustCompile(`\n  epochs: \d+`).ReplaceAllString(string(e.Source), "\n  epochs: 4")
			}
		}
		id := l.trigger(research.Request{StrategyYAML: text, BypassGates: true, Seed: new(uint64(1)), Force: true})[0]
		r := l.result(id)
		if r.Outcome != research.OutcomeCompleted || r.StrategyName != name || r.Figures == nil {
			t.Errorf("%s: %+v", name, r)
		}
		t.Logf("%s: %s", name, r.Summary)
		children := l.children(id)
		if len(children) != 3 || children[0].Type != ktrdr.Training {
			t.Errorf("%s: children %+v, want no design", name, children)
		}
		checkAssessment(t, children[len(children)-1])
	}
}

// ledger is what a run came to, by place.
func (l *lab) ledger(run string) (lines []string) {
	l.t.Helper()
	for _, n := range l.notes(research.NoteExperiment) {
		var e research.Experiment
		if err := json.Unmarshal(n.Data, &e); err != nil {
			l.t.Fatal(err)
		}
		if n.Run == run {
			lines = append(lines, n.Key+" "+e.Name+" "+e.ResultHash.String())
		}
	}
	for _, look := range l.looks(run) {
		lines = append(lines, fmt.Sprintf("look %d of generation %d: %s", look.Before+1, look.Generation, look.Hash))
	}
	return lines
}

// A run that is stopped again and again comes to what an undisturbed one does.
func TestResearch_StoppedEqualsUndisturbed(t *testing.T) {
	calm := newLab(t, edge, nil)
	for _, id := range calm.trigger(seeded(sixResearches)) {
		calm.result(id)
	}
	calm.runEnds("night")
	rough := newLab(t, edge, nil)
	ids := rough.trigger(seeded(sixResearches))
	for i, id := range ids {
		if i%2 == 0 {
			rough.await(id, func(op ktrdr.Operation) bool { return op.Status != ktrdr.Pending })
			rough.stop()
			rough.open()
		}
		rough.await(id, ended)
	}
	for _, id := range ids {
		rough.result(id)
	}
	rough.runEnds("night")
	got, want := rough.ledger("night"), calm.ledger("night")
	if !slices.Equal(got, want) || len(want) <= 6 {
		t.Errorf("stopped:\n%s\nundisturbed:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// witness sees what designers are told.
type witness struct {
	agent.Memory
	mu   sync.Mutex
	told map[int][]designer.Experiment
}

func (w *witness) Recall(ctx context.Context, v research.View) (research.Past, error) {
	past, err := w.Memory.Recall(ctx, v)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[v.Generation] = past.Experiments
	return past, err
}

func TestResearch_GenerationsSeeExactlyTheEarlierOnes(t *testing.T) {
	w := &witness{told: map[int][]designer.Experiment{}}
	l := newLab(t, edge, func(l *lab) { l.tells = w })
	w.Memory = research.NewMemory(l.store)
	first := sixResearches
	first.Run, first.Count = "before", 2
	for _, id := range l.trigger(seeded(first)) {
		l.result(id)
	}
	for _, id := range l.trigger(seeded(sixResearches)) {
		l.result(id)
	}
	for g := range 2 {
		own, earlier := 0, 0
		for _, e := range w.told[g] {
			if e.Earlier {
				earlier++
			} else if own++; e.Generation >= g {
				t.Errorf("a designer of generation %d saw generation %d", g, e.Generation)
			}
		}
		if own != 3*g || earlier != 2 {
			t.Errorf("generation %d got %d experiments of its run and %d of another, want %d and 2", g, own, earlier, 3*g)
		}
	}
}

// burglar is a designer that wants the holdout.
type burglar struct {
	t     *testing.T
	want  ktrdr.Artifact
	error chan error
}

func (b *burglar) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	if strings.Contains(string(t.Spec), b.want.SHA256.String()) {
		b.t.Error("the design's spec names the holdout")
	}
	_, err := t.Open(ctx, b.want)
	t.Spec = json.RawMessage(`{"mine":{"name":"x","sha256":"` + b.want.SHA256.String() + `","size":1}}`)
	_, again := t.Open(ctx, b.want)
	disguised := b.want
	disguised.Name = "EURUSD_1h" + market.Suffix // as if it were what research may see
	_, masked := t.Open(ctx, disguised)
	b.error <- errors.Join(err, again, masked)
	if err == nil || again == nil || masked == nil {
		b.t.Error("a designer has read the holdout")
	}
	return nil, errors.New("caught")
}

func TestDesign_CannotReachTheHoldout(t *testing.T) {
	thief := &burglar{t: t, error: make(chan error, 1)}
	l := newLab(t, edge, func(l *lab) {
		l.designer = thief
	})
	order, err := l.desk.Trigger(t.Context(), research.Request{Seed: new(uint64(1))})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ktrdr.ParseSpec[research.Spec](order.Operations[0].Spec)
	if err != nil {
		t.Fatal(err)
	}
	thief.want = spec.Holdout[0].Artifact
	op, err := l.Submit(t.Context(), order.Operations[0], ktrdr.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-thief.error; ktrdr.CodeOf(err) != ktrdr.CodeForbidden || !strings.Contains(err.Error(), "was not given") {
		t.Errorf("err = %v, want CodeForbidden and why", err)
	}
	l.await(op.ID, ended)
	if n := l.blobs.times(spec.Holdout[0].SHA256); n != 0 {
		t.Errorf("the holdout was opened %d times", n)
	}
}
