package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
)

const (
	lookColumns = `key, operation_id, kind, research_id, run, generation, strategy, before, spans, reserved_at,
		COALESCE(ended_at, 0), p, adjusted_p, claim, hash, result`

	selectLook   query = `SELECT ` + lookColumns + ` FROM looks WHERE key = $1`
	selectLookOf query = `SELECT ` + lookColumns + ` FROM looks WHERE key = (SELECT look FROM operations WHERE id = $1 AND look <> '')`
	insertLook   query = `INSERT INTO looks (key, operation_id, kind, research_id, run, generation, strategy, before, spans, reserved_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, {now})`
	takeNumber query = `UPDATE markets SET looks = looks + 1, tried_at = {now} WHERE id = $1
		RETURNING looks, looks_past, COALESCE(holdout_from, 0)`
	insertNumber query = `INSERT INTO look_markets (market_id, number, look_key, holdout_from) VALUES ($1, $2, $3, $4)`
	setLooked    query = `UPDATE markets SET looked_until = COALESCE(NULLIF(CAST($2 AS BIGINT), 0), {now})
		WHERE id = $1 AND looked_until < COALESCE(NULLIF(CAST($2 AS BIGINT), 0), {now})`
	selectNumbers query = `SELECT market_id, number, holdout_from FROM look_markets WHERE look_key = $1 ORDER BY market_id, number`
	endLookOnce   query = `UPDATE looks SET ended_at = {now}, p = $2, adjusted_p = $3, claim = $4, hash = $5, result = $6
		WHERE key = (SELECT look FROM operations WHERE id = $1 AND look <> '') AND ended_at IS NULL`
)

// reserveLook gives a look its number on each of its markets, which are locked. A
// key that was used before returns the first look.
func reserveLook(
	ctx context.Context, t *tx, op ktrdr.OperationID, place ktrdr.Queue, n ktrdr.NewLook, markets map[string]lockedMarket, spec ktrdr.Hash,
) (ktrdr.Look, error) {
	var ids []string
	for _, m := range n.Markets {
		ids = append(ids, markets[m].id)
	}
	if first, err := loadLook(ctx, t, selectLook, n.Key); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		if err == nil && !covers(first, ids) {
			err = ktrdr.Errorf(ktrdr.CodeKeyReused, "the look %q was at other markets; look again under another key", clip(n.Key))
		}
		return first, err
	}
	ids = distinct(ids)
	before, numbers := 0, make([]ktrdr.LookMarket, len(ids))
	for i, id := range ids {
		paid, err := takeNumberOf(ctx, t, id, n, &numbers[i])
		if err != nil {
			return ktrdr.Look{}, err
		}
		before = max(before, paid-1)
	}
	spans := "[]"
	if len(n.Spans) > 0 {
		spans = string(n.Spans)
	}
	for i, id := range ids {
		err := chainLook(ctx, t, id, ktrdr.LookEntry{
			Key: n.Key, Operation: op, Kind: n.Kind, Research: n.Research, Run: place.Run, Generation: place.Generation,
			Number: numbers[i].Number, Before: before, Holdout: numbers[i].Holdout, Spec: spec, Spans: json.RawMessage(spans),
		})
		if err != nil {
			return ktrdr.Look{}, err
		}
	}
	t.later(ctx, insertLook, n.Key, op, n.Kind, n.Research, place.Run, place.Generation, shortened(n.Strategy), before, spans)
	t.wake()
	fault.Hit(fault.LookReserved)
	look, err := loadLook(ctx, t, selectLook, n.Key)
	if err == nil {
		countPast(ctx, t, &look, onePast)
	}
	return look, err
}

