package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// checkpointColumns is what scanCheckpoint reads, in its order.
const checkpointColumns = `c.thread_id, c.id, c.parent_id, c.put_at, c.checkpoint_type, c.epoch, c.seq, c.step, c.size,
	c.fingerprint, c.artifacts, c.state_blob, c.state`

func scanCheckpoint(row scanner) (c ktrdr.StoredCheckpoint, err error) {
	err = row.Scan(&c.Operation, &c.ID, &c.Parent, (*moment)(&c.CreatedAt), &c.Type, &c.Epoch, &c.Seq, &c.Step, &c.Size,
		fromJSON(&c.Fingerprint), fromJSON(&c.Artifacts), fromJSON(&c.StateBlob), (*document)(&c.State))
	if err != nil && c.ID != "" {
		err = ktrdr.Errorf(ktrdr.CodeCorrupt, "checkpoint %s of %s: %w", c.ID, c.Operation, err)
	}
	return c, err
}

const (
	selectCheckpoint query = `SELECT ` + checkpointColumns + ` FROM checkpoints c WHERE ` + ofOperation + ` AND c.id = $2`
	selectNewest     query = `SELECT ` + checkpointColumns + ` FROM checkpoints c WHERE ` + ofOperation +
		` AND c.skipped = 0 ORDER BY c.id DESC LIMIT 1`
	selectHistory query = `SELECT c.id, c.put_at, c.checkpoint_type, c.epoch, c.seq, c.step, c.size FROM checkpoints c
		WHERE ` + ofOperation + ` ORDER BY c.id DESC`
)

// newestCheckpoint returns what an operation is resumed from; nil when there
// is nothing.
func newestCheckpoint(ctx context.Context, q queryer, op ktrdr.OperationID) (*ktrdr.StoredCheckpoint, error) {
	c, found, err := optionalRow(scanCheckpoint(q.row(ctx, selectNewest, op)))
	if !found {
		return nil, err
	}
	return &c, nil
}

// Checkpoint implements ktrdr.Checkpoints.
func (s *Store) Checkpoint(ctx context.Context, op ktrdr.OperationID, id string) (c ktrdr.StoredCheckpoint, err error) {
	if !op.Valid() {
		return c, notFound(op)
	}
	if !storable(id, 255) {
		return c, ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no such checkpoint", op)
	}
	if id == "" {
		c, err = readRow(ctx, s, scanCheckpoint, selectNewest, op)
		return c, ifNoRow(err, ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no checkpoint", op))
	}
	c, err = readRow(ctx, s, scanCheckpoint, selectCheckpoint, op, id)
	return c, ifNoRow(err, ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no checkpoint %s", op, clip(id)))
}

// History implements ktrdr.Checkpoints.
func (s *Store) History(ctx context.Context, op ktrdr.OperationID) (all []ktrdr.CheckpointInfo, err error) {
	all, err = inRead(ctx, s.read, func(r queryer) ([]ktrdr.CheckpointInfo, error) {
		if _, err := load(ctx, r, op); err != nil {
			return nil, err
		}
		return collect(ctx, r, fields(func(i *ktrdr.CheckpointInfo) []any {
			return []any{&i.ID, (*moment)(&i.CreatedAt), &i.Type, &i.Epoch, &i.Seq, &i.Step, &i.Size}
		}), selectHistory, op)
	})
	return slices.Clip(all), err
}

const selectStats query = `SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT), COALESCE(MIN(put_at), 0)
	FROM checkpoints WHERE checkpoint_type IS NOT NULL`

// CheckpointStats implements ktrdr.Checkpoints.
func (s *Store) CheckpointStats(ctx context.Context) (ktrdr.CheckpointStats, error) {
	return readRow(ctx, s, fields(func(c *ktrdr.CheckpointStats) []any {
		return []any{&c.Total, &c.Bytes, (*moment)(&c.Oldest)}
	}), selectStats)
}

// ListCheckpoints implements ktrdr.Checkpoints.
func (s *Store) ListCheckpoints(ctx context.Context, q ktrdr.CheckpointQuery) (page ktrdr.CheckpointPage, err error) {
	q.Limit = cmp.Or(q.Limit, defaultPage)
	if q.Limit < 1 || q.Limit > largestPage || q.OlderThan < 0 {
		return page, ktrdr.Errorf(ktrdr.CodeInvalid, "limit must be 1 to %d and an age cannot be negative", largestPage)
	}
	var c conditions
	c.add("o.ckpt_id IS NOT NULL")
	c.when(q.OlderThan > 0, "o.ckpt_at <= {now} - CAST(? AS BIGINT)", q.OlderThan.Microseconds())
	if q.Cursor != "" {
		created, id, err := parsePlace(q.Cursor)
		if err == nil && !ktrdr.OperationID(id).Valid() {
			err = badCursor(q.Cursor)
		}
		if err != nil {
			return page, err
		}
		c.add("(o.created_at, o.id) < (?, ?)", created, id)
	}
	text, args := c.page(`o.created_at, `+strings.Replace(checkpointColumns, "c.state_blob, c.state", "c.state_blob, NULL", 1)+`
		FROM operations o JOIN checkpoints c ON c.tenant = '' AND c.thread_id = o.id AND c.ns = '' AND c.id = o.ckpt_id`,
		` ORDER BY o.created_at DESC, o.id DESC`, q.Limit+1)
	type listed struct {
		ktrdr.Checkpoint
		created int64 // when its operation was
	}
	found, err := readAll(ctx, s, func(row scanner) (l listed, err error) {
		c, err := scanCheckpoint(prefixed{row, &l.created})
		l.Checkpoint = c.Checkpoint
		return l, err
	}, text, args...)
	found, page.Next = pageOf(found, q.Limit, func(l listed) string { return placeCursor(l.created, string(l.Operation)) })
	for _, l := range found {
		page.Checkpoints = append(page.Checkpoints, l.Checkpoint)
	}
	return page, err
}

// prefixed is a row with one column before those the scanner knows.
type prefixed struct {
	scanner
	first any
}

func (p prefixed) Scan(dest ...any) error { return p.scanner.Scan(append([]any{p.first}, dest...)...) }
