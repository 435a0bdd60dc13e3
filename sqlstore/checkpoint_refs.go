package sqlstore

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/ktrdr/ktrdr"
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
