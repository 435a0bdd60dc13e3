package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ktrdr/ktrdr"
)

// ofOperation is the condition under which a row is a checkpoint of operation
// $1.
const ofOperation = `c.tenant = '' AND c.thread_id = $1 AND c.ns = ''`

const (
	// The parent is the newest that could be used: what a resumed run began
	// from.
	insertCheckpointRow query = `INSERT INTO checkpoints (tenant, thread_id, ns, id, parent_id, put_at, checkpoint_type,
			epoch, seq, step, size, fingerprint, artifacts, state_blob, state)
		VALUES ('', $1, '', $2, COALESCE((SELECT c.id FROM checkpoints c WHERE ` + ofOperation + ` AND c.id < $2 AND c.skipped = 0
			ORDER BY c.id DESC LIMIT 1), ''), {now}, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (tenant, thread_id, ns, id) DO NOTHING RETURNING put_at`

	// A spool may deliver an older one late.
	setNewest     query = replaceNewest + ` AND (ckpt_id IS NULL OR ckpt_id < $2)`
	replaceNewest query = `UPDATE operations SET ckpt_id = $2, ckpt_type = $3, ckpt_epoch = $4, ckpt_seq = $5, ckpt_step = $6, ckpt_size = $7,
		ckpt_at = $8 WHERE id = $1`
	forgetNewest query = `UPDATE operations SET ckpt_id = NULL, ckpt_type = $2, ckpt_epoch = NULL, ckpt_seq = NULL,
		ckpt_step = NULL, ckpt_size = NULL, ckpt_at = NULL WHERE id = $1`
)

// SaveCheckpoint implements ktrdr.Checkpoints.
func (s *Store) SaveCheckpoint(ctx context.Context, c ktrdr.NewCheckpoint, state *ktrdr.Artifact) (info ktrdr.CheckpointInfo, err error) {
	if len(c.State) > ktrdr.InlineState && state == nil {
		return info, ktrdr.Errorf(ktrdr.CodeTooLarge, "the state of checkpoint %d of %s is %d bytes; over %d it must be stored as a blob first",
			c.Seq, clip(string(c.Operation)), len(c.State), ktrdr.InlineState)
	}
	row, err := rowOf(c, state)
	if err != nil {
		return info, err
	}
	err = s.fenced(ctx, func(t *tx) (err error) {
		refused := fenceSave(ctx, t, c.Operation, c.Epoch, c.Step)
		switch {
		case refused == nil:
			info, err = row.insert(ctx, t)
			return err
		case ktrdr.CodeOf(refused) != ktrdr.CodeStaleEpoch:
			return refused
		}
		// It may have been stored while the epoch was live, and only the
		// answer lost.
		before, err := row.storedBefore(ctx, t)
		if err != nil {
			return err
		}
		if before == nil {
			return refused
		}
		info = *before
		return nil
	})
	return info, err
}

// insertCheckpoint stores a checkpoint for a caller who holds the operation's
// epoch. A state without a blob goes into the row whatever its size: in the middle
// of a transaction no blob can be made.
func insertCheckpoint(ctx context.Context, t *tx, c ktrdr.NewCheckpoint, state *ktrdr.Artifact) (ktrdr.CheckpointInfo, error) {
	row, err := rowOf(c, state)
	if err != nil {
		return ktrdr.CheckpointInfo{}, err
	}
	return row.insert(ctx, t)
}

// checkpointRow is a checkpoint as it is written.
type checkpointRow struct {
	op                                      ktrdr.OperationID
	info                                    ktrdr.CheckpointInfo
	fingerprint, artifacts, stateBlob, text sql.NullString
}

// mostOrdinal is the largest epoch or seq whose id still sorts as text.
const mostOrdinal = 9_999_999_999

// rowOf refuses what cannot be stored and sums up the rest.
func rowOf(c ktrdr.NewCheckpoint, state *ktrdr.Artifact) (checkpointRow, error) {
	if err := checkCheckpoint(c, state); err != nil {
		return checkpointRow{}, err
	}
	r := checkpointRow{op: c.Operation, info: ktrdr.CheckpointInfo{
		ID: ktrdr.CheckpointID(c.Epoch, c.Seq), Type: c.Type, Epoch: c.Epoch, Seq: c.Seq, Step: c.Step, Size: int64(len(c.State)),
	}}
	if state != nil {
		r.info.Size = state.Size
	} else {
		r.text = optional(c.State)
	}
	for _, a := range c.Artifacts {
		r.info.Size += a.Size
	}
	var err error
	encode := func(v any) sql.NullString {
		text, e := marshal(v)
		err = errors.Join(err, e)
		return sql.NullString{String: text, Valid: true}
	}
	if len(c.Fingerprint) > 0 {
		r.fingerprint = encode(c.Fingerprint)
	}
	if len(c.Artifacts) > 0 {
		r.artifacts = encode(c.Artifacts)
	}
	if state != nil {
		r.stateBlob = encode(state)
	}
	return r, err
}

