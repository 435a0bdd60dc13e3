package factory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// Research is how one research of a search ended.
type Research struct {
	research.RunPosition
	Status   ktrdr.Status    // Completed or Failed
	Why      string          // it failed; else empty
	Strategy string          // YAML; empty if there was no design
	Score    *float64        // the smaller of the z-values of Sharpe ratio and alpha; nil: it was not judged
	Rung     string          // as in the row of a research
	Result   research.Result // its figures, verdict and result hash
}

// Sharpe is the annual Sharpe ratio on the test part; nil: it was not judged.
func (r *Research) Sharpe() *float64 {
	if r.Score == nil || r.Result.Figures == nil {
		return nil
	}
	return r.Result.Figures.TestSharpe
}

// Generation is how one generation of a search ended.
type Generation struct {
	Examined []Examined             // at most two finalists: those with the highest scores on the test part
	Finalist int                    // the research that gets the look; -1: none
	Look     *evidence.Confirmation // nil: no finalist, or a world without a holdout
	LookHash ktrdr.Hash             // as the ledger of a backend would have it
}

// Examined is a finalist that was examined for its score alone: what can only refuse a look
// is left out.
type Examined struct {
	Research int      // an index of SearchOutcome.Researches
	Score    *float64 // of the examination; nil: it has too few bars or would take too long
}

// SearchOutcome is how a search ended.
type SearchOutcome struct {
	Researches  []Research
	Generations []Generation
}

// Score is the highest score of all researches; nil: no research was judged.
func (o *SearchOutcome) Score() *float64 {
	return highest(o.Researches, func(r *Research) *float64 { return r.Score })
}

// Sharpe is the luckiest Sharpe ratio: the highest of all researches that were judged.
func (o *SearchOutcome) Sharpe() *float64 { return highest(o.Researches, (*Research).Sharpe) }

// Looks is the number of looks.
func (o *SearchOutcome) Looks() (n int) {
	for _, g := range o.Generations {
		if g.Look != nil {
			n++
		}
	}
	return n
}

// Claims is the number of looks that claim an edge.
func (o *SearchOutcome) Claims() (n int) {
	for _, g := range o.Generations {
		if g.Look != nil && g.Look.Claim {
			n++
		}
	}
	return n
}

// Finalists is the number of researches that passed every check on the test part.
func (o *SearchOutcome) Finalists() (n int) {
	for i := range o.Researches {
		if o.Researches[i].Rung == ktrdr.RungFinalist {
			n++
		}
	}
	return n
}

func highest(all []Research, of func(*Research) *float64) (best *float64) {
	for i := range all {
		if x := of(&all[i]); x != nil && (best == nil || *x > *best) {
			best = x
		}
	}
	return best
}

// Search searches a world as a backend does: the same designer, trainings, backtests,
// gates, verdicts, generations and looks. It stores nothing. The end of ctx is its
// only error besides a world or settings that cannot be searched.
func Search(ctx context.Context, w World, s Settings) (SearchOutcome, error) {
	spec, err := NewSpec(w, s)
	if err != nil {
		return SearchOutcome{}, err
	}
	return SearchAs(ctx, w, spec, s)
}

// SearchAs searches a world with the spec of a run that is known. Of the settings it
// uses the number of researches, the kernel, and what is counted before.
func SearchAs(ctx context.Context, w World, spec research.Spec, s Settings) (SearchOutcome, error) {
	if spec.Model != research.Builtin || spec.AssistantWait > 0 {
		return SearchOutcome{}, ktrdr.Errorf(ktrdr.CodeInvalid,
			"a search without a store has only the built-in designer; this run asked %s", cmp.Or(spec.Model, "an assistant"))
	}
	spec.Horizon = "" // it starts without memory
	l := &lab{
		spec: spec, count: cmp.Or(s.Researches, 8), before: s.Before, looks: s.LooksBefore, files: files{},
		plan: research.Types()[ktrdr.AgentResearch].Plan, holdout: len(w.Holdout) > 0,
	}
	if err := pin(w, &l.spec, l.files); err != nil {
		return SearchOutcome{}, err
	}
	l.runners = map[ktrdr.Type]worker.Runner{
		ktrdr.AgentDesign:     agent.DesignRunner(research.NewMemory(&l.notes), agent.ModelAccess{}),
		ktrdr.Training:        compute.TrainingRunner(kernel(s)),
		ktrdr.Backtesting:     compute.BacktestRunner(kernel(s)),
		ktrdr.AgentAssessment: agent.AssessmentRunner(agent.ModelAccess{}),
		ktrdr.Examining:       compute.ExaminationRunner(kernel(s)),
		ktrdr.AgentConfirm:    agent.ConfirmationRunner(),
	}
	var out SearchOutcome
	for at := 0; at < l.count; at += spec.Size {
		if err := l.generation(ctx, at, min(at+spec.Size, l.count), &out); err != nil {
			return SearchOutcome{}, err
		}
	}
	return out, nil
}

