package engine_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

func (t trash) Empty(ctx context.Context, blobs []ktrdr.Hash, at time.Time,
	named func(context.Context, []ktrdr.Hash) (map[ktrdr.Hash]bool, error),
) error {
	return blob.PurgeAll(ctx, t.Store, blobs, at, named)
}

// run runs the engine until the test ends.
func (l *lab) run() {
	l.t.Helper()
	ctx, stop := context.WithCancel(l.t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	l.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			l.t.Error(err)
		}
	})
}

// inTrash counts the blobs in the trash.
func (l *lab) inTrash() (n int) {
	l.t.Helper()
	err := filepath.WalkDir(filepath.Join(l.blobs, "trash"), func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// slowNames is a store that takes long to tell which blobs are named.
type slowNames struct {
	ktrdr.Store
	asked, answer chan struct{}
}

func (s slowNames) BlobsNamed(ctx context.Context, blobs []ktrdr.Hash, onlyCheckpoints bool) (map[ktrdr.Hash]bool, error) {
	s.asked <- struct{}{}
	<-s.answer
	return s.Store.BlobsNamed(ctx, blobs, onlyCheckpoints)
}

// However long the rows are asked about the blobs of superseded checkpoints, no writer
// who saves a checkpoint or finishes waits for that.
func TestEngine_NoCallWaitsForSupersededBlobs(t *testing.T) {
	slow := slowNames{asked: make(chan struct{}, 100), answer: make(chan struct{})}
	l := newLab(t, func(c *engine.Config) {
		c.Trash = trash{c.Blobs.(blob.Store)}
		slow.Store = c.Store
		c.Store = slow
	})
	l.run()
	defer close(slow.answer) // before the engine ends
	l.register("w")
	l.submit()
	task := l.claimOne()
	for seq := int64(1); seq <= 3; seq++ {
		l.save(task, seq)
	}
	<-slow.asked
	saved := make(chan error, 1)
	go func() {
		l.save(task, 4)
		final := ktrdr.NewCheckpoint{
			Operation: task.Operation, Epoch: task.Epoch, Seq: 5, Type: ktrdr.CheckpointFinal, Step: 5, State: []byte(`{}`),
		}
		saved <- l.Finish(t.Context(), ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: ktrdr.Completed, Checkpoint: &final})
	}()
	select {
	case err := <-saved:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("a checkpoint waits until it is known which blobs are named")
	}
}

// While an operation runs, its checkpoints behind the newest two go, and their
// blobs with them; a blob that the checkpoint of another names stays.
func TestEngine_SupersededCheckpointsGoWhileTheOperationRuns(t *testing.T) {
	l := newLab(t, func(c *engine.Config) {
		c.Trash = trash{c.Blobs.(blob.Store)}
		c.Settings.TrashTime = time.Millisecond
	})
	l.run()
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
	for deadline := time.Now().Add(30 * time.Second); there(blobs[0]) || there(blobs[2]) ||
		there(blobs[3]); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("blobs of superseded checkpoints are still there")
		}
	}
	for deadline := time.Now().Add(30 * time.Second); l.inTrash() > 0; <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d blobs are still in the trash", l.inTrash())
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
