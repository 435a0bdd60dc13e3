package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// spilling is a saver whose large values are blobs. Its rows hold a thread.BlobValue in place of
// each. Copying, pruning and deleting rows needs no blobs, and the collector finds the blobs that
// rows still name. Clients cannot name blobs themselves.
type spilling struct {
	thread.Saver
	blobs ktrdr.Blobs
	over  int // bytes that a row may hold
	log   *slog.Logger
}

// Put stores the blobs first, then the row that names them.
func (s spilling) Put(ctx context.Context, p thread.Put) (thread.Ref, error) {
	values := make(map[string]thread.Value, len(p.Values))
	for channel, v := range p.Values {
		var err error
		if values[channel], err = s.spill(ctx, v); err != nil {
			return thread.Ref{}, fmt.Errorf("value of channel %.100q: %w", channel, err)
		}
	}
	if p.Values != nil {
		p.Values = values
	}
	return s.Saver.Put(ctx, p)
}

// PutWrites stores the blobs first, then the rows that name them.
func (s spilling) PutWrites(ctx context.Context, w thread.Writes) error {
	writes := make([]thread.Write, len(w.Writes))
	for i, one := range w.Writes {
		var err error
		if one.Value, err = s.spill(ctx, one.Value); err != nil {
			return fmt.Errorf("write %d to channel %.100q: %w", one.Idx, one.Channel, err)
		}
		writes[i] = one
	}
	w.Writes = writes
	return s.Saver.PutWrites(ctx, w)
}

// spill makes a large value a blob. What the saver below would refuse is left to it.
func (s spilling) spill(ctx context.Context, v thread.Value) (thread.Value, error) {
	switch {
	case strings.HasPrefix(v.Type, thread.BlobPrefix):
		return v, ktrdr.Errorf(ktrdr.CodeInvalid, "a value's type must not begin with %s", thread.BlobPrefix)
	case len(v.Bytes) <= s.over, len(v.Type) > thread.MaxType, ktrdr.CleanText(v.Type) != v.Type:
		return v, nil
	}
	blob := ktrdr.Artifact{Name: "value", SHA256: sha256.Sum256(v.Bytes), Size: int64(len(v.Bytes))}
	if _, err := s.blobs.Put(ctx, blob.SHA256, bytes.NewReader(v.Bytes)); err != nil {
		return v, err
	}
	return thread.BlobValue(v.Type, blob), nil
}

// GetTuple returns a checkpoint with its values. CodeCorrupt when the blob of
// one is missing or damaged.
func (s spilling) GetTuple(ctx context.Context, ref thread.Ref) (thread.Tuple, error) {
	t, err := s.Saver.GetTuple(ctx, ref)
	if err != nil {
		return t, err
	}
	return t, s.fill(ctx, &t, fetched{})
}

// List returns checkpoints with their values. One that GetTuple would call
// CodeCorrupt is listed as Damaged: it must not hide the others.
func (s spilling) List(ctx context.Context, q thread.Query) ([]thread.Tuple, error) {
	all, err := s.Saver.List(ctx, q)
	if err != nil {
		return nil, err
	}
	known := fetched{}
	for i := range all {
		err := s.fill(ctx, &all[i], known)
		if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
			return nil, err
		}
		if err != nil {
			all[i] = all[i].WithDamage(err)
		}
		if why := all[i].Damaged; why != "" {
			s.log.WarnContext(ctx, "thread's checkpoint is damaged", "thread", all[i].Thread, "checkpoint", all[i].ID, "err", why)
		}
	}
	return all, nil
}

// History returns channels' writes with their values; CodeCorrupt as GetTuple.
func (s spilling) History(ctx context.Context, ref thread.Ref, channels []string) (map[string]thread.ChannelHistory, error) {
	all, err := s.Saver.History(ctx, ref, channels)
	if err != nil {
		return nil, err
	}
	known := fetched{}
	for channel, h := range all {
		values := writesOf(h.Writes)
		if h.Seed != nil {
			values = append(values, h.Seed)
		}
		if err := s.fetch(ctx, known, values...); err != nil {
			return nil, fmt.Errorf("history of channel %.100q of thread %.100q: %w", channel, ref.Thread, err)
		}
	}
	return all, nil
}

func (s spilling) fill(ctx context.Context, t *thread.Tuple, known fetched) error {
	values := writesOf(t.PendingWrites)
	for i := range t.PendingSends {
		values = append(values, &t.PendingSends[i])
	}
	err := s.fetch(ctx, known, values...)
	for channel, v := range t.Values {
		if err != nil {
			break
		}
		err = s.fetch(ctx, known, &v)
		t.Values[channel] = v
	}
	if err != nil {
		return fmt.Errorf("checkpoint %.100q of thread %.100q: %w", t.ID, t.Thread, err)
	}
	return nil
}

func writesOf(writes []thread.PendingWrite) []*thread.Value {
	values := make([]*thread.Value, len(writes))
	for i := range writes {
		values[i] = &writes[i].Value
	}
	return values
}

// fetched holds blobs that were read already: checkpoints of one thread share most of their values.
type fetched map[ktrdr.Hash][]byte

// fetch puts the values in the place of what stands for them.
func (s spilling) fetch(ctx context.Context, known fetched, values ...*thread.Value) error {
	for _, v := range values {
		kind, blob, ok := v.Blob()
		if !ok {
			continue
		}
		if _, read := known[blob.SHA256]; !read {
			b, err := s.read(ctx, blob)
			if err != nil {
				return err
			}
			known[blob.SHA256] = b
		}
		*v = thread.Value{Type: kind, Bytes: known[blob.SHA256]}
	}
	return nil
}

func (s spilling) read(ctx context.Context, blob ktrdr.Artifact) ([]byte, error) {
	r, err := s.blobs.Open(ctx, blob.SHA256)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "blob %s of a value is missing; `ktrdr doctor` lists what is damaged", blob.SHA256)
	}
	if err != nil {
		return nil, fmt.Errorf("blob %s of a value: %w", blob.SHA256, err)
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(io.LimitReader(r, blob.Size+1))
	if err != nil {
		return nil, fmt.Errorf("blob %s of a value: %w", blob.SHA256, err)
	}
	if sha256.Sum256(b) != blob.SHA256 {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "blob %s of a value holds other bytes; `ktrdr doctor --deep` lists what is damaged",
			blob.SHA256)
	}
	return b, nil
}
