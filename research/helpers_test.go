package research

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

func mark(b byte) (h ktrdr.Hash) {
	h[0] = b
	return h
}

// simple is a strategy that reads one series.
func simple(t testing.TB) (text string, s *strategy.Strategy) {
	t.Helper()
	for _, e := range strategy.Examples() {
		if s, _, err := strategy.Parse(e.Source, e.Name); err == nil && len(s.Data.Symbols) == 1 && len(s.Data.Timeframes) == 1 {
			return string(e.Source), s
		}
	}
	t.Fatal("no example reads one series")
	return "", nil
}

// someSpec is a spec that could be.
func someSpec(t testing.TB) Spec {
	t.Helper()
	_, s := simple(t)
	bars := func(name string, h byte) []jobs.Bars {
		return []jobs.Bars{{
			Symbol: s.Data.Symbols[0], Timeframe: s.Data.Base, Hash: mark(h),
			Artifact: ktrdr.Artifact{Name: name, SHA256: mark(h + 1), Size: 9},
		}}
	}
	return Spec{
		Brief: "earn <money> & more", Understanding: designer.Brief{Symbols: s.Data.Symbols, Timeframe: s.Data.Base, Understood: []string{}},
		Model: Builtin, TriggerReason: "start_new_cycle", Seed: 5, KernelClass: neural.Best().Class(),
		RunPosition: RunPosition{"run_a", 1, 2}, Horizon: "17", Size: 8,
		Markets: []SymbolMarket{{s.Data.Symbols[0], "mkt_a"}},
		Bars:    bars("seen", 10), Holdout: bars("sealed", 20), Gates: DefaultGates(),
	}
}

// tree is a research and its children in memory, moved by the plan as the store
// would move it.
type tree struct {
	t        testing.TB
	plan     *plan
	parent   ktrdr.Operation
	children []ktrdr.Operation
	notes    map[string]ktrdr.Note // by kind and key: the first is kept
	last     ktrdr.Decision
	asked    int
	texts    struct{ strategy, name string }
}

func plant(t testing.TB, spec Spec) *tree {
	t.Helper()
	text, err := encode(spec)
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{t: t, plan: new(plan), notes: map[string]ktrdr.Note{}, parent: ktrdr.Operation{
		ID: "op_agent_research_20260102_030405_0a0b0c0d", Type: ktrdr.AgentResearch, Status: ktrdr.Running, Session: 3, Spec: text, Trials: 20,
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}}
	var s *strategy.Strategy
	tr.texts.strategy, s = simple(t)
	tr.texts.name = s.Name
	return tr
}

func (tr *tree) ask(why ktrdr.Why) ktrdr.Decision {
	tr.t.Helper()
	if tr.asked++; tr.asked > 1000 { // tests ask until the research ends
		tr.t.Fatalf("it is %s in phase %s and does not end", tr.parent.Status, tr.parent.Phase)
	}
	d, err := tr.plan.Next(tr.parent, tr.children, why)
	if err != nil {
		tr.t.Fatalf("asked %s: %v", why, err)
	}
	tr.do(d)
	return d
}

// do is what the store does with a decision.
func (tr *tree) do(d ktrdr.Decision) {
	tr.t.Helper()
	tr.last = d
	if d.Phase != "" {
		tr.parent.Phase = d.Phase
	}
	if d.State != nil {
		tr.parent.State = d.State
	}
	for _, n := range d.Create {
		for _, c := range tr.children {
			if c.ID == n.ID || c.Ordinal == n.Ordinal {
				tr.t.Fatalf("child %s at %d is created twice", n.ID, n.Ordinal)
			}
		}
		if !n.ID.Valid() {
			tr.t.Fatalf("%q is no id", n.ID)
		}
		tr.children = append(tr.children, ktrdr.Operation{
			ID: n.ID, Type: n.Type, Status: ktrdr.Pending, Parent: n.Parent, Ordinal: n.Ordinal, Spec: n.Spec,
			Metadata: n.Metadata, BackendLocal: n.BackendLocal,
		})
	}
	for _, id := range d.Resume {
		for i := range tr.children {
			if c := &tr.children[i]; c.ID == id {
				c.Status, c.Error, c.ErrorMessage = ktrdr.Pending, nil, ""
			}
		}
	}
	for _, n := range d.Notes {
		if _, ok := tr.notes[n.Kind+" "+n.Key]; !ok {
			tr.notes[n.Kind+" "+n.Key] = n
		}
	}
	if d.Finish != nil {
		tr.parent.Status, tr.parent.Result = d.Finish.Outcome, d.Finish.Result
		tr.parent.ErrorMessage, tr.parent.Error = d.Finish.ErrorMessage, d.Finish.Error
		tr.parent.Rung, tr.parent.Score = d.Finish.Rung, d.Finish.Score
	}
}

