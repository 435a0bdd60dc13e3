package sqlstore

import (
	"context"
	"encoding/json"
	"slices"

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
	first := []any{"", "", ""}
	return yieldRefs(ctx, s, yield, scanSeries, selectNamingSeries, first, func(one ktrdr.MarketSeries) (refs []ktrdr.BlobRef, after []any) {
		if one.Prices.SHA256 != (ktrdr.Hash{}) {
			refs = []ktrdr.BlobRef{{Artifact: one.Prices, Series: one.Symbol + " " + one.Timeframe}}
		}
		return refs, []any{one.Symbol, one.Timeframe, one.Hash.String()}
	})
}

// lookRefs yields the blobs that the results of looks name; false when no more
// are wanted.
func (s *Store) lookRefs(ctx context.Context, yield func(ktrdr.BlobRef, error) bool) bool {
	return yieldRefs(ctx, s, yield, scanLook, selectNamingLooks, []any{""}, func(l ktrdr.Look) ([]ktrdr.BlobRef, []any) {
		return refsOf(l.Operation, l.Result), []any{l.Key}
	})
}

// yieldRefs yields the blobs that rows name, a page at a time, each page after
// the last row of the page before it; false when no more are wanted. No cursor is
// held while the caller works.
func yieldRefs[T any](
	ctx context.Context, s *Store, yield func(ktrdr.BlobRef, error) bool,
	scan func(scanner) (T, error), q query, after []any, of func(T) (refs []ktrdr.BlobRef, after []any),
) bool {
	for {
		found, err := readAll(ctx, s, scan, q, append(slices.Clip(after), refsPage)...)
		if err != nil {
			yield(ktrdr.BlobRef{}, err)
			return false
		}
		for _, one := range found {
			var refs []ktrdr.BlobRef
			refs, after = of(one)
			for _, ref := range refs {
				if !yield(ref, nil) {
					return false
				}
			}
		}
		if len(found) < refsPage {
			return true
		}
	}
}

// refsOf are the blobs that a text of an operation names.
func refsOf(op ktrdr.OperationID, text json.RawMessage) (refs []ktrdr.BlobRef) {
	for _, a := range ktrdr.ArtifactsIn(text) {
		refs = append(refs, ktrdr.BlobRef{Artifact: a, Operation: op})
	}
	return refs
}
