package compute

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

// Submitter starts operations.
type Submitter interface {
	Submit(ctx context.Context, op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error)
}

// Follower starts the fetches that keep series current.
//
//	turn of a series = a multiple of its interval ──key──▶ one fetch, of whichever backend is first
//
// Which turns had their fetch is known by the idempotency key of the operation. So it needs
// no row of its own, a killed backend starts no second one, and of several backends one
// starts it. A turn that was missed is not made up for: a fetch continues where the series ends.
type Follower struct {
	desk   *Service
	engine Submitter
	begun  map[string]int64 // by series: the newest turn that was started
}

// NewFollower makes the Follower of a desk.
func NewFollower(desk *Service, engine Submitter) *Follower {
	return &Follower{desk, engine, map[string]int64{}}
}

// Follow starts the fetches whose turn has come. The error joins what went wrong with some;
// the others were started.
func (f *Follower) Follow(ctx context.Context, now time.Time) (started []ktrdr.Operation, err error) {
	all, err := f.desk.cfg.Library.Follows(ctx)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, s := range all {
		turn, due := turnOf(s, now)
		if !due || f.begun[s.Name()] == turn { // not >=: a clock that was ahead for a moment stops nothing
			continue
		}
		op, err := f.start(ctx, s, turn)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", s.Name(), err))
			if code := ktrdr.CodeOf(err); code.Retryable() || code == ktrdr.CodeInternal {
				continue
			}
		} else if op.ID != "" {
			started = append(started, op)
		}
		f.begun[s.Name()] = turn
	}
	return started, errors.Join(problems...)
}

// turnOf is the newest turn of a series, and whether its bars may be there: sources need
// some time after a bar has closed.
func turnOf(s jobs.Follow, now time.Time) (turn int64, due bool) {
	turn = now.Unix() - now.Unix()%s.Seconds
	return turn, now.Unix()-turn >= min(60, s.Seconds/10)
}

// start starts the fetch of a turn. While an earlier one of the series runs it starts nothing:
// that one brings what is there.
func (f *Follower) start(ctx context.Context, s jobs.Follow, turn int64) (op ktrdr.Operation, err error) {
	running, err := f.desk.cfg.Operations.List(ctx, ktrdr.OperationQuery{
		Type: []ktrdr.Type{ktrdr.DataFetch}, ActiveOnly: true, Limit: 1000,
	})
	if err != nil {
		return op, err
	}
	for _, r := range running.Operations {
		spec, err := ktrdr.ParseSpec[jobs.FetchSpec](r.Spec)
		if err == nil && spec.Symbol == s.As && string(spec.Timeframe) == s.Timeframe {
			return op, nil
		}
	}
	made, err := f.desk.DataFetch(ctx, s.Request())
	if err != nil {
		return op, err
	}
	key := fmt.Sprintf("follow %s %d", s.Name(), turn)
	return f.engine.Submit(ctx, made.Operation, ktrdr.IdempotencyKey{Key: key, Body: sha256.Sum256([]byte(key))})
}
