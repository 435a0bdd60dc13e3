package research

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

// plan moves researches.
//
// Where a research stands is read from its children, the furthest first: one
// that has an assessment is being assessed, whatever else is true. What a child
// ended with decides what comes next:
//
//	COMPLETED   the gate is asked, and the next child created
//	FAILED      a design or assessment whose backend died is restarted;
//	            any other failure is the research's
//	CANCELLED   so is the research
//
// except when the research is resumed: then its dead child is.
//
// It remembers only what it has read: it reads the same texts in each phase.
type plan struct {
	specs     recent[Spec]
	designs   recent[Design]
	trainings recent[jobs.TrainingResult]
	backtests recent[jobs.BacktestResult]
}

// Next implements ktrdr.Plan.
func (p *plan) Next(parent ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
	spec, err := p.specs.read(parent.Spec, func() (Spec, error) { return ktrdr.ParseSpec[Spec](parent.Spec) })
	if err != nil {
		return ktrdr.Decision{}, err
	}
	state, err := stateOf(parent, &spec)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	r := &research{plan: p, parent: parent, spec: spec, state: state, children: children}
	for _, stage := range []struct {
		t    ktrdr.Type
		next func(*ktrdr.Operation) (ktrdr.Decision, error)
	}{
		{ktrdr.AgentAssessment, r.assessed},
		{ktrdr.Backtesting, r.backtested},
		{ktrdr.Training, r.trained},
		{ktrdr.AgentDesign, r.designed},
	} {
		child := r.newest(stage.t)
		switch {
		case child == nil:
			continue
		case child.Status != ktrdr.Completed:
			return r.unfinished(child, why)
		}
		d, err := stage.next(child)
		if err != nil { // the result of the child cannot be used
			return r.fail(child, ktrdr.CodeOf(err), err)
		}
		return d, nil
	}
	return r.first()
}

// research is one question to the plan.
type research struct {
	plan     *plan
	parent   ktrdr.Operation
	spec     Spec
	state    PlanState
	children []ktrdr.Operation
}

func (r *research) newest(t ktrdr.Type) *ktrdr.Operation {
	var last *ktrdr.Operation
	for i := range r.children {
		if c := &r.children[i]; c.Type == t && (last == nil || c.Ordinal > last.Ordinal) {
			last = c
		}
	}
	return last
}

func (r *research) attempts(t ktrdr.Type) (n int) {
	for i := range r.children {
		if r.children[i].Type == t {
			n++
		}
	}
	return n
}

// first begins a research: with its design, unless it came with a strategy.
func (r *research) first() (ktrdr.Decision, error) {
	if r.spec.Strategy == "" {
		d, err := r.begin(ktrdr.AgentDesign, DesignSpec{
			Brief: r.spec.Brief, Understanding: r.spec.Understanding, Model: r.spec.Model, Seed: r.spec.Seed,
			RunPosition: r.spec.RunPosition, Horizon: r.spec.Horizon, Bars: r.spec.Bars, Sealed: begin(r.spec.Sealed), Costs: r.spec.Costs,
			Budget: r.spec.Budget, AssistantWait: r.spec.AssistantWait,
		})
		return r.awaitAssistant(d), err
	}
	s, err := readStrategy(r.spec.Strategy, "given")
	if err != nil {
		return ktrdr.Decision{}, err
	}
	return r.train(s, r.spec.Strategy)
}

// designed trains what was designed, after it is checked as strictly as any strategy.
func (r *research) designed(child *ktrdr.Operation) (ktrdr.Decision, error) {
	design, err := resultIn(&r.plan.designs, child)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	s, err := checkDesign(design.Strategy, r.spec.Bars)
	if err != nil {
		return ktrdr.Decision{}, fmt.Errorf("the design cannot be used: %w", err)
	}
	r.state.Notes, r.state.Hypothesis, r.state.Tests = clip(design.Notes, maxText), clip(design.Hypothesis, maxText), design.Tests.bounded()
	d, err := r.train(s, design.Strategy)
	if err != nil {
		return d, err
	}
	d.Notes, err = r.posed()
	return d, err
}

func (r *research) train(s reading, text string) (ktrdr.Decision, error) {
	bars, err := barsOf(r.spec.Bars, readBy(s.Strategy), s.Name)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	if err := affordable(s.Strategy, mostBars(bars)); err != nil {
		return ktrdr.Decision{}, err
	}
	r.state.StrategyName, r.state.Strategy, r.state.StrategyHash = s.Name, text, s.hash
	return r.begin(ktrdr.Training, jobs.TrainingSpec{
		Strategy: text, Seed: r.spec.Seed, KernelClass: r.spec.KernelClass, Bars: bars,
	})
}

