package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/resilience"
)

// purchase is the attempt to buy one answer from one model.
//
// Money is reserved before a try. A try that failed before the model began to
// work, as a full queue or a wrong key, cost nothing and leaves the reservation
// to the next one. A try that may have been billed, as one that broke off in
// the middle, is settled at all that was reserved, and the next needs new
// money.
type purchase struct {
	*call
	model   ChainModel
	request Request
	most    ktrdr.MicroUSD
	time    time.Duration // for all tries; 0 means no bound
	others  bool          // wait for their turn, and there is a deadline

	held   *ktrdr.Call // reserved, not settled
	answer *Answer
	text   json.RawMessage // the answer as it is journaled
	took   time.Duration
}

// buy returns the answer, or why this model gives none.
func (p *purchase) buy(ctx context.Context) (*Answer, error) {
	policy := p.chain.cfg.Retry
	if p.time > 0 && (policy.Total == 0 || policy.Total > p.time) {
		policy.Total = p.time // others are to have their turn
	}
	err := policy.Do(ctx, p.try)
	if p.held != nil && p.fatal == nil {
		p.settle(ctx, ktrdr.CallEnd{Status: ktrdr.CallFailed, Error: reasonOf(err)})
	}
	if p.fatal != nil {
		return nil, &resilience.Error{Kind: resilience.KindCancelled, Err: p.fatal}
	}
	if !p.recalled {
		p.chain.judge(p.model.Name, err)
	}
	return p.answer, err
}

// try asks once, if the breakers of the provider and its cluster let it.
func (p *purchase) try(ctx context.Context, attempt int) error {
	registry := p.chain.cfg.Registry
	breakers := []*resilience.Breaker{registry.Breaker(ktrdr.ScopeProvider, p.model.Provider.Name())}
	if p.model.Cluster != "" {
		breakers = append(breakers, registry.Breaker(ktrdr.ScopeCluster, p.model.Cluster))
	}
	err := resilience.Do(ctx, breakers, func(ctx context.Context) error {
		if err := p.reserve(ctx); err != nil {
			return err
		}
		return p.complete(ctx, attempt)
	})
	if p.recalled {
		return nil
	}
	if err == nil {
		return p.pay(ctx, attempt)
	}
	return err
}

// reserve asks the journal for the money, and finds the answer there if it was
// bought before. Its errors say nothing against the model, and are of kinds
// that no breaker counts and no retry repeats.
func (p *purchase) reserve(ctx context.Context) error {
	if p.held != nil {
		return nil
	}
	call, err := p.book(ctx)
	switch code := ktrdr.CodeOf(err); {
	case err == nil && call.Status == ktrdr.CallAnswered:
		return p.take(call)
	case err == nil:
		p.held, p.looked = &call, true
		return nil
	case code == ktrdr.CodeBudget:
		p.looked, p.overBudget = true, p.most
		return &resilience.Error{Kind: resilience.KindBudget, Err: err}
	case code == ktrdr.CodePoison:
		p.looked, p.poisoned = true, true
		p.note(TraceStep{Model: p.model.Name, Decision: Skipped, Reason: reasonOf(err), Kind: resilience.KindCancelled})
	case ctx.Err() == nil:
		p.fatal = fmt.Errorf("journal of calls: %w", err)
	}
	return &resilience.Error{Kind: resilience.KindCancelled, Err: err}
}

// take uses an answer that was bought before.
func (p *purchase) take(call ktrdr.Call) error {
	p.looked = true
	var answer Answer
	if err := json.Unmarshal(call.Answer, &answer); err != nil {
		p.fatal = ktrdr.Errorf(ktrdr.CodeCorrupt, "the journaled answer of call %d cannot be read: %w", call.ID, err)
		return &resilience.Error{Kind: resilience.KindCancelled, Err: p.fatal}
	}
	p.answer, p.recalled = &answer, true
	p.note(TraceStep{Model: call.Model, Decision: Recalled, Reason: fmt.Sprintf("call %d of the journal asked the same", call.ID)})
	return errNothing
}