func checkCheckpoint(c ktrdr.NewCheckpoint, state *ktrdr.Artifact) error {
	size := int64(len(c.State))
	if state != nil {
		size = state.Size
	}
	switch {
	case !c.Operation.Valid():
		return notFound(c.Operation)
	case c.Epoch < 1 || c.Epoch > mostOrdinal || c.Seq < 0 || c.Seq > mostOrdinal:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a checkpoint of %s needs an epoch from 1 and a seq from 0, both of at most ten digits",
			c.Operation)
	case !c.Type.Known():
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a checkpoint type", clip(string(c.Type)))
	case size < 0 || size > ktrdr.MaxState:
		return ktrdr.Errorf(ktrdr.CodeTooLarge, "the state of a checkpoint of %s is %d bytes; at most %d are allowed, more belongs in artifacts",
			c.Operation, size, ktrdr.MaxState)
	case state == nil && len(c.State) > 0 && !validJSON(c.State):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the state of a checkpoint of %s is not valid JSON", c.Operation)
	}
	for _, a := range c.Artifacts {
		if a.Name == "" || !storable(a.Name, 255) || a.Size < 0 {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "an artifact of %s needs a name of at most 255 bytes and a size", c.Operation)
		}
	}
	for name, value := range c.Fingerprint {
		if !storable(name, 255) || !storable(value, 4096) {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "the fingerprint of a checkpoint of %s has an entry that cannot be stored", c.Operation)
		}
	}
	return nil
}

// insert stores the row and makes it the operation's newest; or answers as
// when it was stored before.
func (r checkpointRow) insert(ctx context.Context, t *tx) (ktrdr.CheckpointInfo, error) {
	i, err := r.store(ctx, t)
	if err == nil {
		t.later(ctx, setNewest, r.op, i.ID, i.Type, i.Epoch, i.Seq, i.Step, i.Size, micros(i.CreatedAt))
	}
	return i, err
}

// store writes the row and its event.
func (r checkpointRow) store(ctx context.Context, t *tx) (ktrdr.CheckpointInfo, error) {
	i := r.info
	err := t.row(ctx, insertCheckpointRow, r.op, i.ID, i.Type, i.Epoch, i.Seq, i.Step, i.Size,
		r.fingerprint, r.artifacts, r.stateBlob, r.text).Scan((*moment)(&i.CreatedAt))
	if errors.Is(err, sql.ErrNoRows) {
		before, err := r.storedBefore(ctx, t)
		if err != nil {
			return ktrdr.CheckpointInfo{}, err
		}
		return *before, nil
	}
	if err != nil {
		return ktrdr.CheckpointInfo{}, err
	}
	insertEvent(ctx, t, r.op, ktrdr.EventCheckpoint, i.Epoch, i)
	return i, nil
}

// storedBefore returns the same checkpoint as it was stored before, nil when
// it was not. Another under the same number is CodeKeyReused.
func (r checkpointRow) storedBefore(ctx context.Context, q queryer) (*ktrdr.CheckpointInfo, error) {
	stored, found, err := optionalRow(scanCheckpoint(q.row(ctx, selectCheckpoint, r.op, r.info.ID)))
	if !found {
		return nil, err
	}
	again, err := rowOf(ktrdr.NewCheckpoint{
		Operation: r.op, Epoch: stored.Epoch, Seq: stored.Seq, Type: stored.Type, Step: stored.Step,
		Fingerprint: stored.Fingerprint, State: stored.State, Artifacts: stored.Artifacts,
	}, stored.StateBlob)
	if err != nil {
		return nil, err
	}
	if again != r {
		return nil, ktrdr.Errorf(ktrdr.CodeKeyReused, "checkpoint %d of %s at epoch %d was stored before with other content", r.info.Seq,
			r.op, r.info.Epoch)
	}
	return &stored.CheckpointInfo, nil
}

const (
	markSkipped query = `UPDATE checkpoints SET skipped = 1 WHERE tenant = '' AND thread_id = $1 AND ns = '' AND id = $2 AND skipped = 0`
	isThere     query = `SELECT c.id FROM checkpoints c WHERE ` + ofOperation + ` AND c.id = $2`
)

// SkipCheckpoint implements ktrdr.Checkpoints.
func (s *Store) SkipCheckpoint(ctx context.Context, k ktrdr.Skip) error {
	if !storable(k.Checkpoint, 255) {
		return ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no such checkpoint", clip(string(k.Operation)))
	}
	return s.fenced(ctx, func(t *tx) error {
		if err := fenceSave(ctx, t, k.Operation, k.Epoch, 0); err != nil {
			return err
		}
		n, err := t.exec(ctx, markSkipped, k.Operation, k.Checkpoint)
		if err != nil {
			return err
		}
		if n == 0 {
			found, err := firstColumn(ctx, t, isThere, k.Operation, k.Checkpoint)
			if err == nil && len(found) == 0 {
				err = ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no checkpoint %s", k.Operation, clip(k.Checkpoint))
			}
			return err
		}
		if err := refreshNewest(ctx, t, k.Operation, "skipped"); err != nil {
			return err
		}
		insertEvent(ctx, t, k.Operation, ktrdr.EventCheckpointSkipped, k.Epoch, struct {
			Checkpoint string `json:"checkpoint_id"`
			Reason     string `json:"reason"`
		}{k.Checkpoint, ktrdr.CleanText(k.Reason)})
		return nil
	})
}

// refreshNewest makes the operation's row name its newest checkpoint again; if
// no checkpoint is left, it keeps the word for why.
func refreshNewest(ctx context.Context, t *tx, op ktrdr.OperationID, why string) error {
	c, err := newestCheckpoint(ctx, t, op)
	switch {
	case err != nil:
	case c == nil:
		t.later(ctx, forgetNewest, op, why)
	default:
		t.later(ctx, replaceNewest, op, c.ID, c.Type, c.Epoch, c.Seq, c.Step, c.Size, micros(c.CreatedAt))
	}
	return err
}
