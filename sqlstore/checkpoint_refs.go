package sqlstore

import (
	"context"
	"database/sql"
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
	var naming int64
	err := s.readOne(ctx, func(r queryer) error {
		return r.row(ctx, countGiven, "%"+h.String()+"%").Scan(&naming)
	})
	return naming > 0, err
}

// BlobRefs implements ktrdr.Checkpoints.
func (s *Store) BlobRefs(ctx context.Context) iter.Seq2[ktrdr.BlobRef, error] {
	return func(yield func(ktrdr.BlobRef, error) bool) {
		if s.pagedRefs(ctx, s.checkpointRefs, yield) {
			s.otherRefs(ctx)(yield)
		}
	}
}

// otherRefs yields what rows other than the checkpoints of operations name.
func (s *Store) otherRefs(ctx context.Context) iter.Seq2[ktrdr.BlobRef, error] {
	return func(yield func(ktrdr.BlobRef, error) bool) {
		if s.pagedRefs(ctx, s.operationRefs, yield) && s.noteRefs(ctx, yield) && s.seriesRefs(ctx, yield) &&
			s.barsRefs(ctx, yield) && s.lookRefs(ctx, yield) {
			s.valueRefs(ctx, yield)
		}
	}
}

// pagedRefs yields what is on all pages; false ends.
func (s *Store) pagedRefs(ctx context.Context, page func(context.Context, ktrdr.BlobRef) ([]ktrdr.BlobRef, *ktrdr.BlobRef, error),
	yield func(ktrdr.BlobRef, error) bool,
) bool {
	for after := new(ktrdr.BlobRef); after != nil; {
		refs, last, err := page(ctx, *after)
		if err != nil {
			yield(ktrdr.BlobRef{}, err)
			return false
		}
		for _, ref := range refs {
			if !yield(ref, nil) {
				return false
			}
		}
		after = last
	}
	return true
}

// checkpointRefs returns the references of a page of checkpoints, and its last
// row when there may be more.
func (s *Store) checkpointRefs(ctx context.Context, after ktrdr.BlobRef) (refs []ktrdr.BlobRef, last *ktrdr.BlobRef, err error) {
	type naming struct {
		ktrdr.BlobRef
		blob, artifacts sql.NullString
	}
	var found []naming
	err = s.readOne(ctx, func(r queryer) error {
		rows, err := r.rows(ctx, selectBlobRows, after.Operation, after.Checkpoint, refsPage)
		found, err = gather(rows, err, func(row scanner) (n naming, err error) {
			err = row.Scan(&n.Operation, &n.Checkpoint, &n.blob, &n.artifacts)
			return n, err
		})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for _, n := range found {
		for _, text := range []sql.NullString{n.blob, n.artifacts} {
			for _, a := range ktrdr.ArtifactsIn(rawJSON(text)) {
				refs = append(refs, ktrdr.BlobRef{Artifact: a, Operation: n.Operation, Checkpoint: n.Checkpoint})
			}
		}
	}
	if len(found) == refsPage {
		last = &found[refsPage-1].BlobRef
	}
	return refs, last, nil
}

// operationRefs is checkpointRefs for operations.
func (s *Store) operationRefs(ctx context.Context, after ktrdr.BlobRef) (refs []ktrdr.BlobRef, last *ktrdr.BlobRef, err error) {
	type naming struct {
		ktrdr.BlobRef
		texts [3]sql.NullString
	}
	var found []naming
	err = s.readOne(ctx, func(r queryer) error {
		rows, err := r.rows(ctx, selectNamingRows, after.Operation, refsPage)
		found, err = gather(rows, err, func(row scanner) (n naming, err error) {
			err = row.Scan(&n.Operation, &n.texts[0], &n.texts[1], &n.texts[2])
			return n, err
		})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for _, n := range found {
		for _, text := range n.texts {
			for _, a := range ktrdr.ArtifactsIn(rawJSON(text)) {
				refs = append(refs, ktrdr.BlobRef{Artifact: a, Operation: n.Operation})
			}
		}
	}
	if len(found) == refsPage {
		last = &found[refsPage-1].BlobRef
	}
	return refs, last, nil
}