// complete makes the call and, when it fails, sees to its cost.
func (p *purchase) complete(ctx context.Context, attempt int) error {
	limited, cancel := p.limit(ctx)
	defer cancel()
	start := time.Now()
	answer, err := p.model.Provider.Complete(limited, p.model.ID, p.request)
	if err == nil {
		p.text, err = journaled(answer)
	}
	p.took = time.Since(start)
	kind := resilience.KindOf(err)
	if kind != resilience.KindCancelled {
		p.chain.tried(p.model.Name, p.took, err)
	}
	if err == nil {
		p.answer = &answer
		return nil
	}
	failed := TraceStep{
		Model: p.model.Name, Decision: Failed, Reason: reasonOf(err), Kind: kind, Attempt: attempt, Latency: p.took,
	}
	if mayBeBilled(err) {
		failed.Cost = p.most
		p.settle(ctx, ktrdr.CallEnd{Status: ktrdr.CallFailed, Cost: p.most, Error: reasonOf(err)})
	}
	p.note(failed)
	return err
}

// limit bounds one try. While others wait for their turn before a deadline, a
// server that hangs takes no more than half of what is left.
func (p *purchase) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	most := p.chain.cfg.CallTimeout
	if deadline, ok := ctx.Deadline(); ok && p.others {
		most = min(cmp.Or(most, math.MaxInt64), time.Until(deadline)/2)
	}
	if most == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, most, fmt.Errorf("no answer within %v", most.Round(time.Millisecond)))
}

// journaled is an answer as the journal takes it.
func journaled(a Answer) (json.RawMessage, error) {
	text, err := encode(a)
	if err == nil && len(text) > ktrdr.MaxAnswer {
		err = fmt.Errorf("it has %d bytes, and %d are kept", len(text), ktrdr.MaxAnswer)
	}
	if err != nil {
		return nil, &resilience.Error{Kind: resilience.KindGarbage, Err: fmt.Errorf("the answer cannot be journaled: %w", err)}
	}
	return text, nil
}

// pay settles an answered call. Only then is the answer used: what is used and
// not journaled would be bought again after a crash.
//
// What was reserved is an upper bound, so a server that claims more has not
// counted, nor has one that claims nothing for a model that costs something. It
// is charged at that bound: no claim goes beyond a budget, or around it.
func (p *purchase) pay(ctx context.Context, attempt int) error {
	cost, known := Cost(p.model.Price, p.answer.Usage)
	known = known && (p.most == 0 || p.answer.Usage.plausible())
	answered := TraceStep{Model: p.model.Name, Decision: Answered, Attempt: attempt, Latency: p.took}
	counted := known && cost <= p.most
	if known && !counted {
		answered.Reason = fmt.Sprintf("the server claims tokens for $%.4f, and a call like this can cost $%.4f at most: that was charged",
			cost.USD(), p.most.USD())
		p.chain.cfg.Log.WarnContext(ctx, "server claims more tokens than there can be",
			"model", p.model.full(), "claimed_micro_usd", cost, "charged_micro_usd", p.most)
	}
	if !counted {
		cost = p.most
	}
	answered.Cost = cost
	end := ktrdr.CallEnd{Status: ktrdr.CallAnswered, Cost: cost, Answer: p.text}
	if u := p.answer.Usage; counted {
		end.Input, end.Output = u.Input+u.CacheRead+u.CacheWrite, u.Output
	}
	switch err := p.settleCall(ctx, end); {
	case refuses(err):
		return p.rejectedByJournal(ctx, attempt, err)
	case err != nil:
		p.fatal = p.unsettled(err)
		return &resilience.Error{Kind: resilience.KindCancelled, Err: p.fatal}
	}
	p.held = nil
	p.note(answered)
	return nil
}

// refuses says whether an error of the journal is about what it was given.
func refuses(err error) bool {
	code := ktrdr.CodeOf(err)
	return code == ktrdr.CodeInvalid || code == ktrdr.CodeTooLarge
}

