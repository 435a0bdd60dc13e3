package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/engine"
)

// purgedMeanwhile is a store beside which another backend purges the blobs of a
// checkpoint, between the engine's look at them and the commit of its row.
type purgedMeanwhile struct {
	ktrdr.Store
	blobs blob.Store
	times *int // how often it does so
}

func (s purgedMeanwhile) purge(ctx context.Context, c ktrdr.NewCheckpoint, state *ktrdr.Artifact) error {
	if *s.times == 0 {
		return nil
	}
	*s.times--
	all := c.Artifacts
	if state != nil {
		all = append([]ktrdr.Artifact{*state}, all...)
	}
	for _, a := range all {
		at := time.Now()
		if err := s.blobs.Trash(ctx, a.SHA256, at); err != nil {
			return err
		}
		if err := s.blobs.Purge(ctx, blob.Trashed{Hash: a.SHA256, At: at}); err != nil {
			return err
		}
	}
	return nil
}

func (s purgedMeanwhile) SaveCheckpoint(ctx context.Context, c ktrdr.NewCheckpoint, state *ktrdr.Artifact) (ktrdr.CheckpointInfo, error) {
	if err := s.purge(ctx, c, state); err != nil {
		return ktrdr.CheckpointInfo{}, err
	}
	return s.Store.SaveCheckpoint(ctx, c, state)
}

func (s purgedMeanwhile) Finish(ctx context.Context, f ktrdr.Finished) (ktrdr.Operation, error) {
	if err := s.purge(ctx, *f.Checkpoint, f.StateBlob); err != nil {
		return ktrdr.Operation{}, err
	}
	return s.Store.Finish(ctx, f)
}

// A checkpoint, of a running operation or of its end, whose blobs are purged by
// another backend in the moment before its row is committed is whole afterwards:
// the worker is told to upload its files again, and may.
func TestEngine_WhatIsPurgedBesideACheckpointComesBack(t *testing.T) {
	for name, end := range map[string]ktrdr.Status{"checkpoint": "", "completed": ktrdr.Completed, "failed": ktrdr.Failed} {
		t.Run(name, func(t *testing.T) {
			var times int
			l := newLab(t, func(c *engine.Config) { c.Store = purgedMeanwhile{c.Store, c.Blobs.(blob.Store), &times} })
			l.register("w")
			l.submit()
			task := l.claimOne()
			claim := ktrdr.Claimed{Operation: task.Operation, Epoch: task.Epoch}
			content := []byte("weights")
			file := ktrdr.Artifact{Name: "a", SHA256: sha256.Sum256(content), Size: int64(len(content))}
			long, err := json.Marshal(string(bytes.Repeat([]byte("s"), ktrdr.InlineState+1)))
			if err != nil {
				t.Fatal(err)
			}
			send := func(state []byte, artifacts ...ktrdr.Artifact) error {
				for range artifacts {
					if err := l.Local().PutBlob(t.Context(), claim, file.SHA256, file.Size, bytes.NewReader(content)); err != nil {
						return err
					}
				}
				c := ktrdr.NewCheckpoint{
					Operation: task.Operation, Epoch: task.Epoch, Seq: 1, Type: ktrdr.CheckpointFailure, Step: 1, State: state, Artifacts: artifacts,
				}
				if end == "" {
					_, err := l.Checkpoint(t.Context(), c)
					return err
				}
				return l.Finish(t.Context(), ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: end, Checkpoint: &c})
			}
			times = 1
			if err := send(long, file); ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
				t.Errorf("the write whose file was purged: %v, want CodeUnavailable", err)
			}
			if _, err := l.StatBlob(t.Context(), sha256.Sum256(long)); err != nil {
				t.Errorf("the state, which the engine has: %v", err)
			}
			if err := send(long, file); err != nil {
				t.Errorf("the write again: %v", err)
			}
			if _, err := l.StatBlob(t.Context(), file.SHA256); err != nil {
				t.Errorf("the file after the write was repeated: %v", err)
			}
			other := sha256.Sum256([]byte("other"))
			if err := l.Local().PutBlob(t.Context(), claim, other, 5, bytes.NewReader([]byte("other"))); end != "" &&
				ktrdr.CodeOf(err) != ktrdr.CodeStaleEpoch {
				t.Errorf("another blob for a claim that has ended: %v, want CodeStaleEpoch", err)
			}
		})
	}
}
