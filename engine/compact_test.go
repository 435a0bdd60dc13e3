package engine_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/engine"
)

type trash struct{ blob.Store }

func (t trash) Put(ctx context.Context, blobs []ktrdr.Hash, at time.Time) error {
	return blob.TrashAll(ctx, t.Store, blobs, at)
}

func (t trash) Empty(ctx context.Context, blobs []ktrdr.Hash, at time.Time, named func(context.Context, []ktrdr.Hash) (map[ktrdr.Hash]bool, error)) error {
	return blob.PurgeAll(ctx, t.Store, blobs, at, named)
}

// While an operation runs, its checkpoints behind the newest two go, and their
// blobs with them; a blob that the checkpoint of another names stays.
func TestEngine_SupersededCheckpointsGoWhileTheOperationRuns(t *testing.T) {
	l := newLab(t, func(c *engine.Config) { c.Trash = trash{c.Blobs.(blob.Store)} })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	l.register("w")
	l.submit()
	l.submit()
	other, task := l.claimOne(), l.claimOne()
	shared := l.save(other, 2)
	var blobs []ktrdr.Hash
	for seq := int64(1); seq <= 6; seq++ {
		blobs = append(blobs, l.save(task, seq))
	}
	there := func(h ktrdr.Hash) bool {
		_, err := os.Stat(l.path(h))
		return err == nil
	}
	for deadline := time.Now().Add(30 * time.Second); there(blobs[0]) || there(blobs[2]) || there(blobs[3]); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("blobs of superseded checkpoints are still there")
		}
	}
	history, err := l.History(t.Context(), task.Operation)
	if err != nil || len(history) != 2 || history[0].Seq != 6 {
		t.Errorf("history %+v, %v; want the newest two", history, err)
	}
	for i, h := range append(blobs[4:], shared) { // asked for, a blob in the trash comes back
		if _, err := l.StatBlob(t.Context(), h); err != nil {
			t.Errorf("blob %d that a checkpoint names: %v", i, err)
		}
	}
}
