package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
)

const (
	claimColumns = `operation_id, research_id, strategy, symbols, timeframe, made_up, sharpe, shrunk, p, adjusted_p, claimed_at,
		rung, hold, reason, from_at, bars, last_bar, e, max_e, detected_bar, retire_e, max_retire_e, retired_bar,
		net_return, living_sharpe, step_id, stepped_at, seen, state`

	selectLiving   query = `SELECT ` + claimColumns + ` FROM claims ORDER BY claimed_at DESC, operation_id DESC`
	selectLivingOf query = `SELECT ` + claimColumns + ` FROM claims WHERE operation_id = $1`
	insertClaim    query = `INSERT INTO claims (operation_id, research_id, strategy, symbols, timeframe, made_up, sharpe, shrunk, p,
		adjusted_p, claimed_at) SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT),
		CAST($6 AS INTEGER),
			CAST($7 AS DOUBLE PRECISION), CAST($8 AS DOUBLE PRECISION), CAST($9 AS DOUBLE PRECISION), CAST($10 AS DOUBLE PRECISION),
			COALESCE((SELECT ended_at FROM looks WHERE operation_id = $1 AND ended_at IS NOT NULL), {now})
		ON CONFLICT (operation_id) DO NOTHING`
	isClaim query = `SELECT COUNT(*) FROM looks WHERE operation_id = $1 AND claim = 1`

	// A step that saw fewer bars than another one that has ended changes nothing.
	updateClaim query = `UPDATE claims SET rung = $2, hold = $3, reason = $4, from_at = $5, bars = $6, last_bar = $7, e = $8, max_e = $9,
			detected_bar = $10, retire_e = $11, max_retire_e = $12, retired_bar = $13, net_return = $14, living_sharpe = $15, step_id = $16,
			stepped_at = {now}, seen = $17, state = $18
		WHERE operation_id = $1 AND last_bar <= $7`
	holdClaim query = `UPDATE claims SET hold = $2, reason = $3, step_id = $4, stepped_at = {now}, seen = $5 WHERE operation_id = $1`

	// Of the library, not of a step. A step may have held the claim before: it looks again when this one ends.
	holdOfLibrary query = `UPDATE claims SET hold = $2, reason = $3, seen = CASE WHEN $2 = '' THEN $4 ELSE seen END
		WHERE operation_id = $1 AND rung <> 'retired'`
)

var scanClaim = fields(func(c *ktrdr.LivingClaim) []any {
	return []any{
		&c.Operation, &c.Research, &c.Strategy, &c.Symbols, &c.Timeframe, fromBit(&c.MadeUp), &c.Sharpe, &c.Shrunk, &c.P, &c.Adjusted,
		(*moment)(&c.ClaimedAt), &c.Rung, &c.Hold, &c.Reason, (*moment)(&c.From), &c.Bars, (*moment)(&c.Last), &c.E, &c.MaxE,
		(*moment)(&c.Detected), &c.RetireE, &c.MaxRetire, (*moment)(&c.Retired), &c.Return, &c.LivingSR, &c.Step,
		(*moment)(&c.SteppedAt), (*digest)(&c.Seen), (*document)(&c.State),
	}
})

// Claims implements ktrdr.Claims.
func (s *Store) Claims(ctx context.Context) ([]ktrdr.LivingClaim, error) {
	return readAll(ctx, s, scanClaim, selectLiving)
}

// ClaimOf implements ktrdr.Claims.
func (s *Store) ClaimOf(ctx context.Context, id ktrdr.OperationID) (ktrdr.LivingClaim, error) {
	if !id.Valid() {
		return ktrdr.LivingClaim{}, noClaim(id)
	}
	c, err := readRow(ctx, s, scanClaim, selectLivingOf, id)
	return c, ifNoRow(err, noClaim(id))
}

func noClaim(id ktrdr.OperationID) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no claim %q; `ktrdr claims` lists them", clip(string(id)))
}

// AddClaim implements ktrdr.Claims.
func (s *Store) AddClaim(ctx context.Context, c ktrdr.NewClaim) error {
	if !c.Operation.Valid() {
		return noClaim(c.Operation)
	}
	return s.write(ctx, normal, func(t *tx) error {
		n, err := scanValue[int](t.row(ctx, isClaim, c.Operation))
		if err != nil {
			return err
		}
		if n == 0 {
			return ktrdr.Errorf(ktrdr.CodeNotFound, "no look of the operation %s claims an edge", c.Operation)
		}
		addClaim(ctx, t, c)
		return nil
	})
}

// HoldClaim implements ktrdr.Claims.
func (s *Store) HoldClaim(ctx context.Context, id ktrdr.OperationID, hold ktrdr.ClaimHold, reason string) error {
	if !id.Valid() {
		return noClaim(id)
	}
	return s.write(ctx, normal, func(t *tx) error {
		if _, err := scanClaim(t.row(ctx, selectLivingOf, id)); err != nil {
			return ifNoRow(err, noClaim(id))
		}
		t.wake()
		t.later(ctx, holdOfLibrary, id, hold, shortened(reason), hashText(ktrdr.Hash{}))
		return nil
	})
}

// addClaim adds the row of a claim, once.
func addClaim(ctx context.Context, t *tx, c ktrdr.NewClaim) {
	t.wake()
	t.later(ctx, insertClaim, c.Operation, c.Research, shortened(c.Strategy), shortened(c.Symbols), shortened(c.Timeframe),
		optionalBit(c.MadeUp), finite(c.Sharpe), finite(c.Shrunk), finite(c.P), finite(c.Adjusted))
}

// advanceClaim stores what a step found. One that stopped changes no figure.
func advanceClaim(ctx context.Context, t *tx, step ktrdr.OperationID, a ktrdr.ClaimAdvance) error {
	t.wake()
	fault.Hit(fault.ClaimAdvancing)
	seen := hashText(a.Seen)
	if a.Hold != ktrdr.ClaimFollowed {
		t.later(ctx, holdClaim, a.Claim, a.Hold, shortened(a.Reason), step, seen)
		return nil
	}
	was, err := scanClaim(t.row(ctx, selectLivingOf, a.Claim))
	if errors.Is(err, sql.ErrNoRows) {
		return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no such claim")
	}
	if err != nil {
		return err
	}
	if was.Rung == ktrdr.ClaimRetired || was.Rung == ktrdr.ClaimLiving && a.Rung == ktrdr.ClaimConfirmed {
		a.Rung = was.Rung
	}
	t.later(ctx, updateClaim, a.Claim, a.Rung, a.Hold, shortened(a.Reason), micros(a.From), a.Bars, micros(a.Last), a.E, a.MaxE,
		micros(a.Detected), a.RetireE, a.MaxRetire, micros(a.Retired), finite(a.Return), finite(a.LivingSR), step, seen, optional(a.State))
	return nil
}