func (tr *tree) newest() *ktrdr.Operation { return &tr.children[len(tr.children)-1] }

// complete ends the newest child well, with what its runner would have found.
func (tr *tree) complete(change func(v any)) {
	tr.t.Helper()
	c := tr.newest()
	v := tr.outcome(c.Type)
	if change != nil {
		change(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		tr.t.Fatal(err)
	}
	c.Status, c.Result = ktrdr.Completed, text
}

func (tr *tree) outcome(t ktrdr.Type) any {
	switch t {
	case ktrdr.AgentDesign:
		return &Design{
			Name: tr.texts.name, Strategy: tr.texts.strategy, Notes: "as good as any", Hypothesis: "it earns", Key: "k",
			Genome: &designer.Genome{Idea: designer.Trend},
		}
	case ktrdr.Training:
		r := &jobs.TrainingResult{Model: ktrdr.Artifact{Name: jobs.ModelFile, SHA256: mark(40), Size: 4}, ResultHash: mark(41)}
		r.Training = metrics.TrainingMetrics{EpochsTrained: 12, History: metrics.History{TrainLoss: []float64{1.1, 0.9}}}
		r.Test = &metrics.TestMetrics{
			Samples: 100, Accuracy: 0.4, Loss: 1.05, ClassMetrics: &metrics.ClassMetrics{Classes: make([]metrics.ClassScore, 3)},
		}
		return r
	case ktrdr.Backtesting:
		sharpe, rate := 1.5, 0.5
		r := &jobs.BacktestResult{
			Symbol: "EURUSD", Timeframe: market.H1, Model: ktrdr.Artifact{Name: jobs.ModelFile, SHA256: mark(40), Size: 4},
			Artifacts: []ktrdr.Artifact{{Name: jobs.BacktestFile, SHA256: mark(50), Size: 5}}, ResultHash: mark(51),
		}
		_, s := simple(tr.t)
		r.Symbol = s.Data.Symbols[0]
		r.Metrics.InitialCapital, r.Metrics.TotalTrades, r.Metrics.Sharpe, r.Metrics.WinRate = 1000, 40, &sharpe, &rate
		r.Metrics.TotalReturn, r.Metrics.TotalReturnPct, r.Metrics.CostTotal = 100, 10, 25
		return r
	case ktrdr.AgentAssessment:
		return &Assessment{
			Summary: "No edge is claimed.", Strategy: tr.texts.name, Verdict: evidence.Neutral,
			Reasons:   []evidence.Reason{{Code: evidence.BeatsLuck, Text: "luck is as good"}},
			Strengths: []string{"a"}, Weaknesses: []string{"b"}, Hypotheses: []Hypothesis{{Text: "try again", Rationale: "why not", Code: "costs"}},
		}
	}
	tr.t.Fatalf("there is no runner of %s", t)
	return nil
}

// die ends the newest child badly.
func (tr *tree) die(status ktrdr.Status, code ktrdr.Code, message string) {
	c := tr.newest()
	c.Status, c.ErrorMessage = status, message
	c.Error = ktrdr.NewFailure(code, fmt.Errorf("%s", message))
}

// reach carries a research to the phase of a type of child, which is open.
func reach(t testing.TB, spec Spec, typ ktrdr.Type) *tree {
	t.Helper()
	tr := plant(t, spec)
	tr.ask(ktrdr.WhyCreated)
	for tr.newest().Type != typ {
		tr.complete(nil)
		if tr.ask(ktrdr.WhyChild); tr.parent.Status.Terminal() {
			t.Fatalf("it is %s (%s) before its %s", tr.parent.Status, tr.parent.ErrorMessage, typ)
		}
	}
	return tr
}

func (tr *tree) state() PlanState {
	tr.t.Helper()
	var s PlanState
	if err := json.Unmarshal(tr.parent.State, &s); err != nil {
		tr.t.Fatal(err)
	}
	return s
}

func (tr *tree) result() Result {
	tr.t.Helper()
	var r Result
	if err := json.Unmarshal(tr.parent.Result, &r); err != nil {
		tr.t.Fatalf("result %q: %v", tr.parent.Result, err)
	}
	return r
}
