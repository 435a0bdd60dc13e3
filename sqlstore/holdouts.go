package sqlstore

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Which looks a holdout pays for. Each holdout keeps how many looks of its market are
// past: they showed none of its bars.
//
//	a holdout is set            ──▶ all looks so far are past, but for claims that continue
//	a look ends before it begins ──▶ one more is past
//	such a look claims          ──▶ one less: the claim is followed over its bars
//	markets are merged          ──▶ one holdout, and none is past
const (
	selectHoldouts query = `SELECT from_at, looks - e.looks_past, replaced_at FROM earlier_holdouts AS e JOIN markets ON id = market_id
		WHERE market_id = $1
		UNION ALL SELECT holdout_from, looks - looks_past, 0 FROM markets WHERE id = $1 AND holdout_from IS NOT NULL ORDER BY 1`
	selectAllHoldouts query = `SELECT market_id, from_at, looks - e.looks_past, replaced_at FROM earlier_holdouts AS e
		JOIN markets ON id = market_id
		UNION ALL SELECT id, holdout_from, looks - looks_past, 0 FROM markets WHERE holdout_from IS NOT NULL ORDER BY 1, 2`
	selectRenewed query = `SELECT COALESCE(holdout_from, 0), looked_until, looks FROM markets WHERE id = $1`

	keepHoldout query = `INSERT INTO earlier_holdouts (market_id, from_at, looks_past, replaced_at)
		SELECT id, holdout_from, looks_past, {now} FROM markets WHERE id = $1`
	renewHoldout query = `UPDATE markets SET holdout_from = $2, looks_past = looks - $3 WHERE id = $1`

	// Claims whose bars the new holdout holds or will hold: those that are followed, and
	// those that were followed until it begins or later. A bar is at most a week long.
	selectContinued query = `SELECT l.operation_id FROM look_markets AS m JOIN looks AS l ON l.key = m.look_key
		LEFT JOIN claims AS c ON c.operation_id = l.operation_id
		WHERE m.market_id = $1 AND l.claim = 1 AND (c.rung IS NULL OR c.rung <> 'retired' OR c.last_bar >= $2) ORDER BY l.operation_id`

	// The holdout of a look that does not trade the newest one.
	selectHoldoutAt query = `SELECT from_at, looks_past FROM earlier_holdouts WHERE market_id = $1 AND from_at <= $2
		ORDER BY from_at DESC LIMIT 1`
)

// These change how many looks are past in the holdouts of the markets of look $1 that
// begin at $2 or later. The first holdout of a market pays for all looks.
var onePast, onePastLess = pastBy("+ 1"), pastBy("- 1")

func pastBy(change string) []query {
	const ofLook = ` IN (SELECT market_id FROM look_markets WHERE look_key = $1)`
	return []query{
		query(`UPDATE markets SET looks_past = looks_past ` + change + ` WHERE id` + ofLook +
			` AND holdout_from >= $2 AND id IN (SELECT market_id FROM earlier_holdouts)`),
		query(`UPDATE earlier_holdouts SET looks_past = looks_past ` + change + ` WHERE market_id` + ofLook +
			` AND from_at >= $2 AND from_at > (SELECT MIN(e.from_at) FROM earlier_holdouts AS e WHERE e.market_id = earlier_holdouts.market_id)`),
	}
}

const longestBar = 7 * 24 * time.Hour

var scanHoldout = fields(func(h *ktrdr.Holdout) []any {
	return []any{(*moment)(&h.From), &h.Looks, (*moment)(&h.ReplacedAt)}
})

// RenewHoldouts implements ktrdr.Markets.
func (s *Store) RenewHoldouts(ctx context.Context, renew []ktrdr.NewHoldout) error {
	ids := make([]string, len(renew))
	for i, n := range renew {
		if err := n.Check(n.From); err != nil {
			return err
		}
		ids[i] = n.Market
	}
	if len(renew) == 0 {
		return nil
	}
	return s.write(ctx, normal, func(t *tx) error {
		locked, err := lockMarkets(ctx, t, ids)
		if err != nil {
			return err
		}
		t.wake()
		for _, n := range renew {
			if err := renewOne(ctx, t, locked[n.Market].id, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// renewOne replaces the holdout of a market, whose row is locked.
func renewOne(ctx context.Context, t *tx, market string, n ktrdr.NewHoldout) error {
	var from, until time.Time
	e := ktrdr.HoldoutEntry{From: n.From.UTC(), HoldoutLength: n.HoldoutLength}
	if err := t.row(ctx, selectRenewed, market).Scan((*moment)(&from), (*moment)(&until), &e.Looks); err != nil {
		return err
	}
	switch {
	case from.Equal(n.From):
		return nil
	case !from.Equal(n.Before):
		return ktrdr.Errorf(ktrdr.CodeConflict, "another request has just set the start of the holdout of %s to %s: send this request again",
			market, instantText(from))
	case !until.Equal(n.LookedUntil):
		return ktrdr.Errorf(ktrdr.CodeConflict,
			"another look at %s was just reserved, and looks have used bars until %s: send this request again",
			market, instantText(until))
	}
	var err error
	if e.Claims, err = collect(ctx, t, scanValue[ktrdr.OperationID], selectContinued, market, micros(n.From.Add(-longestBar))); err != nil {
		return err
	}
	t.later(ctx, keepHoldout, market)
	t.later(ctx, renewHoldout, market, micros(n.From), len(e.Claims))
	e.Before, e.LookedUntil, e.Until = e.Before.UTC(), e.LookedUntil.UTC(), e.Until.UTC()
	return addLink(ctx, t, market, ktrdr.ChainEntry{Kind: ktrdr.ChainHoldout, Holdout: &e})
}

func instantText(at time.Time) string { return at.UTC().Format("2006-01-02 15:04") }

// countPast notes which holdouts show none of the bars of a look that was reserved. Its
// markets are locked. A look that names no bars may have shown all of them.
func countPast(ctx context.Context, t *tx, l *ktrdr.Look, change []query) {
	last := ktrdr.LookedUntil(l.Spans)
	if last.IsZero() {
		return
	}
	for _, text := range change {
		t.later(ctx, text, l.Key, micros(last))
	}
}
