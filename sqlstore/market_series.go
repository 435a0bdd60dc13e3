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