// lab is a backend without a store: it moves researches by their plan, one after the
// other.
type lab struct {
	spec    research.Spec
	count   int
	before  []int
	looks   int
	holdout bool // there is one to look at
	notes   notes
	files   files // the bars
	plan    ktrdr.Plan
	runners map[ktrdr.Type]worker.Runner
}

// generation searches the researches from one index to another, examines the best two
// finalists, and makes the look.
func (l *lab) generation(ctx context.Context, from, to int, out *SearchOutcome) error {
	var finalists []*finished
	var learnt []ktrdr.Note
	g := Generation{Finalist: -1}
	for i := from; i < to; i++ {
		end, err := l.research(ctx, i)
		if err != nil {
			return err
		}
		learnt = append(learnt, end.notes...)
		r, err := end.research()
		if err != nil {
			return err
		}
		out.Researches = append(out.Researches, r)
		if r.Rung == ktrdr.RungFinalist {
			finalists = append(finalists, end)
		}
	}
	l.notes = append(l.notes, learnt...)
	slices.SortStableFunc(finalists, func(a, b *finished) int { return cmp.Compare(*b.op.Score, *a.op.Score) })
	finalists = finalists[:min(len(finalists), research.MostExamined)]
	var scores []*float64
	var may []*finished // get the look
	for _, f := range finalists {
		score, err := l.examine(ctx, f)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			continue // an examination that failed refuses the look
		}
		scores, may = append(scores, score), append(may, f)
		g.Examined = append(g.Examined, Examined{f.index, score})
	}
	best := research.BestExamined(scores)
	if best >= 0 {
		g.Finalist = may[best].index
	}
	if best >= 0 && l.holdout {
		c, err := l.look(ctx, may[best])
		if err != nil {
			return err
		}
		g.Look, g.LookHash = &c.Look, c.LookHash
	}
	out.Generations = append(out.Generations, g)
	return nil
}

// finished is the row of a research that ended, with what it made.
type finished struct {
	index int
	op    ktrdr.Operation
	spec  research.Spec
	files files // its own
	notes []ktrdr.Note
}

func (f *finished) research() (Research, error) {
	r := Research{RunPosition: f.spec.RunPosition, Status: f.op.Status, Why: f.op.ErrorMessage, Score: f.op.Score, Rung: f.op.Rung}
	if err := json.Unmarshal(f.op.Result, &r.Result); err != nil {
		return r, fmt.Errorf("result of %s: %w", f.spec.Key(), err)
	}
	var state research.PlanState
	if err := json.Unmarshal(f.op.State, &state); err != nil {
		return r, fmt.Errorf("state of %s: %w", f.spec.Key(), err)
	}
	r.Strategy = state.Strategy
	return r, nil
}

// mostSteps bounds how often the plan of one research is asked.
const mostSteps = 16

