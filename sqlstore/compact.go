package sqlstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// compactAtOnce is how many researches one call compacts. Packing one takes a
// millisecond or two, and writers of SQLite wait for it.
const compactAtOnce = 20

const (
	deleteSuperseded query = `DELETE FROM checkpoints AS c WHERE ` + ofOperation + ` AND c.checkpoint_type IS NOT NULL
		AND c.checkpoint_type <> 'final'
		AND EXISTS (SELECT 1 FROM operations WHERE id = $1 AND ` + isLive + `)
		AND EXISTS (SELECT 1 FROM checkpoints n WHERE n.tenant = '' AND n.thread_id = $1 AND n.ns = '' AND n.id > c.id
			AND n.skipped = 0 ORDER BY n.id LIMIT 1 OFFSET 1)
		RETURNING artifacts, state_blob`

	// compactable is asked twice: to find researches, and again of each under
	// the lock of its tree. Its beginning is spelled as the index spells it, and
	// the type so that no index of types is taken instead. A
	// research that failed or was cancelled may be resumed as long as it has a
	// checkpoint, unless its run was cancelled. A child of one that has ended may be resumed too, and runs then.
	compactable = `queue <> '' AND compacted = 0 AND pinned = 0 AND rung <> 'finalist' AND completed_at IS NOT NULL
		AND operation_type || '' = 'agent_research' AND (status = 'COMPLETED' OR ckpt_id IS NULL
			OR EXISTS (SELECT 1 FROM runs WHERE runs.id = operations.run AND runs.cancelled_at IS NOT NULL))
		AND (run = '' OR EXISTS (SELECT 1 FROM runs WHERE runs.id = operations.run
			AND (runs.closed > operations.generation OR runs.ended_at IS NOT NULL)))
		AND NOT EXISTS (SELECT 1 FROM operations AS child WHERE child.parent_id = operations.id AND child.` + isOpen + `)
		AND NOT EXISTS (SELECT 1 FROM looks WHERE looks.research_id = operations.id AND looks.research_id <> '')`
	selectCompactable query = `SELECT id FROM operations WHERE ` + compactable + ` ORDER BY completed_at, id LIMIT $1 OFFSET $2`

	// The state is what a plan remembers, and nothing is planned any more.
	compact = `UPDATE operations SET compacted = 1, state = NULL, ckpt_id = NULL, ckpt_type = 'compacted', ckpt_epoch = NULL, ckpt_seq = NULL,
		ckpt_step = NULL, ckpt_size = NULL, ckpt_at = NULL WHERE `
	compactRoot query = compact + `id = $1 AND ` + compactable + ` RETURNING id, result`

	// A model stays that took more than five seconds to train and has at most
	// 16 kB for each second: a reader of a curve does not wait for a
	// training. The sum of what stays is bounded by the time that was spent.
	compactChildren query = compact + `parent_id = $1 AND compacted = 0 AND NOT (operation_type = 'training'
		AND COALESCE(completed_at - started_at > 5000000 AND ckpt_size <= (completed_at - started_at) / 1000000 * 16384, 1 = 0))
		RETURNING id, result`

	deleteCompacted query = `DELETE FROM checkpoints WHERE tenant = '' AND ns = '' AND thread_id = $1 RETURNING artifacts, state_blob`
)

// blobSet collects the blobs that texts of rows name.
type blobSet map[ktrdr.Hash]bool

func (b blobSet) add(texts ...json.RawMessage) {
	for _, text := range texts {
		for _, a := range ktrdr.ArtifactsIn(text) {
			b[a.SHA256] = true
		}
	}
}

func (b blobSet) list() []ktrdr.Hash {
	return slices.SortedFunc(maps.Keys(b), func(x, y ktrdr.Hash) int { return bytes.Compare(x[:], y[:]) })
}

// addDeleted runs a statement that deletes checkpoints and collects what they
// named.
func (b blobSet) addDeleted(ctx context.Context, t *tx, q query, args ...any) error {
	return eachRow(ctx, t, func(row scanner) error {
		var artifacts, state json.RawMessage
		err := row.Scan((*document)(&artifacts), (*document)(&state))
		b.add(artifacts, state)
		return err
	}, q, args...)
}

// Supersede implements ktrdr.Compaction.
func (s *Store) Supersede(ctx context.Context, op ktrdr.OperationID) ([]ktrdr.Hash, error) {
	if !op.Valid() {
		return nil, notFound(op)
	}
	blobs := blobSet{}
	err := s.write(ctx, normal, func(t *tx) error {
		clear(blobs)
		return blobs.addDeleted(ctx, t, deleteSuperseded, op)
	})
	return blobs.list(), err
}

// maxStuck is how many researches that cannot be compacted one call goes past.
const maxStuck = 500

