package sqlstore

import (
	"context"

	"github.com/ktrdr/ktrdr"
)

const (
	selectNamingSeries query = `SELECT ` + seriesColumns + ` FROM market_series
		WHERE (symbol, timeframe, bars_hash) > ($1, $2, $3) ORDER BY symbol, timeframe, bars_hash LIMIT $4`
	selectNamingLooks query = `SELECT ` + lookColumns + ` FROM looks WHERE key > $1 AND result LIKE '%"sha256"%' ORDER BY key LIMIT $2`
)

// seriesRefs yields the prices of every series; false when no more are wanted.
// Another series may be compared with them at any time, also when the bars
// themselves were deleted.
func (s *Store) seriesRefs(ctx context.Context, yield func(ktrdr.BlobRef, error) bool) bool {
	for after := []any{"", "", ""}; ; {
		var found []ktrdr.MarketSeries
		err := s.readOne(ctx, func(r queryer) error {
			rows, err := r.rows(ctx, selectNamingSeries, append(after[:3:3], refsPage)...)
			found, err = gather(rows, err, scanSeries)
			return err
		})
		if err != nil {
			yield(ktrdr.BlobRef{}, err)
			return false
		}
		for _, one := range found {
			if one.Prices.SHA256 != (ktrdr.Hash{}) && !yield(ktrdr.BlobRef{Artifact: one.Prices, Series: one.Symbol + " " + one.Timeframe}, nil) {
				return false
			}
			after = []any{one.Symbol, one.Timeframe, one.Hash.String()}
		}
		if len(found) < refsPage {
			return true
		}
	}
}

// lookRefs yields the blobs that the results of looks name; false when no more
// are wanted.
func (s *Store) lookRefs(ctx context.Context, yield func(ktrdr.BlobRef, error) bool) bool {
	for after := ""; ; {
		var found []ktrdr.Look
		err := s.readOne(ctx, func(r queryer) error {
			rows, err := r.rows(ctx, selectNamingLooks, after, refsPage)
			found, err = gather(rows, err, scanLook)
			return err
		})
		if err != nil {
			yield(ktrdr.BlobRef{}, err)
			return false
		}
		for _, l := range found {
			for _, a := range ktrdr.ArtifactsIn(l.Result) {
				if !yield(ktrdr.BlobRef{Artifact: a, Operation: l.Operation}, nil) {
					return false
				}
			}
			after = l.Key
		}
		if len(found) < refsPage {
			return true
		}
	}
}
