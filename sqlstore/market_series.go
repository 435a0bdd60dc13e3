package sqlstore

import (
	"context"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

const (
	selectAllSeries query = `SELECT ` + seriesColumns + ` FROM market_series ORDER BY added_at, symbol, timeframe, bars_hash`
	countSeries     query = `SELECT COUNT(*) FROM market_series`
)

// Series implements ktrdr.Markets.
func (s *Store) Series(ctx context.Context) (all []ktrdr.MarketSeries, err error) {
	err = s.readOne(ctx, func(r queryer) error {
		rows, err := r.rows(ctx, selectAllSeries)
		all, err = gather(rows, err, scanSeries)
		return err
	})
	return all, err
}

// unchanged refuses a series that was compared with fewer series than there are
// now: the others may be the same market. The caller has locked metaMarkets.
func unchanged(ctx context.Context, t *tx, seen *int) error {
	if seen == nil {
		return nil
	}
	var now int
	if err := t.row(ctx, countSeries).Scan(&now); err != nil {
		return err
	}
	if now > *seen {
		return &ktrdr.Error{
			Code: ktrdr.CodeConflict, Err: ktrdr.ErrMoreSeries,
			Message: fmt.Sprintf("%d series were added while this one was compared with %d: compare it again", now-*seen, *seen),
		}
	}
	return nil
}
