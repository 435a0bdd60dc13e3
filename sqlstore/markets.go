package sqlstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	marketColumns = `id, created_at, COALESCE(holdout_from, 0), looked_until, trials, looks - looks_past,
		(SELECT COUNT(*) FROM look_markets AS n JOIN looks AS l ON l.key = n.look_key LEFT JOIN claims AS c ON c.operation_id = l.operation_id
			WHERE n.market_id = markets.id AND l.claim = 1 AND (c.rung IS NULL OR c.rung <> 'retired' OR c.last_bar >= looked_until)),
		CASE WHEN chain_links > 0 THEN id ELSE '' END, chain_links,
		chain_head`
	seriesColumns = `market_id, symbol, timeframe, bars_hash, first_at, last_at, bars, prices, reason, added_at`

	selectMarkets query = `SELECT ` + marketColumns + ` FROM markets WHERE merged_into IS NULL ORDER BY created_at, id`
	selectMarket  query = `SELECT ` + marketColumns + ` FROM markets WHERE id = $1`
	selectMerged  query = `SELECT COALESCE(merged_into, id) FROM markets WHERE id = $1`

	// The newest series of each symbol and timeframe in each market.
	selectNewestSeries query = `SELECT ` + seriesColumns + ` FROM market_series AS s
		WHERE NOT EXISTS (SELECT 1 FROM market_series AS newer WHERE newer.market_id = s.market_id AND newer.symbol = s.symbol
			AND newer.timeframe = s.timeframe AND (newer.added_at, newer.bars_hash) > (s.added_at, s.bars_hash))
		ORDER BY market_id, symbol, timeframe`
	selectSeriesOf query = `SELECT ` + seriesColumns +
		` FROM market_series WHERE market_id = $1 ORDER BY symbol, timeframe, added_at, bars_hash`
	selectSeries query = `SELECT ` + seriesColumns + ` FROM market_series WHERE symbol = $1 AND timeframe = $2 AND bars_hash = $3`

	// A market that an earlier version counted under a symbol has no series
	// yet; the first series of that symbol is it.
	selectUnseen query = `SELECT id FROM markets WHERE symbol = $1 AND merged_into IS NULL
		AND NOT EXISTS (SELECT 1 FROM market_series WHERE market_id = markets.id) ORDER BY created_at, id LIMIT 1`

	insertMarket query = `INSERT INTO markets (id, symbol, created_at) VALUES ($1, $2, {now})`
	insertSeries query = `INSERT INTO market_series (market_id, symbol, timeframe, bars_hash, first_at, last_at, bars, prices, reason,
		added_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, {now})`
	fixHoldout    query = `UPDATE markets SET holdout_from = $2 WHERE id = $1 AND holdout_from IS NULL`
	selectAndLock query = `SELECT id, COALESCE(merged_into, ''), trials FROM markets WHERE id IN ({ids}) ORDER BY id {update}`
)

var scanMarket = fields(func(m *ktrdr.Market) []any {
	return []any{
		&m.ID, (*moment)(&m.CreatedAt), (*moment)(&m.HoldoutFrom), (*moment)(&m.LookedUntil), &m.Trials, &m.Looks, &m.Claims,
		&m.Head.Market, &m.Head.Links, (*digest)(&m.Head.Hash),
	}
})

var scanSeries = fields(func(s *ktrdr.MarketSeries) []any {
	return []any{
		&s.Market, &s.Symbol, &s.Timeframe, (*digest)(&s.Hash), (*moment)(&s.First), (*moment)(&s.Last), &s.Bars,
		fromJSON(&s.Prices), &s.Reason, (*moment)(&s.AddedAt),
	}
})

func noMarket(id string) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no market %q; `ktrdr data list` shows the market of each series", clip(id))
}

// mergedInto is the market that a market is part of; CodeNotFound.
func mergedInto(ctx context.Context, q queryer, id string) (into string, err error) {
	err = q.row(ctx, selectMerged, id).Scan(&into)
	return into, ifNoRow(err, noMarket(id))
}

// lockedMarket is a market whose row is locked.
type lockedMarket struct {
	id     string // of the market that it was merged into, if it was
	trials int
}

// lockMarkets locks the rows of markets in the order of their ids and returns
// them by the ids that were asked for; CodeNotFound. A market may be merged
// between two looks, so a row is believed only when it is locked.
func lockMarkets(ctx context.Context, t *tx, ids []string) (map[string]lockedMarket, error) {
	type row struct {
		id, into string
		trials   int
	}
	found := map[string]row{}
	for next := distinct(ids); len(next) > 0; {
		values, args := rowsOf(1, next, []string{"TEXT"}, func(id string) []any { return []any{id} })
		text := query(strings.Replace(string(selectAndLock), "{ids}", values, 1))
		all, err := collect(ctx, t, fields(func(m *row) []any { return []any{&m.id, &m.into, &m.trials} }), text, args...)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			found[m.id] = m
		}
		var merged []string
		for _, id := range next {
			m, ok := found[id]
			if !ok {
				return nil, noMarket(id)
			}
			if _, ok := found[m.into]; m.into != "" && !ok {
				merged = append(merged, m.into)
			}
		}
		next = distinct(merged)
	}
	locked := map[string]lockedMarket{}
	for _, id := range ids {
		m := found[id]
		for m.into != "" {
			m = found[m.into]
		}
		locked[id], locked[m.id] = lockedMarket{m.id, m.trials}, lockedMarket{m.id, m.trials}
	}
	return locked, nil
}