// takeNumberOf gives a look its number on a market, and returns how many looks it pays
// for, itself included: those at its holdout.
func takeNumberOf(ctx context.Context, t *tx, market string, n ktrdr.NewLook, m *ktrdr.LookMarket) (paid int, err error) {
	var past int
	m.Market = market
	if err := t.row(ctx, takeNumber, market).Scan(&m.Number, &past, (*moment)(&m.Holdout)); err != nil {
		return 0, err
	}
	if !n.Holdout.IsZero() && n.Holdout.Before(m.Holdout) {
		err := t.row(ctx, selectHoldoutAt, market, micros(n.Holdout)).Scan((*moment)(&m.Holdout), &past)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
	}
	t.later(ctx, insertNumber, market, m.Number, n.Key, micros(m.Holdout))
	t.later(ctx, setLooked, market, micros(ktrdr.LookedUntil(n.Spans)))
	return m.Number - past, nil
}

// covers says whether a look has a number on all of the markets.
func covers(l ktrdr.Look, ids []string) bool {
	for _, id := range ids {
		if !slices.ContainsFunc(l.Markets, func(m ktrdr.LookMarket) bool { return m.Market == id }) {
			return false
		}
	}
	return true
}

// checkLook refuses what could not be stored.
func checkLook(n ktrdr.NewLook) error {
	switch {
	case n.Kind != ktrdr.LookConfirmation && n.Kind != ktrdr.LookByHand:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a kind of look", clip(string(n.Kind)))
	case len(n.Markets) == 0 || !storable(n.Key, 255) || n.Research != "" && !n.Research.Valid():
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a look is at one market at least, has a key of at most 255 bytes, and names a research by its id")
	case slices.ContainsFunc(n.Markets, func(id string) bool { return !storable(id, 64) }):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a look names its markets by their ids; `ktrdr data list` shows them")
	case len(n.Spans) > ktrdr.InlineState || len(n.Spans) > 0 && !validJSON(n.Spans):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the spans of a look are JSON of at most %d bytes", ktrdr.InlineState)
	}
	return nil
}

// endLook stores what a look showed, once.
func endLook(ctx context.Context, t *tx, op ktrdr.OperationID, r ktrdr.LookResult) error {
	if len(r.Result) > 0 && !validJSON(r.Result) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "what it showed is not valid JSON")
	}
	t.wake()
	look, err := loadLook(ctx, t, selectLookOf, string(op))
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound || err == nil && !look.EndedAt.IsZero() {
		return nil
	}
	if err != nil {
		return err
	}
	t.later(ctx, endLookOnce, op, finite(r.P), finite(r.Adjusted), bit(r.Claim), hashText(r.Hash), optional(r.Result))
	fault.Hit(fault.LookEnding)
	err = chainResult(ctx, t, look, ktrdr.ResultEntry{
		Key: look.Key, P: finite(r.P), Adjusted: finite(r.Adjusted), Claim: r.Claim, Hash: r.Hash,
	})
	if err == nil && r.Claim {
		countPast(ctx, t, &look, onePastLess)
	}
	return err
}

var scanLook = fields(func(l *ktrdr.Look) []any {
	return []any{
		&l.Key, &l.Operation, &l.Kind, &l.Research, &l.Run, &l.Generation, &l.Strategy, &l.Before, (*document)(&l.Spans),
		(*moment)(&l.ReservedAt), (*moment)(&l.EndedAt), &l.P, &l.Adjusted, (*boolean)(&l.Claim), (*digest)(&l.Hash), (*document)(&l.Result),
	}
})

