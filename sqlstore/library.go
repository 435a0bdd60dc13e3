package sqlstore

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	barsColumns = `symbol, timeframe, bars_hash, bars, first_at, last_at, file, origin, source, made_up, added_at, is_current,
		record, findings, accepted`

	selectCurrentBars query = `SELECT ` + barsColumns + ` FROM bars WHERE is_current = 1 ORDER BY symbol, timeframe`
	selectAllBars     query = `SELECT ` + barsColumns + ` FROM bars
		ORDER BY symbol, timeframe, is_current DESC, added_at DESC, bars_hash`
	selectBars    query = `SELECT ` + barsColumns + ` FROM bars WHERE symbol = $1 AND timeframe = $2 AND is_current = 1`
	selectOneBars query = `SELECT ` + barsColumns + ` FROM bars WHERE symbol = $1 AND timeframe = $2 AND bars_hash = $3`
	selectBarsOf  query = `SELECT ` + barsColumns +
		` FROM bars WHERE symbol = $1 AND timeframe = $2 ORDER BY is_current DESC, added_at DESC, bars_hash`
	selectBarsNow query = `SELECT ` + barsColumns + ` FROM bars WHERE symbol = $1 AND is_current = 1 ORDER BY timeframe`
	selectSpelt   query = `SELECT symbol FROM bars WHERE LOWER(symbol) = LOWER($1) AND symbol <> $2 AND is_current = 1
		ORDER BY symbol LIMIT 1`

	insertBars query = `INSERT INTO bars (` + barsColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, {now}, $11, $12, $13, $14)`
	retireBars query = `UPDATE bars SET is_current = 0 WHERE symbol = $1 AND timeframe = $2 AND is_current = 1`
	reviveBars query = `UPDATE bars SET is_current = 1, file = $4, origin = $5, source = $6,
		made_up = CASE WHEN made_up = 1 THEN 1 ELSE $7 END, added_at = {now}, record = $8,
		findings = $9, accepted = COALESCE(accepted, $10)
		WHERE symbol = $1 AND timeframe = $2 AND bars_hash = $3`
	learnBars  query = `UPDATE bars SET made_up = 1 WHERE symbol = $1 AND timeframe = $2 AND bars_hash = $3`
	judgeBars  query = `UPDATE bars SET findings = $4 WHERE symbol = $1 AND timeframe = $2 AND bars_hash = $3 AND findings IS NULL`
	acceptBars query = `UPDATE bars SET accepted = $4 WHERE symbol = $1 AND timeframe = $2 AND bars_hash = $3`
	deleteBars query = `DELETE FROM bars WHERE symbol = $1 AND timeframe = $2`
)

var scanBars = fields(func(b *ktrdr.StoredBars) []any {
	return []any{
		&b.Symbol, &b.Timeframe, (*digest)(&b.Hash), &b.Bars, (*moment)(&b.First), (*moment)(&b.Last), fromJSON(&b.File),
		&b.Origin, &b.Source, fromBit(&b.MadeUp), (*moment)(&b.AddedAt), (*boolean)(&b.Current),
		fromJSON(&b.Record), (*document)(&b.Findings), fromJSON(&b.Accepted),
	}
})

func noBars(symbol, timeframe string) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there are no %s bars of %s; `ktrdr data list` shows what there is", clip(timeframe), clip(symbol))
}

// Bars implements ktrdr.Library.
func (s *Store) Bars(ctx context.Context, old bool) ([]ktrdr.StoredBars, error) {
	text := selectCurrentBars
	if old {
		text = selectAllBars
	}
	return readAll(ctx, s, scanBars, text)
}

// BarsOf implements ktrdr.Library.
func (s *Store) BarsOf(ctx context.Context, symbol, timeframe string) (ktrdr.StoredBars, error) {
	found, err := readRow(ctx, s, scanBars, selectBars, symbol, timeframe)
	return found, ifNoRow(err, noBars(symbol, timeframe))
}

// AddBars implements ktrdr.Library.
func (s *Store) AddBars(ctx context.Context, n ktrdr.NewBars) (ktrdr.StoredBars, error) {
	if err := checkBars(n); err != nil {
		return ktrdr.StoredBars{}, err
	}
	return inWrite(ctx, s, func(t *tx) (added ktrdr.StoredBars, err error) {
		s.lockMeta(ctx, t, metaLibrary)
		added, _, err = s.addPlaced(ctx, t, n)
		t.wake()
		return added, err
	})
}

// addPlaced adds a series and assigns it to its market. The caller has locked
// metaLibrary; metaMarkets is locked after it.
func (s *Store) addPlaced(ctx context.Context, t *tx, n ktrdr.NewBars) (added ktrdr.StoredBars, placed ktrdr.MarketSeries, err error) {
	if added, err = addBars(ctx, t, n); err == nil && n.Series != nil {
		placed, err = s.addSeries(ctx, t, *n.Series)
	}
	return added, placed, err
}

func checkBars(b ktrdr.NewBars) error {
	if b.Symbol == "" || !storable(b.Symbol, 255) || b.Timeframe == "" || !storable(b.Timeframe, 32) || b.Bars < 0 ||
		b.File.SHA256 == (ktrdr.Hash{}) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "bars have a symbol of 1 to 255 bytes of text, a timeframe of 1 to 32, at least 0 bars and a file")
	}
	if s := b.Series; s != nil {
		if s.Symbol != b.Symbol || s.Timeframe != b.Timeframe || s.Hash != b.Hash {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "the bars of %s %s cannot be assigned to a market as %s %s",
				b.Symbol, b.Timeframe, s.Symbol, s.Timeframe)
		}
		return checkSeries(*s)
	}
	return nil
}

// addBars adds a series. The caller has locked metaLibrary.
func addBars(ctx context.Context, t *tx, n ktrdr.NewBars) (ktrdr.StoredBars, error) {
	spelt, err := firstColumn(ctx, t, selectSpelt, n.Symbol, n.Symbol)
	if err == nil && len(spelt) > 0 {
		err = ktrdr.Errorf(ktrdr.CodeConflict,
			"the library has %s already, which differs from %s by capitals only: use that spelling", spelt[0], n.Symbol)
	}
	if err != nil {
		return n.StoredBars, err
	}
	is, found, err := optionalRow(scanBars(t.row(ctx, selectBars, n.Symbol, n.Timeframe)))
	switch {
	case err != nil:
		return n.StoredBars, err
	case is.Hash == n.Hash && found:
		if n.MadeUp != nil && *n.MadeUp {
			is.MadeUp = n.MadeUp
			_, err = t.exec(ctx, learnBars, n.Symbol, n.Timeframe, n.Hash.String())
		}
		return is, err
	case !n.Old && is.Hash != n.Replaces:
		return is, barsChanged(n.Timeframe, n.Symbol)
	}
	file, err := marshal(n.File)
	if err != nil {
		return is, err
	}
	record, accepted, err := judgement(n.StoredBars)
	if err != nil {
		return is, err
	}
	was, there, err := optionalRow(scanBars(t.row(ctx, selectOneBars, n.Symbol, n.Timeframe, n.Hash.String())))
	if err != nil {
		return is, err
	}
	if there && n.Old {
		return was, nil
	}
	if !n.Old {
		t.later(ctx, retireBars, n.Symbol, n.Timeframe)
	}
	if there {
		t.later(ctx, reviveBars, n.Symbol, n.Timeframe, n.Hash.String(), file, string(n.Origin), shortened(n.Source),
			optionalBit(n.MadeUp), record, optional(n.Findings), accepted)
	} else {
		t.later(ctx, insertBars, n.Symbol, n.Timeframe, n.Hash.String(), n.Bars, micros(n.First), micros(n.Last), file,
			string(n.Origin), shortened(n.Source), optionalBit(n.MadeUp), bit(!n.Old), record, optional(n.Findings), accepted)
	}
	return scanBars(t.row(ctx, selectOneBars, n.Symbol, n.Timeframe, n.Hash.String()))
}

// judgement is the columns of a series that say how it was read and what a person
// accepts; NULL where there is nothing to say.
func judgement(b ktrdr.StoredBars) (record, accepted any, err error) {
	if b.Record != (ktrdr.BarsRecord{}) {
		if record, err = marshal(b.Record); err != nil {
			return nil, nil, err
		}
	}
	if len(b.Accepted) > 0 {
		accepted, err = marshal(b.Accepted)
	}
	return record, accepted, err
}

// JudgeBars implements ktrdr.Library.
func (s *Store) JudgeBars(ctx context.Context, symbol, timeframe string, hash ktrdr.Hash, findings json.RawMessage) error {
	return s.write(ctx, normal, func(t *tx) error {
		t.later(ctx, judgeBars, symbol, timeframe, hash.String(), string(findings))
		return nil
	})
}

// AcceptFindings implements ktrdr.Library.
func (s *Store) AcceptFindings(ctx context.Context, symbol, timeframe string, hash ktrdr.Hash, rules []string,
	by string,
) (ktrdr.StoredBars, error) {
	return inWrite(ctx, s, func(t *tx) (is ktrdr.StoredBars, err error) {
		s.lockMeta(ctx, t, metaLibrary)
		is, err = scanBars(t.row(ctx, selectBars, symbol, timeframe))
		switch {
		case err != nil:
			return is, ifNoRow(err, noBars(symbol, timeframe))
		case is.Hash != hash:
			return is, barsChanged(timeframe, symbol)
		}
		now, err := scanValue[moment](t.row(ctx, selectNow))
		if err != nil {
			return is, err
		}
		for _, rule := range rules {
			if !slices.ContainsFunc(is.Accepted, func(a ktrdr.AcceptedFinding) bool { return a.Finding == rule }) {
				is.Accepted = append(is.Accepted, ktrdr.AcceptedFinding{Finding: rule, By: shortened(by), At: time.Time(now)})
			}
		}
		accepted, err := marshal(is.Accepted)
		t.later(ctx, acceptBars, symbol, timeframe, hash.String(), accepted)
		t.wake()
		return is, err
	})
}

// DeleteBars implements ktrdr.Library.
func (s *Store) DeleteBars(ctx context.Context, symbol, timeframe string) ([]ktrdr.StoredBars, error) {
	return inWrite(ctx, s, func(t *tx) ([]ktrdr.StoredBars, error) {
		s.lockMeta(ctx, t, metaLibrary)
		deleted, err := collect(ctx, t, scanBars, selectBarsOf, symbol, timeframe)
		if err == nil && len(deleted) == 0 {
			err = noBars(symbol, timeframe)
		}
		if err != nil {
			return nil, err
		}
		t.wake()
		t.later(ctx, deleteBars, symbol, timeframe)
		return deleted, nil
	})
}

// RenameBars implements ktrdr.Library.
func (s *Store) RenameBars(ctx context.Context, symbol string, renamed []ktrdr.NewBars) error {
	for _, n := range renamed {
		if err := checkBars(n); err != nil {
			return err
		}
	}
	return s.write(ctx, normal, func(t *tx) error {
		s.lockMeta(ctx, t, metaLibrary)
		if err := retireAll(ctx, t, symbol, renamed); err != nil { // before they are added: the new name may differ by capitals only
			return err
		}
		for _, n := range renamed {
			is, found, err := optionalRow(scanBars(t.row(ctx, selectBars, n.Symbol, n.Timeframe)))
			if found {
				err = ktrdr.Errorf(ktrdr.CodeConflict, "there are %s bars of %s already, %d of them: choose another symbol, or delete them first",
					is.Timeframe, is.Symbol, is.Bars)
			}
			if n.Replaces = (ktrdr.Hash{}); err == nil {
				_, _, err = s.addPlaced(ctx, t, n)
			}
			if err != nil {
				return err
			}
		}
		t.wake()
		return nil
	})
}

// retireAll retires the current series of a symbol, which must be those that are
// renamed.
func retireAll(ctx context.Context, t *tx, symbol string, renamed []ktrdr.NewBars) error {
	current, err := collect(ctx, t, scanBars, selectBarsNow, symbol)
	if err != nil {
		return err
	}
	replaced := map[string]ktrdr.Hash{}
	for _, n := range renamed {
		replaced[n.Timeframe] = n.Replaces
	}
	for _, is := range current {
		if replaced[is.Timeframe] != is.Hash {
			return barsChanged(is.Timeframe, symbol)
		}
		delete(replaced, is.Timeframe)
		t.later(ctx, retireBars, symbol, is.Timeframe)
	}
	for _, n := range renamed {
		if _, missing := replaced[n.Timeframe]; missing {
			return barsChanged(n.Timeframe, symbol)
		}
	}
	return nil
}

func barsChanged(timeframe, symbol string) error {
	return ktrdr.Errorf(ktrdr.CodeConflict, "the %s bars of %s have changed: look at them and try again", timeframe, symbol)
}
