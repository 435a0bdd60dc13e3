package engine_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// asksForBackups is a store that tells a waiting test what it answers when it
// is asked whether a backup runs.
type asksForBackups struct {
	ktrdr.Store
	asked chan bool
}

func (s asksForBackups) BackupRunning(ctx context.Context) (bool, error) {
	runs, err := s.Store.BackupRunning(ctx)
	select {
	case s.asked <- runs:
	default:
	}
	return runs, err
}

// slowBackup calls its hook before the first byte is written, when the backup has
// its snapshot and has copied nothing.
type slowBackup struct {
	bytes.Buffer
	hook func()
}

func (b *slowBackup) Write(p []byte) (int, error) {
	if b.hook != nil {
		b.hook()
		b.hook = nil
	}
	return b.Buffer.Write(p)
}

// A backup that takes longer than an operation needs for its next checkpoints holds
// the blobs of those that it began with. They go when the backup has ended.
func TestEngine_NoBlobGoesWhileABackupRuns(t *testing.T) {
	asked := make(chan bool)
	var blobs blob.Store
	collected := 0
	l := newLab(t, func(c *engine.Config) {
		blobs = c.Blobs.(blob.Store)
		c.Trash = trash{blobs}
		c.Store = asksForBackups{c.Store, asked}
		c.Settings.TrashTime = time.Millisecond
		c.Collect = func(context.Context) (int, error) { collected++; return 0, nil }
	})
	l.run()
	l.register("w")
	l.submit()
	task := l.claimOne()
	var hashes []ktrdr.Hash
	save := func(from, to int64) {
		for seq := from; seq <= to; seq++ {
			hashes = append(hashes, l.save(task, seq))
		}
	}
	await := func(want bool) {
		t.Helper()
		select {
		case runs := <-asked:
			if runs != want {
				t.Errorf("a backup runs: %v, want %v", runs, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("it was not asked whether a backup runs")
		}
	}
	save(1, 2)
	file := &slowBackup{hook: func() {
		save(3, 4)
		await(true) // checkpoints 1 and 2 are superseded
		await(true) // and what was decided then is done
		if _, _, err := l.Cleanup(t.Context(), time.Hour); err != nil || collected > 0 {
			t.Errorf("cleanup: %v; blobs were collected %d times", err, collected)
		}
	}}
	damaged, err := sqlstore.Backup(t.Context(), l.store, blobs, file)
	if err != nil || len(damaged) > 0 {
		t.Errorf("the backup: %v; %d blobs are missing or damaged", err, len(damaged))
	}
	if history, err := l.History(t.Context(), task.Operation); err != nil || len(history) != 2 {
		t.Errorf("history %+v, %v; want the newest two, whatever runs", history, err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; <-time.After(20 * time.Millisecond) {
		if _, err := os.Stat(l.path(hashes[0])); err != nil && l.inTrash() == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("after the backup, the blobs of superseded checkpoints stay")
		}
	}
}