// loadLook reads a look and its numbers; CodeNotFound.
func loadLook(ctx context.Context, q queryer, text query, key string) (ktrdr.Look, error) {
	l, err := scanLook(q.row(ctx, text, key))
	if err != nil {
		return l, ifNoRow(err, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no look %q", clip(key)))
	}
	numbers := fields(func(m *ktrdr.LookMarket) []any { return []any{&m.Market, &m.Number, (*moment)(&m.Holdout)} })
	l.Markets, err = collect(ctx, q, numbers, selectNumbers, l.Key)
	return l, err
}

// LookOf implements ktrdr.Markets.
func (s *Store) LookOf(ctx context.Context, op ktrdr.OperationID) (ktrdr.Look, error) {
	return inRead(ctx, s.read, func(r queryer) (ktrdr.Look, error) { return loadLook(ctx, r, selectLookOf, string(op)) })
}

// ReserveLook implements ktrdr.Markets.
func (s *Store) ReserveLook(ctx context.Context, n ktrdr.NewLook) (ktrdr.Look, error) {
	err := checkLook(n)
	if err == nil && n.Key == "" {
		err = ktrdr.Errorf(ktrdr.CodeInvalid, "a look that no operation makes needs a key")
	}
	if err != nil {
		return ktrdr.Look{}, err
	}
	return inWrite(ctx, s, func(t *tx) (ktrdr.Look, error) {
		markets, err := lockMarkets(ctx, t, n.Markets)
		if err != nil {
			return ktrdr.Look{}, err
		}
		return reserveLook(ctx, t, "", ktrdr.Queue{}, n, markets, ktrdr.Hash{})
	})
}

// Looks implements ktrdr.Markets.
func (s *Store) Looks(ctx context.Context, q ktrdr.LookQuery) (ktrdr.LookPage, error) {
	if err := checkLimit(&q.Limit); err != nil {
		return ktrdr.LookPage{}, err
	}
	if !storable(q.Run, 255) || !storable(q.Market, 64) || q.Research != "" && !q.Research.Valid() {
		return ktrdr.LookPage{}, ktrdr.Errorf(ktrdr.CodeInvalid,
			"looks are selected by a run of at most 255 bytes of text, a market of at most 64 and the id of a research")
	}
	text, args, err := looksQuery(q)
	if err != nil {
		return ktrdr.LookPage{}, err
	}
	return inRead(ctx, s.read, func(r queryer) (page ktrdr.LookPage, err error) {
		found, err := collect(ctx, r, scanLook, text, args...)
		if err != nil {
			return page, err
		}
		page.Looks, page.Next = pageOf(found, q.Limit, func(l ktrdr.Look) string { return placeCursor(micros(l.ReservedAt), l.Key) })
		return page, numberAll(ctx, r, page.Looks)
	})
}

func looksQuery(q ktrdr.LookQuery) (query, []any, error) {
	var c conditions
	c.when(q.Run != "", "run = ? AND run <> ''", q.Run)
	c.when(q.Market != "", "key IN (SELECT look_key FROM look_markets WHERE market_id = "+marketNow+")", q.Market)
	c.when(q.Research != "", "research_id = ? AND research_id <> ''", q.Research)
	c.when(q.Claims, "claim = 1")
	c.when(!q.Since.IsZero(), "reserved_at >= ?", micros(q.Since))
	if q.Cursor != "" {
		at, key, err := parsePlace(q.Cursor)
		if err != nil {
			return "", nil, err
		}
		c.add("(reserved_at, key) < (?, ?)", at, key)
	}
	text, args := c.page(lookColumns+" FROM looks", " ORDER BY reserved_at DESC, key DESC", q.Limit+1)
	return text, args, nil
}

// numberAll adds the numbers of all the looks with one statement.
func numberAll(ctx context.Context, q queryer, looks []ktrdr.Look) error {
	if len(looks) == 0 {
		return nil
	}
	byKey := map[string]*ktrdr.Look{}
	for i := range looks {
		byKey[looks[i].Key] = &looks[i]
	}
	values, args := rowsOf(1, looks, []string{"TEXT"}, func(l ktrdr.Look) []any { return []any{l.Key} })
	return eachRow(ctx, q, func(row scanner) error {
		var key string
		var m ktrdr.LookMarket
		if err := row.Scan(&key, &m.Market, &m.Number, (*moment)(&m.Holdout)); err != nil {
			return err
		}
		byKey[key].Markets = append(byKey[key].Markets, m)
		return nil
	}, query(`SELECT look_key, market_id, number, holdout_from FROM look_markets WHERE look_key IN (`+values+`)
		ORDER BY market_id, number`), args...)
}
