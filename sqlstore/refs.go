package sqlstore

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// refsPage is how many rows BlobRefs reads at a time.
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
	ofCheckpoints := refsIn(ctx, s, fields(func(n *namingRow) []any {
		return []any{&n.Operation, &n.Checkpoint, (*document)(&n.texts[0]), (*document)(&n.texts[1])}
	}), selectBlobRows, []any{"", ""}, func(n namingRow) ([]ktrdr.BlobRef, []any) {
		return n.refs(), []any{n.Operation, n.Checkpoint}
	})
	return inTurn(ofCheckpoints, s.otherRefs(ctx))
}

const (
	selectNamingNotes  query = `SELECT ` + noteColumns + ` FROM notes WHERE id > $1 AND data LIKE '%"sha256"%' ORDER BY id LIMIT $2`
	selectNamingSeries query = `SELECT ` + seriesColumns + ` FROM market_series
		WHERE (symbol, timeframe, bars_hash) > ($1, $2, $3) ORDER BY symbol, timeframe, bars_hash LIMIT $4`
	selectNamingBars query = `SELECT ` + barsColumns + ` FROM bars WHERE (symbol, timeframe, bars_hash) > ($1, $2, $3)
		ORDER BY symbol, timeframe, bars_hash LIMIT $4`
	selectNamingLooks query = `SELECT ` + lookColumns + ` FROM looks WHERE key > $1 AND result LIKE '%"sha256"%' ORDER BY key LIMIT $2`
)

// otherRefs yields what rows other than the checkpoints of operations name. The
// prices of a series stay when its bars are deleted: another series may be compared
// with them at any time.
func (s *Store) otherRefs(ctx context.Context) iter.Seq2[ktrdr.BlobRef, error] {
	values := func(table string) iter.Seq2[ktrdr.BlobRef, error] {
		return refsIn(ctx, s, fields(func(n *namingRow) []any {
			return []any{(*document)(&n.texts[0]), &n.Operation}
		}), blobsIn(table), []any{""}, func(n namingRow) ([]ktrdr.BlobRef, []any) { return n.refs(), []any{string(n.texts[0])} })
	}
	return inTurn(
		refsIn(ctx, s, fields(func(n *namingRow) []any {
			return []any{&n.Operation, (*document)(&n.texts[0]), (*document)(&n.texts[1]), (*document)(&n.texts[2])}
		}), selectNamingRows, []any{""}, func(n namingRow) ([]ktrdr.BlobRef, []any) { return n.refs(), []any{n.Operation} }),
		refsIn(ctx, s, scanNote, selectNamingNotes, []any{0}, func(n noteRow) ([]ktrdr.BlobRef, []any) {
			return refsOf(n.Operation, "", n.Data), []any{n.id}
		}),
		refsIn(ctx, s, scanSeries, selectNamingSeries, []any{"", "", ""}, func(one ktrdr.MarketSeries) (refs []ktrdr.BlobRef, after []any) {
			if one.Prices.SHA256 != (ktrdr.Hash{}) {
				refs = []ktrdr.BlobRef{{Artifact: one.Prices, Series: one.Symbol + " " + one.Timeframe}}
			}
			return refs, []any{one.Symbol, one.Timeframe, one.Hash.String()}
		}),
		refsIn(ctx, s, scanBars, selectNamingBars, []any{"", "", ""}, func(b ktrdr.StoredBars) ([]ktrdr.BlobRef, []any) {
			return []ktrdr.BlobRef{{Artifact: b.File, Series: b.Symbol + " " + b.Timeframe, Bars: true}},
				[]any{b.Symbol, b.Timeframe, b.Hash.String()}
		}),
		refsIn(ctx, s, scanLook, selectNamingLooks, []any{""}, func(l ktrdr.Look) ([]ktrdr.BlobRef, []any) {
			return refsOf(l.Operation, "", l.Result), []any{l.Key}
		}),
		values("thread_values"), values("checkpoint_writes"),
	)
}

// namingRow is a row that names blobs in up to three texts.
type namingRow struct {
	ktrdr.BlobRef
	texts [3]json.RawMessage
}

func (n namingRow) refs() []ktrdr.BlobRef { return refsOf(n.Operation, n.Checkpoint, n.texts[:]...) }

// refsOf are the blobs that texts of an operation name.
func refsOf(op ktrdr.OperationID, checkpoint string, texts ...json.RawMessage) (refs []ktrdr.BlobRef) {
	for _, text := range texts {
		for _, a := range ktrdr.ArtifactsIn(text) {
			refs = append(refs, ktrdr.BlobRef{Artifact: a, Operation: op, Checkpoint: checkpoint})
		}
	}
	return refs
}

// inTurn yields what each yields, up to the first error.
func inTurn(all ...iter.Seq2[ktrdr.BlobRef, error]) iter.Seq2[ktrdr.BlobRef, error] {
	return func(yield func(ktrdr.BlobRef, error) bool) {
		for _, some := range all {
			for ref, err := range some {
				if !yield(ref, err) || err != nil {
					return
				}
			}
		}
	}
}

// refsIn yields the blobs that rows name, a page at a time, each page after the last
// row of the page before it. No cursor is held while the caller works.
func refsIn[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), q query, after []any,
	of func(T) (refs []ktrdr.BlobRef, after []any),
) iter.Seq2[ktrdr.BlobRef, error] {
	return func(yield func(ktrdr.BlobRef, error) bool) {
		for after := after; ; {
			found, err := readAll(ctx, s, scan, q, append(slices.Clip(after), refsPage)...)
			if err != nil {
				yield(ktrdr.BlobRef{}, err)
				return
			}
			for _, one := range found {
				var refs []ktrdr.BlobRef
				refs, after = of(one)
				for _, ref := range refs {
					if !yield(ref, nil) {
						return
					}
				}
			}
			if len(found) < refsPage {
				return
			}
		}
	}
}

// isBlobValue is true of values that stand for a blob. It is spelled as the
// partial indexes spell it.
const isBlobValue = `substr(type, 1, 14) = '` + thread.BlobPrefix + `'`

// blobsIn finds them in a table. The type of such a value names its blob; of
// the threads that hold it one is told, for people.
func blobsIn(table string) query {
	return query(`SELECT type, MIN(thread_id) FROM ` + table + ` WHERE ` + isBlobValue + ` AND type > $1 GROUP BY type ORDER BY type LIMIT $2`)
}
