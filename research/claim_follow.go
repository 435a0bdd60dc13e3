package research

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

// ClaimStore is what a ClaimFollower needs of the engine.
type ClaimStore interface {
	Claims(ctx context.Context) ([]ktrdr.LivingClaim, error)
	AddClaim(ctx context.Context, c ktrdr.NewClaim) error
	HoldClaim(ctx context.Context, id ktrdr.OperationID, hold ktrdr.ClaimHold, reason string) error
	Looks(ctx context.Context, q ktrdr.LookQuery) (ktrdr.LookPage, error)
	LookOf(ctx context.Context, op ktrdr.OperationID) (ktrdr.Look, error)
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
	Submit(ctx context.Context, op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error)
	Paused(ctx context.Context) (bool, error)
}

// ClaimFollower creates the steps that follow claims over new bars.
//
//	import, append ──▶ the series of a claim is another than its last step saw ──▶ claim_step
//	                   a severe finding that no person accepts ──▶ the claim is held, until bars without it come
//	delete, rename ──▶ the claim is held, until the bars are back
//
// It remembers nothing. What is due it reads from the rows, so that any number of backends may
// follow the same claims: a step is created once for each claim and state of the library.
type ClaimFollower struct {
	store   ClaimStore
	library *library.Library
}

// NewClaimFollower makes a ClaimFollower.
func NewClaimFollower(s ClaimStore, l *library.Library) *ClaimFollower { return &ClaimFollower{s, l} }

// Adopt adds the claims of looks that ended in an earlier version.
func (f *ClaimFollower) Adopt(ctx context.Context) error {
	claims, err := f.store.Claims(ctx)
	if err != nil {
		return err
	}
	known := map[ktrdr.OperationID]bool{}
	for _, c := range claims {
		known[c.Operation] = true
	}
	var errs []error
	for cursor := ""; ; {
		page, err := f.store.Looks(ctx, ktrdr.LookQuery{Claims: true, Limit: 1000, Cursor: cursor})
		if err != nil {
			return err
		}
		for _, l := range page.Looks {
			if l.Kind != ktrdr.LookConfirmation || known[l.Operation] {
				continue
			}
			op, err := f.store.Operation(ctx, l.Operation)
			if err == nil {
				if c := ClaimOf(op); c != nil {
					err = f.store.AddClaim(ctx, *c)
				}
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("claim %s: %w", l.Operation, err))
			}
		}
		if cursor = page.Next; cursor == "" {
			return errors.Join(errs...)
		}
	}
}

// Follow creates the steps that are due and returns them, and holds the claims whose bars cannot be
// followed. One claim's error stops no other. While claiming is paused nothing starts.
func (f *ClaimFollower) Follow(ctx context.Context) (started []ktrdr.Operation, err error) {
	claims, err := f.store.Claims(ctx)
	if err != nil || len(claims) == 0 {
		return nil, err
	}
	paused, err := f.store.Paused(ctx)
	if err != nil {
		return nil, err
	}
	series, err := f.library.List(ctx)
	if err != nil {
		return nil, err
	}
	held := map[[2]string]jobs.SeriesInfo{}
	for _, s := range series {
		held[[2]string{s.Symbol, string(s.Timeframe)}] = s
	}
	var errs []error
	for _, c := range claims {
		if c.Rung == ktrdr.ClaimRetired {
			continue
		}
		op, err := f.follow(ctx, c, held, paused)
		if err != nil {
			errs = append(errs, fmt.Errorf("claim %s: %w", c.Operation, err))
		}
		if op != nil {
			started = append(started, *op)
		}
	}
	return started, errors.Join(errs...)
}

// follow creates the step of a claim; nil if none is due.
func (f *ClaimFollower) follow(ctx context.Context, c ktrdr.LivingClaim, held map[[2]string]jobs.SeriesInfo,
	paused bool,
) (*ktrdr.Operation, error) {
	confirmed, err := f.store.Operation(ctx, c.Operation)
	if err != nil {
		return nil, err
	}
	spec, err := ktrdr.ParseSpec[ConfirmSpec](confirmed.Spec)
	if err != nil {
		return nil, err
	}
	hold, reason := heldBy(spec.Holdout, held)
	if hold == ktrdr.ClaimFollowed && c.Hold.OfLibrary() {
		c.Seen = ktrdr.Hash{} // as HoldClaim leaves it
	}
	if hold != ktrdr.ClaimFollowed || c.Hold.OfLibrary() {
		if c.Hold != hold || c.Reason != reason {
			err = f.store.HoldClaim(ctx, c.Operation, hold, reason)
		}
		if err != nil || hold != ktrdr.ClaimFollowed {
			return nil, err
		}
	}
	if paused {
		return nil, nil
	}
	var current []jobs.Bars
	newest := time.Time{}
	for _, b := range spec.Holdout {
		s := held[[2]string{b.Symbol, string(b.Timeframe)}]
		current = append(current, s.Pinned())
		if end := time.Unix(s.Timeframe.End(s.Last), 0); end.After(newest) {
			newest = end
		}
	}
	if Seen(current) == c.Seen {
		return nil, nil
	}
	if c.Bars == 0 { // nothing was followed yet: is there a bar after the last one of the look?
		until, err := f.until(ctx, c)
		if err != nil || !newest.After(until) {
			return nil, err
		}
	}
	op, key, err := ClaimStepOf(confirmed, c, current)
	if err != nil {
		return nil, err
	}
	made, err := f.store.Submit(ctx, op, key)
	if err != nil || made.Status.Terminal() { // an earlier one, which saw the same bars
		return nil, err
	}
	return &made, nil
}

// heldBy says which of a claim's series cannot be followed: it is not in the library, or its prices may be
// wrong, by which a claim neither gains nor loses.
func heldBy(bars []jobs.Bars, library map[[2]string]jobs.SeriesInfo) (ktrdr.ClaimHold, string) {
	for _, b := range bars {
		s, there := library[[2]string{b.Symbol, string(b.Timeframe)}]
		if !there {
			return ktrdr.ClaimMissing, fmt.Sprintf("the library has no %s bars of %s: import them again, with the new ones after them",
				b.Timeframe, b.Symbol)
		}
		if open := s.Unaccepted(); len(open) > 0 {
			rules := make([]string, len(open))
			for i, f := range open {
				rules[i] = string(f.Rule)
			}
			return ktrdr.ClaimFindings, fmt.Sprintf("the %s bars of %s have %s that no person accepts (%s): `ktrdr data check %s %s` shows more",
				b.Timeframe, b.Symbol, text.Counted(len(open), "severe finding"), strings.Join(rules, ", "), b.Symbol, b.Timeframe)
		}
	}
	return ktrdr.ClaimFollowed, ""
}

// until is the close of the last bar that the look of a claim read.
func (f *ClaimFollower) until(ctx context.Context, c ktrdr.LivingClaim) (last time.Time, err error) {
	look, err := f.store.LookOf(ctx, c.Operation)
	if err != nil {
		return last, err
	}
	var spans []struct {
		Timeframe market.Timeframe `json:"timeframe"`
		To        time.Time        `json:"to"`
	}
	if err := json.Unmarshal(look.Spans, &spans); err != nil {
		return last, ktrdr.Errorf(ktrdr.CodeCorrupt, "the spans of the look: %w", err)
	}
	for _, s := range spans {
		if s.To.After(last) {
			last = s.To
		}
	}
	return last, nil
}
