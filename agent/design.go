package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/internal/backoff"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/worker"
)

// Memory tells a designer what it may know: the same whenever it asks.
type Memory interface {
	Recall(ctx context.Context, v research.View) (research.Past, error)
}

// DesignRunner designs strategies: by itself, or by asking the model that a
// research names. Where no model answers the built-in designer takes over, and the
// result says so.
func DesignRunner(m Memory, access ModelAccess) worker.Runner {
	return designRunner{m, access, &briefs{}}
}

type designRunner struct {
	memory Memory
	access ModelAccess
	briefs *briefs
}

// Run designs one strategy.
func (r designRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[research.DesignSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	t.Progress(ktrdr.Progress{CurrentStep: "measuring the market", StepsTotal: designSteps})
	brief, err := r.briefs.of(ctx, t, spec)
	if err != nil {
		return nil, stopped(ctx, t, err)
	}
	t.Progress(ktrdr.Progress{CurrentStep: "remembering", StepsCompleted: 1, StepsTotal: designSteps, Percentage: 100. / designSteps})
	past, err := retry(ctx, func() (research.Past, error) { return r.memory.Recall(ctx, spec.View()) })
	if err != nil {
		return nil, stopped(ctx, t, err)
	}
	t.Progress(ktrdr.Progress{CurrentStep: "designing", StepsCompleted: 2, StepsTotal: designSteps, Percentage: 200. / designSteps})
	d, instead := &research.Design{}, spec.Model
	switch {
	case spec.AssistantWait > 0: // which is over, or an assistant would have ended this operation
		instead, d.Instead = research.AnAssistant, "no strategy came in time"
	case spec.Model != research.Builtin:
		if d, err = r.ask(ctx, t, spec, brief.Stats, past); err != nil || d.Strategy != "" {
			return result(d, err)
		}
	}
	p, err := designer.Design(brief, spec.Seed, spec.Generation, spec.Index, past.Experiments, spec.Costs)
	if err != nil {
		return nil, err
	}
	d.Name, d.Strategy, d.Notes, d.Hypothesis, d.Key, d.Genome = p.Name, p.Strategy, p.Notes, p.Hypothesis, p.Key, &p.Genome
	d.Tests = asked(p, past.Hypotheses)
	d.Designer, d.Summary = research.Builtin, fmt.Sprintf("%s, after %d experiments: %s", p.Name, len(past.Experiments), p.Hypothesis)
	if d.Instead != "" {
		d.Summary = fmt.Sprintf("%s (designed by the program itself instead of %s: %s)", d.Summary, instead, d.Instead)
		r.access.missed(ctx, t.Operation, instead, d.Instead)
	}
	return result(d, nil)
}

// asked is the hypothesis that a design tests: one that its parent posed, and
// that says what it was taught; nil if it was taught nothing.
func asked(p designer.Proposal, open []research.HypothesisNote) *research.HypothesisNote {
	i := slices.IndexFunc(open, func(h research.HypothesisNote) bool {
		return p.From != "" && h.Source == p.From && slices.Contains(p.Lesson, h.Lesson())
	})
	if i < 0 {
		return nil
	}
	return &open[i]
}

func result(d *research.Design, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

const designSteps = 3

// ask has a model design. A design without a strategy says why none could.
func (r designRunner) ask(ctx context.Context, t *worker.Task, spec research.DesignSpec, stats designer.Stats,
	past research.Past,
) (*research.Design, error) {
	if why := r.access.away(resilience.LLMDesign); why != "" {
		return &research.Design{Instead: why}, nil
	}
	tools := &designTools{spec: spec, stats: stats, past: past}
	k := r.access.conversation(t, tools, "designer", spec.Model, spec.Budget)
	why, err := k.run(ctx, designPrompt, goal(spec))
	if err != nil || why != "" {
		return &research.Design{Instead: why, Decisions: k.state.Decisions}, err
	}
	d := &tools.saved
	d.Designer, d.Prompt, d.Decisions = k.answeredBy(), designPrompt, k.state.Decisions
	d.Summary = fmt.Sprintf("%s, by %s after %d experiments: %s", d.Name, d.Designer, len(past.Experiments), d.Hypothesis)
	return d, nil
}

// goal is what a model is asked for. It differs from research to research of a
// run, or they would all be given the same answer.
func goal(spec research.DesignSpec) string {
	brief := cmp.Or(spec.Brief, "anything that works")
	return fmt.Sprintf("The goal: %s\n\nThis is design %d of generation %d, seed %d: designs of one generation do not know of each other, "+
		"so make yours unlike what comes to mind first when the seed says so.",
		brief, spec.Index+1, spec.Generation+1, spec.Seed)
}

// retry asks memory until it answers: without it no design can begin.
func retry[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	wait := backoff.Policy{First: 100 * time.Millisecond, Most: 5 * time.Second}
	for try := 0; ; try++ {
		told, err := ask()
		if err == nil || !ktrdr.CodeOf(err).Retryable() {
			return told, err
		}
		if !wait.Wait(ctx, try) {
			return told, context.Cause(ctx)
		}
	}
}

// stopped is the error of work that may have been stopped. There is nothing to
// save: it restarts in no time.
func stopped(ctx context.Context, t *worker.Task, err error) error {
	if ctx.Err() != nil {
		return t.Interrupted(ctx, 0, struct{}{})
	}
	return err
}
