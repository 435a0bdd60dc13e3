package sqlstore

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// refsPage is how many rows BlobRefs reads at a time. No cursor is held while
// the caller works.
const refsPage = 500

const (
	selectBlobRows query = `SELECT c.thread_id, c.id, c.state_blob, c.artifacts FROM checkpoints c
		WHERE c.tenant = '' AND c.ns = '' AND c.thread_id >= $1 AND (c.thread_id, c.id) > ($1, $2)
			AND c.checkpoint_type IS NOT NULL AND (c.state_blob IS NOT NULL OR c.artifacts IS NOT NULL)
		ORDER BY c.thread_id, c.id LIMIT $3`

	// A hash is too long to stand in a text by accident.
	countGiven query = `SELECT COUNT(*) FROM operations
		WHERE ` + isLive + ` AND held_by = '' AND has_plan = 0 AND (spec LIKE $1 OR EXISTS (SELECT 1 FROM checkpoints AS c
			WHERE c.tenant = '' AND c.ns = '' AND c.thread_id = operations.id AND (c.state_blob LIKE $1 OR c.artifacts LIKE $1)))`

	// An operation's own texts name blobs too: a spec its inputs, a result
	// what was made. A compacted one keeps the bars that the spec of its
	// research names, and no more.
	selectNamingRows query = `SELECT id, spec, CASE WHEN compacted = 0 THEN state END, CASE WHEN compacted = 0 THEN result END FROM operations
		WHERE id > $1 AND (compacted = 0 OR parent_id IS NULL)
			AND (spec LIKE '%"sha256"%' OR state LIKE '%"sha256"%' OR result LIKE '%"sha256"%') ORDER BY id LIMIT $2`
)

// BlobGiven implements ktrdr.Checkpoints.
func (s *Store) BlobGiven(ctx context.Context, h ktrdr.Hash) (bool, error) {
	naming, err := readRow(ctx, s, scanValue[int64], countGiven, "%"+h.String()+"%")
	return naming > 0, err
}

// BlobRefs implements ktrdr.Checkpoints.
func (s *Store) BlobRefs(ctx context.Context) iter.Seq2[ktrdr.BlobRef, error] {
	return func(yield func(ktrdr.BlobRef, error) bool) {
		if s.checkpointRefs(ctx, yield) {
			s.otherRefs(ctx)(yield)
		}
	}
}

// otherRefs yields what rows other than the checkpoints of operations name.
func (s *Store) otherRefs(ctx context.Context) iter.Seq2[ktrdr.BlobRef, error] {
	return func(yield func(ktrdr.BlobRef, error) bool) {
		if s.operationRefs(ctx, yield) && s.noteRefs(ctx, yield) && s.seriesRefs(ctx, yield) &&
			s.barsRefs(ctx, yield) && s.lookRefs(ctx, yield) {
			s.valueRefs(ctx, yield)
		}
	}
}

// namingRow is a row that names blobs in up to three texts.
type namingRow struct {
	ktrdr.BlobRef
	texts [3]json.RawMessage
}

func (n namingRow) refs() (refs []ktrdr.BlobRef) {
	for _, text := range n.texts {
		for _, a := range ktrdr.ArtifactsIn(text) {
			refs = append(refs, ktrdr.BlobRef{Artifact: a, Operation: n.Operation, Checkpoint: n.Checkpoint})
		}
	}
	return refs
}

// checkpointRefs yields the blobs of checkpoints; false when no more are wanted.
func (s *Store) checkpointRefs(ctx context.Context, yield func(ktrdr.BlobRef, error) bool) bool {
	scan := fields(func(n *namingRow) []any {
		return []any{&n.Operation, &n.Checkpoint, (*document)(&n.texts[0]), (*document)(&n.texts[1])}
	})
	return yieldRefs(ctx, s, yield, scan, selectBlobRows, []any{"", ""}, func(n namingRow) ([]ktrdr.BlobRef, []any) {
		return n.refs(), []any{n.Operation, n.Checkpoint}
	})
}

// operationRefs is checkpointRefs for operations.
func (s *Store) operationRefs(ctx context.Context, yield func(ktrdr.BlobRef, error) bool) bool {
	scan := fields(func(n *namingRow) []any {
		return []any{&n.Operation, (*document)(&n.texts[0]), (*document)(&n.texts[1]), (*document)(&n.texts[2])}
	})
	return yieldRefs(ctx, s, yield, scan, selectNamingRows, []any{""}, func(n namingRow) ([]ktrdr.BlobRef, []any) {
		return n.refs(), []any{n.Operation}
	})
}

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

// isBlobValue is true of values that stand for a blob. It is spelled as the
// partial indexes spell it.
const isBlobValue = `substr(type, 1, 14) = '` + thread.BlobPrefix + `'`

// blobsIn finds them in a table. The type of such a value names its blob; of
// the threads that hold it one is told, for people.
func blobsIn(table string) query {
	return query(`SELECT type, MIN(thread_id) FROM ` + table + ` WHERE ` + isBlobValue + ` AND type > $1 GROUP BY type ORDER BY type LIMIT $2`)
}

var selectBlobs = []query{blobsIn("thread_values"), blobsIn("checkpoint_writes")}

// valueRefs yields the blobs that are values of foreign threads.
func (s *Store) valueRefs(ctx context.Context, yield func(ktrdr.BlobRef, error) bool) {
	type naming struct{ text, thread string }
	scan := fields(func(n *naming) []any { return []any{&n.text, &n.thread} })
	for _, text := range selectBlobs {
		more := yieldRefs(ctx, s, yield, scan, text, []any{""}, func(n naming) ([]ktrdr.BlobRef, []any) {
			return refsOf(ktrdr.OperationID(n.thread), json.RawMessage(n.text)), []any{n.text}
		})
		if !more {
			return
		}
	}
}
