package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// call is one Call of the chain that is running.
type call struct {
	chain   *ModelFallbackChain
	ask     CallContext
	request Request

	trace      Trace
	errs       []error        // of models
	fatal      error          // of the journal: nothing can be bought any more
	poisoned   bool           // the journal refuses this request, for every model
	recalled   bool           // the journal had the answer
	looked     bool           // the journal was asked for the answer
	overBudget ktrdr.MicroUSD // the least sum there was no money for; 0 for none
}

// run has the agent's breaker watch over the walk along the models.
func (q *call) run(ctx context.Context, models []ChainModel) (Answer, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if !q.ask.Deadline.IsZero() {
		limited, cancel = context.WithDeadline(ctx, q.ask.Deadline)
	}
	defer cancel()
	var agent []*resilience.Breaker
	if q.ask.Agent != "" {
		agent = append(agent, q.chain.cfg.Registry.Breaker(ktrdr.ScopeAgent, q.ask.Agent))
	}
	var answer *Answer
	err := resilience.Do(limited, agent, func(limited context.Context) (err error) {
		if answer, err = q.walk(limited, models); q.recalled {
			return errNothing // no model was called
		}
		return err
	})
	switch {
	case answer != nil:
		return *answer, nil
	case q.fatal != nil:
		return Answer{}, q.fatal
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	}
	if resilience.KindOf(err) == resilience.KindOpen && len(q.errs) == 0 {
		for _, m := range models {
			q.skip(m, err)
		}
	}
	return q.withoutModels(limited)
}

// walk asks the models, and then those that were put off. Its error is that of
// the last model that failed: what the agent's breaker is to know.
func (q *call) walk(ctx context.Context, models []ChainModel) (*Answer, error) {
	var failed error
	for _, last := range []bool{false, true} {
		var later []ChainModel
		for i, m := range models {
			if q.fatal != nil || q.poisoned {
				return nil, cmp.Or(failed, errNothing)
			}
			answer, err := q.consider(ctx, m, len(models)-i+len(later), last)
			switch {
			case answer != nil:
				return answer, nil
			case err == errPostponed: //nolint:errorlint // consider returns it bare
				later = append(later, m)
			case resilience.KindOf(err).Trips():
				failed = err
			}
		}
		models = later
	}
	return nil, cmp.Or(failed, errNothing)
}

// Neither is an outcome that speaks against anybody.
var (
	errPostponed error = &resilience.Error{Kind: resilience.KindCancelled}
	errNothing   error = &resilience.Error{Kind: resilience.KindCancelled}
)

// consider decides about one model, of as many as are left, and asks it.
func (q *call) consider(ctx context.Context, m ChainModel, models int, last bool) (*Answer, error) {
	p, why := q.offer(m)
	if why != nil {
		q.skip(m, why)
		return nil, errNothing
	}
	var left time.Duration
	if deadline, ok := ctx.Deadline(); ok {
		if left = time.Until(deadline); left <= 0 {
			q.skip(m, &resilience.Error{Kind: resilience.KindTimeout, Err: errors.New("no time is left")})
			return nil, errNothing
		}
		p.time, p.others = left/time.Duration(models), models > 1
	}
	decision, reason, trial := q.chain.place(m.Name, left, last)
	switch decision {
	case Skipped:
		q.skip(m, &resilience.Error{Kind: resilience.KindCancelled, Err: errors.New(reason)})
		return nil, errNothing
	case Postponed:
		q.note(TraceStep{Model: m.Name, Decision: Postponed, Reason: reason})
		return nil, errPostponed
	}
	if trial {
		defer q.chain.release(m.Name)
	}
	answer, err := p.buy(ctx)
	switch kind := resilience.KindOf(err); {
	case err == nil:
		return answer, nil
	case kind == resilience.KindOpen, kind == resilience.KindBudget:
		q.skip(m, err)
		return nil, errNothing
	}
	q.errs = append(q.errs, fmt.Errorf("%s: %w", m.Name, err))
	return nil, err
}

// offer is what a model could be asked, or why it cannot be.
func (q *call) offer(m ChainModel) (*purchase, error) {
	p := &purchase{call: q, model: m, request: q.request}
	p.request.MaxTokens = cmp.Or(q.request.MaxTokens, defaultMaxTokens)
	not := func(k resilience.ErrorKind, format string, args ...any) (*purchase, error) {
		return nil, &resilience.Error{Kind: k, Err: fmt.Errorf(format, args...)}
	}
	if len(q.request.Tools) > 0 && !m.Tools {
		return not(resilience.KindInvalid, "it cannot use tools")
	}
	if m.Price == nil {
		return not(resilience.KindBudget, "its price is not known; state it in the config, 0 for a model of your own")
	}
	var known bool
	switch p.most, known = MostCost(m.Price, p.request, p.request.MaxTokens); {
	case !known:
		return not(resilience.KindBudget, "its price is not known for a request of this size")
	case q.overBudget > 0 && p.most >= q.overBudget:
		return not(resilience.KindBudget, "it may cost $%.4f, and for $%.4f there was no money", p.most.USD(), q.overBudget.USD())
	}
	return p, nil
}

