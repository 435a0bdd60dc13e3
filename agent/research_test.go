package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/worker"
)

// edge is a market in which something is to be found.
var edge = market.SynthConfig{Symbol: "EURUSD", Bars: 4000, Seed: 1, Edge: 0.8}

var night = research.Trigger{Brief: "mean reversion on EURUSD, simple", Count: 6, Run: "night"}

func seeded(t research.Trigger) research.Trigger {
	t.Seed = new(uint64(7))
	return t
}

func TestResearch_FromTheBriefToTheVerdict(t *testing.T) {
	l := newLab(t, edge, nil)
	var hidden ktrdr.Hash
	opened, claims, first := 0, 0, 0
	for i, id := range l.trigger(seeded(night)) {
		r := l.result(id)
		if i == 3 {
			first = opened // by the first generation
		}
		if f := r.Figures; i >= 3 && f != nil && f.Trials > 0 && f.Openings != (max(first, 1)+1)*3 {
			t.Errorf("%d openings are counted against the second and last generation of 3, want those for %d before it", f.Openings, first)
		}
		op, err := l.Operation(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := ktrdr.ParseSpec[research.Spec](op.Spec)
		if err != nil {
			t.Fatal(err)
		}
		hidden = spec.Holdout[0].SHA256
		if r.ResultHash == (ktrdr.Hash{}) || r.StrategyName == "" || r.Verdict == "" || r.Summary == "" || op.Session == 0 || op.Phase != string(research.Done) {
			t.Errorf("%s: %+v", id, r)
		}
		if r.HoldoutOpened {
			opened++
		}
		if r.Claim {
			claims++
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
	if claims == 0 {
		t.Error("nothing was found in a market that hides nothing")
	}
	if n := l.blobs.times(hidden); n != opened {
		t.Errorf("the holdout was opened %d times for %d verdicts that needed it", n, opened)
	}
	if n := len(l.notes(research.NoteTrial)); n != 6 {
		t.Errorf("%d trials in the ledger, want 6", n)
	}
	if n := len(l.notes(research.NoteOpening)); n != opened {
		t.Errorf("%d openings in the ledger, want %d", n, opened)
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
	if len(a.Strengths) == 0 || len(a.Weaknesses) == 0 || a.Summary == "" || a.Verdict == "" || !a.Claim && len(a.Hypotheses) == 0 {
		t.Errorf("assessment %+v lacks something", a)
	}
	for _, r := range a.Reasons[:min(9, len(a.Reasons))] { // those that the test part answers
		if a.HoldoutOpened && !r.Passed {
			t.Errorf("the holdout was opened although %s", r.Text)
		}
	}
	if a.Claim && (!a.HoldoutOpened || a.Verdict != evidence.Promising) {
		t.Errorf("an edge is claimed with the holdout sealed: %+v", a)
	}
}

func TestResearch_WhereThereIsNothingTheHoldoutStaysSealed(t *testing.T) {
	l := newLab(t, market.SynthConfig{Symbol: "EURUSD", Bars: 4000, Seed: 1}, nil)
	for _, id := range l.trigger(seeded(night)) {
		if r := l.result(id); r.Claim {
			t.Errorf("an edge is claimed where there is none: %+v", r)
		}
		for _, c := range l.children(id) {
			if c.Type == ktrdr.AgentAssessment {
				checkAssessment(t, c)
			}
		}
	}
}

// Strategies that people wrote: a regression, two timeframes, two symbols.
func TestResearch_OfAGivenStrategy(t *testing.T) {
	l := newLab(t, market.SynthConfig{Symbol: "EURUSD", Bars: 4000, Seed: 1, Edge: 0.4}, nil)
	l.add(market.SynthConfig{Symbol: "GBPUSD", Bars: 4000, Seed: 2, Edge: 0.4})
	hours, _, err := l.library.Get("EURUSD", market.H1)
	if err != nil {
		t.Fatal(err)
	}
	long, err := market.Resample(hours, market.H4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.library.Import(long); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"return_regression", "trend_two_timeframes", "lstm_momentum"} {
		var text string
		for _, e := range strategy.Examples() {
			if e.Name == name {
				text = regexp.MustCompile(`\n  epochs: \d+`).ReplaceAllString(string(e.Source), "\n  epochs: 4")
			}
		}
		id := l.trigger(research.Trigger{StrategyYAML: text, BypassGates: true, Seed: new(uint64(1)), Force: true})[0]
		r := l.result(id)
		if r.Outcome != research.OutcomeCompleted || r.StrategyName != name || r.Figures == nil {
			t.Errorf("%s: %+v", name, r)
		}
		t.Logf("%s: %+v %s", name, r.HoldoutOpened, r.Summary)
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
	return lines
}

// A run that is stopped again and again comes to what an undisturbed one does.
func TestResearch_StoppedEqualsUndisturbed(t *testing.T) {
	calm := newLab(t, edge, nil)
	for _, id := range calm.trigger(seeded(night)) {
		calm.result(id)
	}
	rough := newLab(t, edge, nil)
	ids := rough.trigger(seeded(night))
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
	got, want := rough.ledger("night"), calm.ledger("night")
	if !slices.Equal(got, want) || len(want) != 6 {
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
	first := night
	first.Run, first.Count = "before", 2
	for _, id := range l.trigger(seeded(first)) {
		l.result(id)
	}
	for _, id := range l.trigger(seeded(night)) {
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
			t.Errorf("generation %d was told of %d experiments of its run and %d of another, want %d and 2", g, own, earlier, 3*g)
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
	order, err := l.desk.Trigger(t.Context(), research.Trigger{Seed: new(uint64(1))})
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
