package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// Queue is a line that parents stand in.
type Queue struct {
	Name string
	// Limit says how many of its parents may be live, given the workers there
	// are, live or not; less than 1 is taken for 1.
	Limit func(workers []ktrdr.Worker) int
}

func (q Queue) limit(workers []ktrdr.Worker) int { return max(1, q.Limit(workers)) }

const (
	queuePause = 20 * time.Millisecond // hints in this time are taken together
	queueStep  = time.Second           // the store's hints may get lost; this is the truth
	askStep    = 2 * time.Second       // between two askings of all plans
)

// limited fills in the limit of the queue that a new parent is to stand in.
func (e *Engine) limited(ctx context.Context, q ktrdr.Queue) (ktrdr.Queue, error) {
	i := slices.IndexFunc(e.config.Queues, func(known Queue) bool { return known.Name == q.Name })
	if i < 0 {
		return q, ktrdr.Errorf(ktrdr.CodeInvalid, "this backend has no queue %.40q; it has %s", q.Name, e.queueNames())
	}
	workers, err := e.list(ctx)
	if err != nil {
		return q, err
	}
	q.Limit = e.config.Queues[i].limit(workers)
	return q, nil
}

func (e *Engine) queueNames() string {
	if len(e.config.Queues) == 0 {
		return "none"
	}
	return strings.Join(text.Map(e.config.Queues, func(q Queue) string { return q.Name }), ", ")
}

// startQueued starts parents whose turn has come: whenever something changed, and at every step.
func (e *Engine) startQueued(ctx context.Context) {
	if len(e.config.Queues) == 0 {
		return
	}
	step := time.NewTimer(queueStep)
	defer step.Stop()
	pause := time.NewTimer(queuePause)
	defer pause.Stop()
	for {
		hint := e.store.Changed() // taken before looking, so that nothing between is missed
		for _, q := range e.config.Queues {
			if err := e.startOne(ctx, q); err != nil && ctx.Err() == nil {
				e.log.WarnContext(ctx, "queue not moved", "queue", q.Name, "err", err)
			}
		}
		pause.Reset(queuePause)
		step.Reset(queueStep)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-hint:
		case <-step.C:
		}
	}
}

func (e *Engine) startOne(ctx context.Context, q Queue) error {
	workers, err := e.list(ctx)
	if err != nil {
		return err
	}
	n, err := e.store.StartQueued(ctx, q.Name, q.limit(workers))
	if n > 0 {
		e.log.InfoContext(ctx, "waiting operations started", "queue", q.Name, "count", n)
	}
	return err
}

// askPlans asks all plans at every step: it finds work that no event has announced.
func (e *Engine) askPlans(ctx context.Context) {
	e.every(ctx, askStep, func() {
		n, err := e.store.AskPlans(ctx)
		if n > 0 {
			e.log.InfoContext(ctx, "parents moved on that had missed something", "count", n)
		}
		if err != nil && ctx.Err() == nil {
			e.log.WarnContext(ctx, "plans not asked", "err", err)
		}
	})
}

// healthOfQueues returns the health of every queue, also of an empty one.
func (e *Engine) healthOfQueues(ctx context.Context, workers []ktrdr.Worker) (map[string]ktrdr.QueueHealth, error) {
	all := make(map[string]ktrdr.QueueHealth, len(e.config.Queues))
	if len(e.config.Queues) == 0 {
		return all, nil
	}
	counts, err := e.store.QueueCounts(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range e.config.Queues {
		h := ktrdr.QueueHealth{Limit: q.limit(workers)}
		for _, c := range counts {
			if c.Name == q.Name {
				h.Active, h.Waiting = c.Active, c.Waiting
			}
		}
		all[q.Name] = h
	}
	return all, nil
}