func (r *research) trained(child *ktrdr.Operation) (ktrdr.Decision, error) {
	result, err := resultIn(&r.plan.trainings, child)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	r.state.TrainingEpoch = result.Training.EpochsTrained
	gate := r.spec.Gates.Training(trainingFigures(&result)).bypass(r.spec.BypassGates)
	r.state.gate(gate)
	if !gate.Passed {
		return r.assess(&result, nil)
	}
	bars, err := trainedOn(child)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	spec := jobs.BacktestSpec{Model: result.Model, Scope: jobs.ScopeTest, Bars: bars}
	spec.Trade(symbolsOf(bars))
	if err := r.atFloor(&spec); err != nil {
		return ktrdr.Decision{}, err
	}
	return r.begin(ktrdr.Backtesting, spec)
}

// backtested asks the gate about a backtest. Whatever it says, this was a trial.
func (r *research) backtested(child *ktrdr.Operation) (ktrdr.Decision, error) {
	result, err := resultIn(&r.plan.backtests, child)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	training, err := r.training()
	if err != nil {
		return ktrdr.Decision{}, err
	}
	gate := r.spec.Gates.Backtest(&result.Metrics, trainingFigures(training).Regression).bypass(r.spec.BypassGates)
	r.state.gate(gate)
	return r.assess(training, &result)
}

func (r *research) training() (*jobs.TrainingResult, error) {
	child := r.newest(ktrdr.Training)
	if child == nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInternal, "%s was backtested without a training", r.parent.ID)
	}
	result, err := resultIn(&r.plan.trainings, child)
	return &result, err
}

// assess has a trial assessed. Only what passed every gate is measured.
func (r *research) assess(training *jobs.TrainingResult, run *jobs.BacktestResult) (ktrdr.Decision, error) {
	spec := AssessmentSpec{
		Strategy: r.state.StrategyName, Hypothesis: r.state.Hypothesis, Model: r.spec.Model, Seed: r.spec.Seed, RunPosition: r.spec.RunPosition,
		Gates: r.state.Gates, Training: trainingFigures(training), Collapsed: training.Test != nil && training.Test.Collapsed,
		Counted: max(r.parent.Trials, r.spec.trials()), Rules: r.spec.Rules, Budget: r.spec.Budget, MadeUp: jobs.AnyMadeUp(r.spec.Bars),
	}
	if run != nil && len(run.Artifacts) > 0 && r.state.refusal() == nil {
		files, err := r.assessedFiles(run)
		if err != nil {
			return ktrdr.Decision{}, err
		}
		spec.Files = &files
	}
	return r.begin(ktrdr.AgentAssessment, spec)
}

// assessedFiles are the files of a backtest, with the bars that the model read.
func (r *research) assessedFiles(run *jobs.BacktestResult) (AssessedFiles, error) {
	files := AssessedFiles{Model: run.Model, Backtest: run.Artifacts[0], Symbol: run.Symbol}
	var err error
	if files.Costs, err = r.paid(run); err != nil {
		return files, err
	}
	bars, err := trainedOn(r.newest(ktrdr.Training))
	if err != nil {
		return files, err
	}
	files.Bars = barsOfSymbols(bars, run.Traded())
	if got := symbolsOf(files.Bars); !slices.Equal(got, run.Traded()) {
		return files, ktrdr.Errorf(ktrdr.CodeCorrupt, "the backtest traded %s, and of these only %s were trained on",
			strings.Join(run.Traded(), ", "), strings.Join(got, ", "))
	}
	return files, nil
}

func (r *research) begin(t ktrdr.Type, spec any) (ktrdr.Decision, error) {
	text, err := encode(spec)
	if err != nil {
		return ktrdr.Decision{}, fmt.Errorf("spec of a new %s: %w", t, err)
	}
	return r.beginWith(t, text)
}

// about is what lists show of a child, and what an injection looks at.
type about struct {
	Brief    string `json:"brief,omitempty"`
	Strategy string `json:"strategy_name,omitempty"`
	Session  int64  `json:"session_id"`
	RunPosition
}

func (r *research) beginWith(t ktrdr.Type, spec json.RawMessage) (ktrdr.Decision, error) {
	id := childID(&r.parent, t, r.attempts(t))
	r.state.enter(t, id)
	state, err := encode(r.state)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	metadata, err := encode(about{r.state.Brief, r.state.StrategyName, r.state.Session, r.state.RunPosition})
	if err != nil {
		return ktrdr.Decision{}, err
	}
	return ktrdr.Decision{
		Phase: string(r.state.Phase), State: state, Progress: r.state.Phase.progress(),
		Create: []ktrdr.NewOperation{{
			ID: id, Type: t, Priority: r.parent.Priority, Parent: r.parent.ID, Ordinal: len(r.children),
			Spec: spec, Metadata: metadata,
		}},
	}, nil
}

// byAgent says whether an agent does a type of child. The plan restarts it when its
// backend died.
func byAgent(t ktrdr.Type) bool { return t == ktrdr.AgentDesign || t == ktrdr.AgentAssessment }

func resultOf[T any](child *ktrdr.Operation) (T, error) {
	var v T
	if err := json.Unmarshal(child.Result, &v); err != nil {
		return v, fmt.Errorf("its result cannot be read: %w", err)
	}
	return v, nil
}

func resultIn[T any](known *recent[T], child *ktrdr.Operation) (T, error) {
	return known.read(child.Result, func() (T, error) { return resultOf[T](child) })
}