// rejectedByJournal handles an answer that the journal does not take: a failure of the
// model that gave it, and paid for.
func (p *purchase) rejectedByJournal(ctx context.Context, attempt int, err error) error {
	err = &resilience.Error{Kind: resilience.KindGarbage, Err: fmt.Errorf("the answer cannot be journaled: %w", err)}
	p.answer = nil
	p.settle(ctx, ktrdr.CallEnd{Status: ktrdr.CallFailed, Cost: p.most, Error: reasonOf(err)})
	p.note(TraceStep{
		Model: p.model.Name, Decision: Failed, Reason: reasonOf(err), Kind: resilience.KindGarbage,
		Attempt: attempt, Latency: p.took, Cost: p.most,
	})
	return err
}

// recall asks the journal for an answer and buys none: it reserves an amount of 0
// and releases it at once.
func (p *purchase) recall(ctx context.Context) (*Answer, error) {
	err := p.reserve(ctx)
	if p.held != nil {
		p.settle(ctx, ktrdr.CallEnd{Status: ktrdr.CallFailed, Error: ktrdr.NotAsked})
	}
	switch {
	case p.recalled:
		return p.answer, nil
	case p.fatal != nil:
		return nil, p.fatal
	case ctx.Err() != nil || p.poisoned || err == nil:
		return nil, nil //nolint:nilerr // there is no answer, and that is not the journal's fault
	}
	return nil, err
}

// mayBeBilled says whether the model may have begun to work: not when no server
// was reached, and not when the complete answer was a refusal. A
// gateway that gave up waiting says nothing about the server behind it.
func mayBeBilled(err error) bool {
	if errors.Is(err, ErrNotSent) {
		return false
	}
	e, ok := errors.AsType[*resilience.Error](err)
	return !ok || e.Status < 300 || e.Kind == resilience.KindTimeout
}

const maxReason = 500

// reasonOf is an error as a trace and the journal keep it.
func reasonOf(err error) string {
	return text.Cut(ktrdr.CleanText(err.Error()), maxReason)
}

// storeTime is how long an unavailable store is retried.
const storeTime = 10 * time.Second

var storeRetries = backoff.Policy{First: 100 * time.Millisecond}

// book reserves, and waits a little for a store that is away. A reservation that
// may have been made is made again: the first, if there is one, stays charged.
func (p *purchase) book(ctx context.Context) (ktrdr.Call, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	for try := 0; ; try++ {
		call, err := p.chain.cfg.Journal.ReserveCall(ctx, ktrdr.NewCall{
			Operation: p.ask.Operation, Epoch: p.ask.Epoch, Key: p.trace.Key, Model: p.model.full(),
			Most: p.most, Daily: p.chain.cfg.Daily, Research: p.ask.Research,
		})
		if !away(err) || !storeRetries.Wait(ctx, try) {
			return call, err
		}
	}
}

// away says whether an error is that of a store that may soon be there again.
func away(err error) bool {
	code := ktrdr.CodeOf(err)
	return code == ktrdr.CodeUnavailable || code == ktrdr.CodeUnknownResult
}

// settle ends the call that is held. What cannot be settled is fatal, and stays
// reserved.
func (p *purchase) settle(ctx context.Context, end ktrdr.CallEnd) {
	if err := p.settleCall(ctx, end); err != nil {
		p.fatal = p.unsettled(err)
		return
	}
	p.held = nil
}

func (p *purchase) unsettled(err error) error {
	return fmt.Errorf("call %d to %s could not be settled: %w", p.held.ID, p.model.full(), err)
}

// settleCall has the journal end the call that is held, also when the caller is gone:
// what was paid was paid. The same end may be settled twice.
func (p *purchase) settleCall(ctx context.Context, end ktrdr.CallEnd) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	end.ID = p.held.ID
	for try := 0; ; try++ {
		err := p.chain.cfg.Journal.SettleCall(ctx, end)
		if err == nil || !ktrdr.CodeOf(err).Retryable() || !storeRetries.Wait(ctx, try) {
			return err
		}
	}
}