// Markets implements ktrdr.Markets.
func (s *Store) Markets(ctx context.Context) ([]ktrdr.Market, error) {
	return inRead(ctx, s.read, func(r queryer) ([]ktrdr.Market, error) {
		all, err := collect(ctx, r, scanMarket, selectMarkets)
		if err != nil {
			return nil, err
		}
		series, err := collect(ctx, r, scanSeries, selectNewestSeries)
		byID := map[string]*ktrdr.Market{}
		for i := range all {
			byID[all[i].ID] = &all[i]
		}
		for _, one := range series {
			if m := byID[one.Market]; m != nil {
				m.Series = append(m.Series, one)
			}
		}
		if err != nil {
			return nil, err
		}
		err = eachRow(ctx, r, func(row scanner) error {
			var id string
			var h ktrdr.Holdout
			if err := row.Scan(&id, (*moment)(&h.From), &h.Looks, (*moment)(&h.ReplacedAt)); err != nil {
				return err
			}
			if m := byID[id]; m != nil {
				m.Holdouts = append(m.Holdouts, h)
			}
			return nil
		}, selectAllHoldouts)
		return all, err
	})
}

// Market implements ktrdr.Markets.
func (s *Store) Market(ctx context.Context, id string) (ktrdr.Market, error) {
	return inRead(ctx, s.read, func(r queryer) (m ktrdr.Market, err error) {
		into, err := mergedInto(ctx, r, id)
		if err != nil {
			return m, err
		}
		if m, err = scanMarket(r.row(ctx, selectMarket, into)); err != nil {
			return m, err
		}
		if m.Holdouts, err = collect(ctx, r, scanHoldout, selectHoldouts, into); err != nil {
			return m, err
		}
		m.Series, err = collect(ctx, r, scanSeries, selectSeriesOf, into)
		return m, err
	})
}

// SeriesOf implements ktrdr.Markets.
func (s *Store) SeriesOf(ctx context.Context, symbol, timeframe string, hash ktrdr.Hash) (ktrdr.MarketSeries, error) {
	found, err := readRow(ctx, s, scanSeries, selectSeries, symbol, timeframe, hash.String())
	return found, ifNoRow(err, ktrdr.Errorf(ktrdr.CodeNotFound, "the %s bars of %s with the hash %.12s belong to no market yet",
		clip(timeframe), clip(symbol), hash))
}

// AddSeries implements ktrdr.Markets.
func (s *Store) AddSeries(ctx context.Context, n ktrdr.NewSeries) (ktrdr.MarketSeries, error) {
	if err := checkSeries(n); err != nil {
		return ktrdr.MarketSeries{}, err
	}
	return inWrite(ctx, s, func(t *tx) (ktrdr.MarketSeries, error) { return s.addSeries(ctx, t, n) })
}

func checkSeries(n ktrdr.NewSeries) error {
	if n.Symbol == "" || !storable(n.Symbol, 255) || n.Timeframe == "" || !storable(n.Timeframe, 32) || n.Bars < 0 {
		return ktrdr.Errorf(ktrdr.CodeInvalid,
			"a series has a symbol of 1 to 255 bytes of text, a timeframe of 1 to 32 and at least 0 bars")
	}
	for _, id := range n.Same {
		if !storable(id, 64) {
			return noMarket(id)
		}
	}
	return nil
}

// addSeries assigns a series to a market.
func (s *Store) addSeries(ctx context.Context, t *tx, n ktrdr.NewSeries) (added ktrdr.MarketSeries, err error) {
	prices := "{}"
	if n.Prices.SHA256 != (ktrdr.Hash{}) {
		if prices, err = marshal(n.Prices); err != nil {
			return added, err
		}
	}
	s.lockMeta(ctx, t, metaMarkets)
	if err := unchanged(ctx, t, n.Seen); err != nil {
		return added, err
	}
	same := slices.Clone(n.Same)
	before, known, err := optionalRow(scanSeries(t.row(ctx, selectSeries, n.Symbol, n.Timeframe, n.Hash.String())))
	if err != nil {
		return added, err
	}
	if known {
		same = append(same, before.Market)
	}
	market, err := oneMarket(ctx, t, n.Symbol, same)
	if err != nil {
		return added, err
	}
	if !known {
		t.later(ctx, insertSeries, market, n.Symbol, n.Timeframe, n.Hash.String(), micros(n.First), micros(n.Last), n.Bars,
			prices, shortened(n.Reason))
	}
	t.wake()
	return scanSeries(t.row(ctx, selectSeries, n.Symbol, n.Timeframe, n.Hash.String()))
}