// Compact implements ktrdr.Compaction. A research whose rows cannot be compacted
// keeps no other from that.
func (s *Store) Compact(ctx context.Context) (n int, _ []ktrdr.Hash, err error) {
	blobs := blobSet{}
	var stuck []error
	for n == 0 && len(stuck) < maxStuck && err == nil {
		var found []ktrdr.OperationID
		// Looking does not need the writer. Those that are stuck are the first again.
		found, err = readAll(ctx, s, scanValue[ktrdr.OperationID], selectCompactable, compactAtOnce, len(stuck))
		if err != nil || len(found) == 0 {
			break
		}
		var failed []error
		n, failed, err = s.compactSome(ctx, found, blobs)
		if stuck = append(stuck, failed...); n+len(failed) == 0 {
			break // they were pinned meanwhile
		}
	}
	if err == nil && len(stuck) > 0 {
		err = fmt.Errorf("researches that cannot be compacted: %d, the first is %w", len(stuck), stuck[0])
	}
	return n, blobs.list(), err
}

// compactSome compacts researches together or, where that fails, each by itself. An
// error is one that has nothing to do with any of them.
func (s *Store) compactSome(ctx context.Context, found []ktrdr.OperationID, blobs blobSet) (n int, stuck []error, err error) {
	n, err = s.compactAll(ctx, found, blobs)
	if err == nil || notTheRows(ctx, err) {
		return n, nil, err
	}
	for _, root := range found {
		done, err := s.compactAll(ctx, []ktrdr.OperationID{root}, blobs)
		if err != nil && notTheRows(ctx, err) {
			return n, stuck, err
		}
		if err != nil {
			stuck = append(stuck, fmt.Errorf("%s: %w", root, err))
		}
		n += done
	}
	return n, stuck, nil
}

// notTheRows says whether the database could not be written, whatever was to be
// written.
func notTheRows(ctx context.Context, err error) bool {
	switch ktrdr.CodeOf(err) {
	case ktrdr.CodeUnavailable, ktrdr.CodeUnknownResult, ktrdr.CodeNoSpace:
		return true
	}
	return ctx.Err() != nil
}

// compactAll compacts researches in one transaction and adds the blobs that their
// rows named.
func (s *Store) compactAll(ctx context.Context, found []ktrdr.OperationID, all blobSet) (n int, err error) {
	blobs := blobSet{}
	var p packer
	err = s.write(ctx, normal, func(t *tx) error {
		n = 0
		clear(blobs)
		s.lockTrees(ctx, t, found)
		for _, root := range found {
			ids, err := compactOne(ctx, t, &p, root, blobs)
			if err != nil {
				return err
			}
			if len(ids) > 0 {
				n++
			}
			for _, id := range ids {
				if err := blobs.addDeleted(ctx, t, deleteCompacted, id); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	maps.Copy(all, blobs)
	return n, nil
}

// compactOne marks a research and its children, packs their results, and returns
// who was marked.
func compactOne(ctx context.Context, t *tx, p *packer, root ktrdr.OperationID, blobs blobSet) (ids []ktrdr.OperationID, err error) {
	for _, q := range []query{compactRoot, compactChildren} {
		marked, err := collect(ctx, t, fields(func(m *compactedRow) []any { return []any{&m.id, (*document)(&m.result)} }), q, root)
		if err != nil || len(marked) == 0 && q == compactRoot { // it was pinned meanwhile
			return nil, err
		}
		for _, m := range marked {
			if q == compactChildren { // the files that the result of a research names are its children's
				blobs.add(m.result)
			}
			ids = append(ids, m.id)
		}
		if err := p.packAll(ctx, t, marked); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

const (
	setPinned  query = `UPDATE operations SET pinned = $2 WHERE id = $1`
	uncompact  query = `UPDATE operations SET compacted = 0 WHERE (id = $1 OR parent_id = $1) AND compacted = 1`
	hasCompact query = `SELECT id FROM operations WHERE (id = $1 OR parent_id = $1) AND compacted = 1 LIMIT 1`
)

// SetPinned implements ktrdr.Compaction.
func (s *Store) SetPinned(ctx context.Context, id ktrdr.OperationID, pinned, restored bool) (ktrdr.Operation, error) {
	root, err := inWrite(ctx, s, func(t *tx) (root operationRow, err error) {
		op, err := load(ctx, t, id)
		if err == nil {
			s.lockTree(ctx, t, op.Root)
			root, err = load(ctx, t, op.Root)
		}
		if err == nil && root.Type != ktrdr.AgentResearch {
			err = ktrdr.Errorf(ktrdr.CodeInvalid,
				"%s belongs to no research: only researches are compacted, and everything else keeps its files", id)
		}
		if err == nil && pinned {
			err = restoreRows(ctx, t, root.ID, restored)
		}
		if err != nil {
			return root, err
		}
		t.later(ctx, setPinned, root.ID, bit(pinned))
		return load(ctx, t, root.ID)
	})
	return root.Operation, err
}

// restoreRows makes the rows of a research as they were before it was compacted,
// if its blobs are back.
func restoreRows(ctx context.Context, t *tx, root ktrdr.OperationID, restored bool) error {
	found, err := firstColumn(ctx, t, hasCompact, root)
	switch {
	case err != nil || len(found) == 0:
		return err
	case !restored:
		return ktrdr.Errorf(ktrdr.CodeConflict, "%s is compacted: its files must be computed again before it is pinned", root)
	}
	t.later(ctx, uncompact, root)
	return unpackTree(ctx, t, root)
}