// research moves the i-th research to its end.
func (l *lab) research(ctx context.Context, i int) (*finished, error) {
	f := &finished{index: i, spec: l.spec.At(i), files: files{}}
	text, err := json.Marshal(f.spec)
	if err != nil {
		return nil, err
	}
	others := 0
	if len(l.before) > 0 {
		others = l.before[min(i, len(l.before)-1)]
	}
	f.op = ktrdr.Operation{
		ID: ktrdr.OperationID(fmt.Sprintf("op_agent_research_20000101_000000_%08x", i)), Type: ktrdr.AgentResearch,
		Status: ktrdr.Running, HasPlan: true, Session: int64(i + 1), Run: f.spec.Run, Spec: text, Trials: others + f.spec.OwnTrials(l.count),
	}
	f.op.Root = f.op.ID
	var children []ktrdr.Operation
	why := ktrdr.WhyCreated
	for range mostSteps {
		d, err := l.plan.Next(f.op, children, why)
		if err != nil {
			return nil, fmt.Errorf("plan of %s: %w", f.spec.Key(), err)
		}
		if d.State != nil {
			f.op.State = d.State
		}
		f.notes = append(f.notes, d.Notes...)
		if end := d.Finish; end != nil {
			f.op.Status, f.op.Result, f.op.ErrorMessage = end.Outcome, end.Result, end.ErrorMessage
			f.op.Rung, f.op.Score = end.Rung, end.Score
			return f, nil
		}
		for _, n := range d.Create {
			child := l.run(ctx, f, n)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			children = append(children, child)
		}
		why = ktrdr.WhyChild
	}
	return nil, ktrdr.Errorf(ktrdr.CodeInternal, "the plan of %s has not ended after %d steps", f.spec.Key(), mostSteps)
}

// run does the work of a child.
func (l *lab) run(ctx context.Context, f *finished, n ktrdr.NewOperation) ktrdr.Operation {
	child := ktrdr.Operation{
		ID: n.ID, Type: n.Type, Status: ktrdr.Completed, Epoch: 1, Attempts: 1, Parent: f.op.ID, Root: f.op.ID, Ordinal: n.Ordinal,
		Run: f.op.Run, Spec: n.Spec, Metadata: n.Metadata,
	}
	result, made, err := l.replay(ctx, f, ktrdr.Task{Operation: n.ID, Type: n.Type, Epoch: 1, Attempts: 1, Spec: n.Spec})
	if err != nil {
		child.Status, child.ErrorMessage, child.Error = ktrdr.Failed, err.Error(), ktrdr.NewFailure(ktrdr.CodeOf(err), err)
		return child
	}
	for _, file := range made {
		f.files.put(file.Bytes)
	}
	child.Result = result
	return child
}

func (l *lab) replay(ctx context.Context, f *finished, t ktrdr.Task) (json.RawMessage, []worker.File, error) {
	return worker.Replay(ctx, l.runners[t.Type], t, opener(f.files, l.files))
}

// examine examines a finalist for its score alone.
func (l *lab) examine(ctx context.Context, f *finished) (*float64, error) {
	n, err := research.ScoreExamination(&f.op)
	if err != nil {
		return nil, fmt.Errorf("examination of %s: %w", f.spec.Key(), err)
	}
	result, _, err := l.replay(ctx, f, ktrdr.Task{
		Operation: "op_examination_20000101_000000_00000000", Type: ktrdr.Examining, Epoch: 1, Attempts: 1, Spec: n.Spec,
	})
	if err != nil {
		return nil, fmt.Errorf("examination of %s: %w", f.spec.Key(), err)
	}
	var x jobs.ExaminationResult
	if err := json.Unmarshal(result, &x); err != nil {
		return nil, fmt.Errorf("examination of %s: %w", f.spec.Key(), err)
	}
	return x.Examination.Score, nil
}

// look confirms a finalist as the next look at its market.
func (l *lab) look(ctx context.Context, best *finished) (*research.Confirmation, error) {
	n, err := research.ConfirmationOf(&best.op)
	if err != nil {
		return nil, fmt.Errorf("confirmation of %s: %w", best.spec.Key(), err)
	}
	task := ktrdr.Task{
		Operation: "op_agent_confirm_20000101_000000_00000000", Type: ktrdr.AgentConfirm, Epoch: 1, Attempts: 1, Spec: n.Spec,
		Look: &ktrdr.Look{Before: l.looks},
	}
	l.looks++
	result, _, err := l.replay(ctx, best, task)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("confirmation of %s: %w", best.spec.Key(), err)
	}
	var c research.Confirmation
	if err := json.Unmarshal(result, &c); err != nil {
		return nil, fmt.Errorf("confirmation of %s: %w", best.spec.Key(), err)
	}
	return &c, nil
}