// oneMarket is the market that all of the given are, merged if they were
// several; a new one if there are none. The market that an earlier version
// counted under the symbol is one of them.
func oneMarket(ctx context.Context, t *tx, symbol string, same []string) (string, error) {
	unseen, err := firstColumn(ctx, t, selectUnseen, symbol)
	if err != nil {
		return "", err
	}
	if same = append(same, unseen...); len(same) == 0 {
		var tail [6]byte
		_, _ = rand.Read(tail[:]) // never fails since Go 1.24
		id := "mkt_" + hex.EncodeToString(tail[:])
		t.later(ctx, insertMarket, id, symbol)
		return id, nil
	}
	locked, err := lockMarkets(ctx, t, same)
	if err != nil {
		return "", err
	}
	var all []string
	for _, id := range same {
		all = append(all, locked[id].id)
	}
	all = distinct(all)
	values, args := rowsOf(1, all, []string{"TEXT"}, func(id string) []any { return []any{id} })
	oldest, err := scanValue[string](t.row(ctx,
		query(`SELECT id FROM markets WHERE id IN (`+values+`) ORDER BY created_at, id LIMIT 1`), args...))
	if err != nil {
		return "", err
	}
	for _, id := range all {
		if id == oldest {
			continue
		}
		if err := chainMerge(ctx, t, id, oldest); err != nil {
			return "", err
		}
		for _, text := range mergeMarkets {
			t.later(ctx, text, id, oldest)
		}
	}
	return oldest, nil
}

// Statements that merge market $1 into $2. The later start of the two holdouts
// counts: no research of either has seen the bars after it. It is the only one left,
// and its looks pay for all of both. A trial or look that
// both have is counted twice, and looks at earlier holdouts are paid for again,
// which errs on the side of doubt.
var mergeMarkets = []query{
	`UPDATE markets SET
		holdout_from = CASE WHEN holdout_from IS NULL OR (SELECT holdout_from FROM markets WHERE id = $1) > holdout_from
			THEN (SELECT holdout_from FROM markets WHERE id = $1) ELSE holdout_from END,
		tried_at = CASE WHEN (SELECT tried_at FROM markets WHERE id = $1) > tried_at
			THEN (SELECT tried_at FROM markets WHERE id = $1) ELSE tried_at END,
		trials = trials + (SELECT trials FROM markets WHERE id = $1),
		looked_until = CASE WHEN (SELECT looked_until FROM markets WHERE id = $1) > looked_until
			THEN (SELECT looked_until FROM markets WHERE id = $1) ELSE looked_until END,
		looks = looks + (SELECT looks FROM markets WHERE id = $1), looks_past = 0,
		tests = tests + (SELECT tests FROM markets WHERE id = $1) WHERE id = $2`,
	`UPDATE look_markets SET market_id = $2, number = number + (SELECT looks FROM markets WHERE id = $2)
		- (SELECT looks FROM markets WHERE id = $1) WHERE market_id = $1`,
	`UPDATE trials SET market_id = $2, key = CASE
		WHEN EXISTS (SELECT 1 FROM trials AS other WHERE other.market_id = $2 AND other.key = trials.key)
			THEN key || ' of ' || $1 ELSE key END WHERE market_id = $1`,
	`UPDATE market_series SET market_id = $2 WHERE market_id = $1`,
	`DELETE FROM earlier_holdouts WHERE market_id = $1 OR market_id = $2`,
	`UPDATE markets SET merged_into = $2, trials = 0, looks = 0, looks_past = 0, tests = 0 WHERE id = $1 OR merged_into = $1`,
}

// FixHoldout implements ktrdr.Markets.
func (s *Store) FixHoldout(ctx context.Context, market string, from time.Time) (fixed time.Time, err error) {
	if from.IsZero() {
		return fixed, ktrdr.Errorf(ktrdr.CodeInvalid, "a holdout begins at an instant")
	}
	return inWrite(ctx, s, func(t *tx) (time.Time, error) {
		locked, err := lockMarkets(ctx, t, []string{market})
		if err != nil {
			return fixed, err
		}
		id := locked[market].id
		t.later(ctx, fixHoldout, id, micros(from))
		m, err := scanMarket(t.row(ctx, selectMarket, id))
		return m.HoldoutFrom, err
	})
}

const (
	selectAllSeries query = `SELECT ` + seriesColumns + ` FROM market_series ORDER BY added_at, symbol, timeframe, bars_hash`
	countSeries     query = `SELECT COUNT(*) FROM market_series`
)

// Series implements ktrdr.Markets.
func (s *Store) Series(ctx context.Context) (all []ktrdr.MarketSeries, err error) {
	return readAll(ctx, s, scanSeries, selectAllSeries)
}

// unchanged refuses a series that was compared with fewer series than there are
// now: the others may be the same market. The caller has locked metaMarkets.
func unchanged(ctx context.Context, t *tx, seen *int) error {
	if seen == nil {
		return nil
	}
	now, err := scanValue[int](t.row(ctx, countSeries))
	if err != nil || now <= *seen {
		return err
	}
	return &ktrdr.Error{
		Code: ktrdr.CodeConflict, Err: ktrdr.ErrMoreSeries,
		Message: fmt.Sprintf("%d series were added while this one was compared with %d: compare it again", now-*seen, *seen),
	}
}