// skip notes that a model is not called.
func (q *call) skip(m ChainModel, why error) {
	step := TraceStep{Model: m.Name, Decision: Skipped, Reason: reasonOf(why), Kind: resilience.KindOf(why)}
	if e, ok := errors.AsType[*resilience.Error](why); ok && e.Err != nil {
		step.Reason = reasonOf(e.Err) // the kind stands beside it
	}
	q.note(step)
	q.errs = append(q.errs, fmt.Errorf("%s: %w", m.Name, why))
}

func (q *call) note(s TraceStep) {
	q.trace.Steps = append(q.trace.Steps, s)
	log := q.chain.cfg.Log.With("op", q.ask.Operation, "agent", q.ask.Agent, "model", s.Model)
	switch s.Decision {
	case Failed:
		log.Warn("model failed", "attempt", s.Attempt, "kind", s.Kind, "took", s.Latency, "reason", s.Reason)
	case Skipped, Postponed:
		log.Info("model passed over", "decision", s.Decision, "reason", s.Reason)
	case Answered, Recalled:
		log.Debug("model answered", "decision", s.Decision, "took", s.Latency, "cost_micro_usd", s.Cost)
	}
	if q.chain.cfg.OnDecision != nil {
		q.chain.cfg.OnDecision(q.ask, s)
	}
}

// withoutModels ends a call that no model has answered. The journal may still have
// the answer if it was not asked yet: what was bought is used also while every
// provider is down.
func (q *call) withoutModels(ctx context.Context) (Answer, error) {
	if !q.looked && len(q.chain.cfg.Models) > 0 {
		p := &purchase{call: q, model: q.chain.cfg.Models[0]}
		switch answer, err := p.recall(ctx); {
		case err != nil:
			return Answer{}, err
		case answer != nil:
			return *answer, nil
		}
	}
	exhausted := &Exhausted{Trace: q.trace, Errs: q.errs}
	if at := q.chain.earliest(); q.ask.Wait && !at.IsZero() {
		return Answer{}, &resilience.WaitError{After: time.Until(at), Err: exhausted}
	}
	return Answer{}, exhausted
}

// Trace is how an answer was obtained, or why not.
type Trace struct {
	Key   ktrdr.Hash  `json:"key"`
	Steps []TraceStep `json:"steps"`
}

// TraceStep is one decision about one model.
type TraceStep struct {
	Model    string               `json:"model"`
	Decision StepResult           `json:"decision"`
	Reason   string               `json:"reason,omitempty"`
	Kind     resilience.ErrorKind `json:"kind,omitempty"` // of what went wrong
	Attempt  int                  `json:"attempt,omitempty"`
	Latency  time.Duration        `json:"latency_ns,omitempty"`
	Cost     ktrdr.MicroUSD       `json:"cost_micro_usd,omitempty"`
}

// StepResult is how a step of a call ended for its model.
type StepResult string

// The decisions.
const (
	Skipped   StepResult = "skipped"   // it was not asked
	Postponed StepResult = "postponed" // it is asked after the others
	Failed    StepResult = "failed"    // it was asked, and gave nothing
	Answered  StepResult = "answered"  // it was asked, and its answer bought
	Recalled  StepResult = "recalled"  // the journal had the answer
)

// Exhausted says that no model is left to ask. What a caller can do without one
// it does now.
type Exhausted struct {
	Trace Trace
	Errs  []error // of the models, in the order in which they were asked
}

// Error says of each model why it has not answered.
func (e *Exhausted) Error() string {
	if len(e.Trace.Steps) == 0 {
		return "no model can answer: none is configured"
	}
	last := make(map[string]int) // what was said last of a model counts
	for i, s := range e.Trace.Steps {
		last[s.Model] = i
	}
	var why []string
	for i, s := range e.Trace.Steps {
		if last[s.Model] == i {
			why = append(why, s.Model+": "+s.Reason)
		}
	}
	return "no model can answer: " + strings.Join(why, "; ")
}

// Unwrap returns the errors of the models.
func (e *Exhausted) Unwrap() []error { return e.Errs }
