package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// checkpointColumns is what scanCheckpoint reads, in its order.
const checkpointColumns = `c.thread_id, c.id, c.parent_id, c.put_at, c.checkpoint_type, c.epoch, c.seq, c.step, c.size,
	c.fingerprint, c.artifacts, c.state_blob, c.state`

func scanCheckpoint(row scanner) (c ktrdr.StoredCheckpoint, err error) {
	var putAt int64
	var fingerprint, artifacts, blob, state sql.NullString
	err = row.Scan(&c.Operation, &c.ID, &c.Parent, &putAt, &c.Type, &c.Epoch, &c.Seq, &c.Step, &c.Size,
		&fingerprint, &artifacts, &blob, &state)
	if err != nil {
		return c, err
	}
	c.CreatedAt, c.State = instant(putAt), rawJSON(state)
	for _, part := range []struct {
		text sql.NullString
		into any
	}{{fingerprint, &c.Fingerprint}, {artifacts, &c.Artifacts}, {blob, &c.StateBlob}} {
		if part.text.Valid {
			if err := json.Unmarshal([]byte(part.text.String), part.into); err != nil {
				return c, ktrdr.Errorf(ktrdr.CodeCorrupt, "checkpoint %s of %s: %w", c.ID, c.Operation, err)
			}
		}
	}
	return c, nil
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
	c, err := scanCheckpoint(q.row(ctx, selectNewest, op))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
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
	err = s.readOne(ctx, func(r queryer) error {
		if id == "" {
			c, err = scanCheckpoint(r.row(ctx, selectNewest, op))
		} else {
			c, err = scanCheckpoint(r.row(ctx, selectCheckpoint, op, id))
		}
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows) && id == "":
		return c, ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no checkpoint", op)
	case errors.Is(err, sql.ErrNoRows):
		return c, ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no checkpoint %s", op, clip(id))
	}
	return c, err
}

// History implements ktrdr.Checkpoints.
func (s *Store) History(ctx context.Context, op ktrdr.OperationID) (all []ktrdr.CheckpointInfo, err error) {
	err = s.read(ctx, func(r queryer) error {
		if _, err := load(ctx, r, op); err != nil {
			return err
		}
		rows, err := r.rows(ctx, selectHistory, op)
		all, err = gather(rows, err, func(row scanner) (i ktrdr.CheckpointInfo, err error) {
			var putAt int64
			err = row.Scan(&i.ID, &putAt, &i.Type, &i.Epoch, &i.Seq, &i.Step, &i.Size)
			i.CreatedAt = instant(putAt)
			return i, err
		})
		return err
	})
	return slices.Clip(all), err
}

const selectStats query = `SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT), COALESCE(MIN(put_at), 0)
	FROM checkpoints WHERE checkpoint_type IS NOT NULL`

// CheckpointStats implements ktrdr.Checkpoints.
func (s *Store) CheckpointStats(ctx context.Context) (stats ktrdr.CheckpointStats, err error) {
	err = s.readOne(ctx, func(r queryer) error {
		var oldest int64
		err := r.row(ctx, selectStats).Scan(&stats.Total, &stats.Bytes, &oldest)
		stats.Oldest = instant(oldest)
		return err
	})
	return stats, err
}

// ListCheckpoints implements ktrdr.Checkpoints.
func (s *Store) ListCheckpoints(ctx context.Context, q ktrdr.CheckpointQuery) (page ktrdr.CheckpointPage, err error) {
	if q.Limit == 0 {
		q.Limit = defaultPage
	}
	if q.Limit < 1 || q.Limit > largestPage || q.OlderThan < 0 {
		return page, ktrdr.Errorf(ktrdr.CodeInvalid, "limit must be 1 to %d and an age cannot be negative", largestPage)
	}
	args := []any{q.Limit + 1}
	where := []string{"o.ckpt_id IS NOT NULL"}
	if q.OlderThan > 0 {
		args = append(args, q.OlderThan.Microseconds())
		where = append(where, "o.ckpt_at <= {now} - CAST($2 AS BIGINT)")
	}
	if q.Cursor != "" {
		created, id, err := parseListCursor(q.Cursor)
		if err != nil {
			return page, err
		}
		where = append(where, "(o.created_at, o.id) < ("+placeholders(len(args)+1, 2)+")")
		args = append(args, created, id)
	}
	text := query(`SELECT o.created_at, ` + strings.Replace(checkpointColumns, "c.state_blob, c.state", "c.state_blob, NULL", 1) + `
		FROM operations o JOIN checkpoints c ON c.tenant = '' AND c.thread_id = o.id AND c.ns = '' AND c.id = o.ckpt_id
		WHERE ` + strings.Join(where, " AND ") + ` ORDER BY o.created_at DESC, o.id DESC LIMIT $1`)
	var created []int64
	err = s.readOne(ctx, func(r queryer) error {
		created = nil
		rows, err := r.rows(ctx, text, args...)
		page.Checkpoints, err = gather(rows, err, func(row scanner) (ktrdr.Checkpoint, error) {
			var at int64
			c, err := scanCheckpoint(prefixed{row, &at})
			created = append(created, at)
			return c.Checkpoint, err
		})
		return err
	})
	if err == nil && len(page.Checkpoints) > q.Limit {
		page.Checkpoints = page.Checkpoints[:q.Limit]
		last := q.Limit - 1
		page.Next = listCursor(ktrdr.Operation{ID: page.Checkpoints[last].Operation, CreatedAt: instant(created[last])})
	}
	return page, err
}

// prefixed is a row with one column before those the scanner knows.
type prefixed struct {
	scanner
	first any
}

func (p prefixed) Scan(dest ...any) error { return p.scanner.Scan(append([]any{p.first}, dest...)...) }
