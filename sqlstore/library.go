package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/ktrdr/ktrdr"
)

const (
	barsColumns = `symbol, timeframe, bars_hash, bars, first_at, last_at, file, origin, source, made_up, added_at, is_current`

	selectCurrentBars query = `SELECT ` + barsColumns + ` FROM bars WHERE is_current = 1 ORDER BY symbol, timeframe`
	selectAllBars     query = `SELECT ` + barsColumns + ` FROM bars
		ORDER BY symbol, timeframe, is_current DESC, added_at DESC, bars_hash`
	selectBars      query = `SELECT ` + barsColumns + ` FROM bars WHERE symbol = $1 AND timeframe = $2 AND is_current = 1`
	selectOneBars   query = `SELECT ` + barsColumns + ` FROM bars WHERE symbol = $1 AND timeframe = $2 AND bars_hash = $3`
	selectBarsOf    query = `SELECT ` + barsColumns + ` FROM bars WHERE symbol = $1 AND timeframe = $2 ORDER BY is_current DESC, added_at DESC, bars_hash`
	selectBarsNow   query = `SELECT ` + barsColumns + ` FROM bars WHERE symbol = $1 AND is_current = 1 ORDER BY timeframe`
	selectSpelt     query = `SELECT symbol FROM bars WHERE LOWER(symbol) = LOWER($1) AND symbol <> $2 AND is_current = 1 ORDER BY symbol LIMIT 1`
	selectNamingBar query = `SELECT ` + barsColumns + ` FROM bars WHERE (symbol, timeframe, bars_hash) > ($1, $2, $3)
		ORDER BY symbol, timeframe, bars_hash LIMIT $4`

	insertBars query = `INSERT INTO bars (` + barsColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, {now}, $11)`
	retireBars query = `UPDATE bars SET is_current = 0 WHERE symbol = $1 AND timeframe = $2 AND is_current = 1`
	reviveBars query = `UPDATE bars SET is_current = 1, file = $4, origin = $5, source = $6, made_up = CASE WHEN made_up = 1 THEN 1 ELSE $7 END, added_at = {now}
		WHERE symbol = $1 AND timeframe = $2 AND bars_hash = $3`
	learnBars  query = `UPDATE bars SET made_up = 1 WHERE symbol = $1 AND timeframe = $2 AND bars_hash = $3`
	deleteBars query = `DELETE FROM bars WHERE symbol = $1 AND timeframe = $2`
)

func scanBars(row scanner) (b ktrdr.StoredBars, err error) {
	var hash, file string
	var first, last, added, current int64
	var madeUp sql.NullBool
	err = row.Scan(&b.Symbol, &b.Timeframe, &hash, &b.Bars, &first, &last, &file, &b.Origin, &b.Source, &madeUp, &added, &current)
	if err != nil {
		return b, err
	}
	b.Current, b.MadeUp = current == 1, optionalBool(madeUp)
	b.First, b.Last, b.AddedAt = instant(first), instant(last), instant(added)
	if b.Hash, err = ktrdr.ParseHash(hash); err != nil {
		return b, err
	}
	return b, json.Unmarshal([]byte(file), &b.File)
}

func noBars(symbol, timeframe string) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there are no %s bars of %s; `ktrdr data list` shows what there is", clip(timeframe), clip(symbol))
}

// Bars implements ktrdr.Library.
func (s *Store) Bars(ctx context.Context, old bool) (all []ktrdr.StoredBars, err error) {
	text := selectCurrentBars
	if old {
		text = selectAllBars
	}
	err = s.readOne(ctx, func(r queryer) error {
		rows, err := r.rows(ctx, text)
		all, err = gather(rows, err, scanBars)
		return err
	})
	return all, err
}

// BarsOf implements ktrdr.Library.
func (s *Store) BarsOf(ctx context.Context, symbol, timeframe string) (found ktrdr.StoredBars, err error) {
	err = s.readOne(ctx, func(r queryer) error {
		found, err = scanBars(r.row(ctx, selectBars, symbol, timeframe))
		if errors.Is(err, sql.ErrNoRows) {
			return noBars(symbol, timeframe)
		}
		return err
	})
	return found, err
}

// AddBars implements ktrdr.Library.
func (s *Store) AddBars(ctx context.Context, n ktrdr.NewBars) (added ktrdr.StoredBars, err error) {
	if err := checkBars(n); err != nil {
		return added, err
	}
	err = s.write(ctx, normal, func(t *tx) error {
		if err := s.lockMeta(ctx, t, metaLibrary); err != nil {
			return err
		}
		if added, _, err = s.addPlaced(ctx, t, n); err != nil {
			return err
		}
		t.wake()
		return nil
	})
	return added, err
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
	if b.Symbol == "" || !storable(b.Symbol, 255) || b.Timeframe == "" || !storable(b.Timeframe, 32) || b.Bars < 0 || b.File.SHA256 == (ktrdr.Hash{}) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "bars have a symbol of 1 to 255 bytes of text, a timeframe of 1 to 32, at least 0 bars and a file")
	}
	if s := b.Series; s != nil {
		if s.Symbol != b.Symbol || s.Timeframe != b.Timeframe || s.Hash != b.Hash {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "the bars of %s %s cannot be assigned to a market as %s %s", b.Symbol, b.Timeframe, s.Symbol, s.Timeframe)
		}
		return checkSeries(*s)
	}
	return nil
}

// addBars adds a series. The caller has locked metaLibrary.
func addBars(ctx context.Context, t *tx, n ktrdr.NewBars) (ktrdr.StoredBars, error) {
	var spelt string
	err := t.row(ctx, selectSpelt, n.Symbol, n.Symbol).Scan(&spelt)
	switch {
	case err == nil:
		return n.StoredBars, ktrdr.Errorf(ktrdr.CodeConflict, "the library has %s already, which differs from %s by capitals only: use that spelling", spelt, n.Symbol)
	case !errors.Is(err, sql.ErrNoRows):
		return n.StoredBars, err
	}
	is, err := scanBars(t.row(ctx, selectBars, n.Symbol, n.Timeframe))
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return n.StoredBars, err
	case is.Hash == n.Hash && err == nil:
		if n.MadeUp != nil && *n.MadeUp {
			is.MadeUp = n.MadeUp
			_, err = t.exec(ctx, learnBars, n.Symbol, n.Timeframe, n.Hash.String())
		}
		return is, err
	case !n.Old && is.Hash != n.Replaces:
		return is, ktrdr.Errorf(ktrdr.CodeConflict, "the %s bars of %s have changed: look at them and try again", n.Timeframe, n.Symbol)
	}
	file, err := marshal(n.File)
	if err != nil {
		return is, err
	}
	was, err := scanBars(t.row(ctx, selectOneBars, n.Symbol, n.Timeframe, n.Hash.String()))
	there := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return is, err
	}
	if there && n.Old {
		return was, nil
	}
	if !n.Old {
		if _, err := t.exec(ctx, retireBars, n.Symbol, n.Timeframe); err != nil {
			return is, err
		}
	}
	if there {
		_, err = t.exec(ctx, reviveBars, n.Symbol, n.Timeframe, n.Hash.String(), file, string(n.Origin), shortened(n.Source), optionalBit(n.MadeUp))
	} else {
		current := 1
		if n.Old {
			current = 0
		}
		_, err = t.exec(ctx, insertBars, n.Symbol, n.Timeframe, n.Hash.String(), n.Bars, micros(n.First), micros(n.Last), file,
			string(n.Origin), shortened(n.Source), optionalBit(n.MadeUp), current)
	}
	if err != nil {
		return is, err
	}
	return scanBars(t.row(ctx, selectOneBars, n.Symbol, n.Timeframe, n.Hash.String()))
}

// DeleteBars implements ktrdr.Library.
func (s *Store) DeleteBars(ctx context.Context, symbol, timeframe string) (deleted []ktrdr.StoredBars, err error) {
	err = s.write(ctx, normal, func(t *tx) error {
		if err := s.lockMeta(ctx, t, metaLibrary); err != nil {
			return err
		}
		rows, err := t.rows(ctx, selectBarsOf, symbol, timeframe)
		if deleted, err = gather(rows, err, scanBars); err != nil {
			return err
		}
		if len(deleted) == 0 {
			return noBars(symbol, timeframe)
		}
		_, err = t.exec(ctx, deleteBars, symbol, timeframe)
		t.wake()
		return err
	})
	return deleted, err
}

// RenameBars implements ktrdr.Library.
func (s *Store) RenameBars(ctx context.Context, symbol string, renamed []ktrdr.NewBars) error {
	for _, n := range renamed {
		if err := checkBars(n); err != nil {
			return err
		}
	}
	return s.write(ctx, normal, func(t *tx) error {
		if err := s.lockMeta(ctx, t, metaLibrary); err != nil {
			return err
		}
		if err := retireAll(ctx, t, symbol, renamed); err != nil { // before they are added: the new name may differ by capitals only
			return err
		}
		for _, n := range renamed {
			is, err := scanBars(t.row(ctx, selectBars, n.Symbol, n.Timeframe))
			if err == nil {
				return ktrdr.Errorf(ktrdr.CodeConflict, "there are %s bars of %s already, %d of them: choose another symbol, or delete them first", is.Timeframe, is.Symbol, is.Bars)
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			n.Replaces = ktrdr.Hash{}
			if _, _, err := s.addPlaced(ctx, t, n); err != nil {
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
	rows, err := t.rows(ctx, selectBarsNow, symbol)
	current, err := gather(rows, err, scanBars)
	if err != nil {
		return err
	}
	replaced := map[string]ktrdr.Hash{}
	for _, n := range renamed {
		replaced[n.Timeframe] = n.Replaces
	}
	for _, is := range current {
		if replaced[is.Timeframe] != is.Hash {
			return ktrdr.Errorf(ktrdr.CodeConflict, "the %s bars of %s have changed: look at them and try again", is.Timeframe, symbol)
		}
		delete(replaced, is.Timeframe)
		if _, err := t.exec(ctx, retireBars, symbol, is.Timeframe); err != nil {
			return err
		}
	}
	for _, n := range renamed {
		if _, missing := replaced[n.Timeframe]; missing {
			return ktrdr.Errorf(ktrdr.CodeConflict, "the %s bars of %s have changed: look at them and try again", n.Timeframe, symbol)
		}
	}
	return nil
}

// barsRefs yields the files of all series; false when no more are wanted.
func (s *Store) barsRefs(ctx context.Context, yield func(ktrdr.BlobRef, error) bool) bool {
	for after := []any{"", "", ""}; ; {
		var found []ktrdr.StoredBars
		err := s.readOne(ctx, func(r queryer) error {
			rows, err := r.rows(ctx, selectNamingBar, append(after[:3:3], refsPage)...)
			found, err = gather(rows, err, scanBars)
			return err
		})
		if err != nil {
			yield(ktrdr.BlobRef{}, err)
			return false
		}
		for _, b := range found {
			if !yield(ktrdr.BlobRef{Artifact: b.File, Series: b.Symbol + " " + b.Timeframe, Bars: true}, nil) {
				return false
			}
			after = []any{b.Symbol, b.Timeframe, b.Hash.String()}
		}
		if len(found) < refsPage {
			return true
		}
	}
}
