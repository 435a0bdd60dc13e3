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

// Follower starts the fetches and imports that keep series current.
//
//	turn of a series = a multiple of its interval ──key──▶ one fetch, of whichever backend is first
//	file of a folder = its name and its bytes ──key──▶ one import
//
// What was started already is known by the idempotency key of the operation, and for files by
// the operation itself. So it needs no row of its own, a killed backend starts no second one,
// and of several backends one starts it. A turn that was missed is not made up for: a fetch
// continues where the series ends.
type Follower struct {
	desk    *Service
	engine  Submitter
	begun   map[string]int64        // by series or folder: the newest turn that is done with
	folders map[string]*folderWatch // by folder
}

// NewFollower makes the Follower of a desk.
func NewFollower(desk *Service, engine Submitter) *Follower {
	return &Follower{desk, engine, map[string]int64{}, map[string]*folderWatch{}}
}

// Follow starts what the turns that have come need. The error joins what went wrong with some;
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
		begin := f.fetch
		if s.Folder != "" {
			begin = f.watch
		}
		ops, done, err := begin(ctx, s, turn)
		started = append(started, ops...)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", s.Label(), err))
		}
		if done {
			f.begun[s.Name()] = turn
		}
	}
	return started, errors.Join(problems...)
}

// turnOf is the newest turn, and whether its bars may be there: sources need some time after
// a bar has closed.
func turnOf(s jobs.Follow, now time.Time) (turn int64, due bool) {
	turn = now.Unix() - now.Unix()%s.Seconds
	return turn, now.Unix()-turn >= min(60, s.Seconds/10)
}

// fetch starts the fetch of a turn; done says that the turn needs no more. While an earlier one
// of the series runs it starts nothing: that one brings what is there.
func (f *Follower) fetch(ctx context.Context, s jobs.Follow, turn int64) (started []ktrdr.Operation, done bool, err error) {
	active, err := f.active(ctx, ktrdr.DataFetch)
	if err != nil {
		return nil, false, err
	}
	for _, r := range active {
		spec, err := ktrdr.ParseSpec[jobs.FetchSpec](r.Spec)
		if err == nil && spec.Symbol == s.As && string(spec.Timeframe) == s.Timeframe {
			return nil, true, nil
		}
	}
	spec, err := f.desk.fetchDraft(ctx, s.Request())
	if err != nil {
		return nil, !again(err), err
	}
	spec.Turn = turn // what its source refuses fails as an operation, so that the list of what is followed shows it
	op, err := f.submit(ctx, ktrdr.DataFetch, spec, spec.Symbol, fmt.Sprintf("follow %s %d", s.Name(), turn))
	if err != nil {
		return nil, !again(err), err
	}
	return []ktrdr.Operation{op}, true, nil
}

// again says whether what went wrong may go well in the same turn.
func again(err error) bool {
	code := ktrdr.CodeOf(err)
	return code.Retryable() || code == ktrdr.CodeInternal
}

func (f *Follower) active(ctx context.Context, t ktrdr.Type) ([]ktrdr.Operation, error) {
	page, err := f.desk.cfg.Operations.List(ctx, ktrdr.OperationQuery{Type: []ktrdr.Type{t}, ActiveOnly: true, Limit: 1000})
	return page.Operations, err
}

func (f *Follower) submit(ctx context.Context, t ktrdr.Type, spec any, symbol, key string) (ktrdr.Operation, error) {
	op, err := operation(t, spec, about{Symbols: []string{symbol}})
	if err != nil {
		return ktrdr.Operation{}, err
	}
	return f.engine.Submit(ctx, op, ktrdr.IdempotencyKey{Key: key, Body: sha256.Sum256([]byte(key))})
}
