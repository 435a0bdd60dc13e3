package engine

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
)

// compacting is a store with one research to compact.
type compacting struct {
	ktrdr.Store
	compacted bool
}

func (c *compacting) Compact(context.Context) (int, []ktrdr.Hash, error) {
	if c.compacted {
		return 0, nil, nil
	}
	c.compacted = true
	return 1, []ktrdr.Hash{{1}}, nil
}

func (c *compacting) BackupRunning(context.Context) (bool, error) { return false, nil }

func (c *compacting) BlobsNamed(context.Context, []ktrdr.Hash, bool) (map[ktrdr.Hash]bool, error) {
	return nil, nil
}

// slowTrash needs a while to put blobs aside, and notes when it was done and
// when it was emptied.
type slowTrash struct {
	takes                        time.Duration
	named, filled, purged, empty time.Time
}

func (s *slowTrash) Put(_ context.Context, _ []ktrdr.Hash, at time.Time) error {
	time.Sleep(s.takes)
	s.named, s.filled = at, time.Now()
	return nil
}

func (s *slowTrash) Empty(_ context.Context, _ []ktrdr.Hash, at time.Time,
	_ func(context.Context, []ktrdr.Hash) (map[ktrdr.Hash]bool, error),
) error {
	s.purged, s.empty = at, time.Now()
	return nil
}

// Putting many blobs aside may take longer than they stay in the trash. A writer
// that names one of them has the whole time from when the last was put there.
func TestCompact_TheTimeInTheTrashBeginsWhenTheBlobsAreInIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval, inTrash = 10 * time.Second, 2 * time.Minute
		bin := &slowTrash{takes: 3 * inTrash}
		e := &Engine{
			store: &compacting{}, log: slog.New(slog.DiscardHandler), config: Config{Trash: bin},
			settings: Settings{CompactInterval: interval, TrashTime: inTrash},
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		e.compact(ctx)
		if stayed := bin.empty.Sub(bin.filled); bin.empty.IsZero() || stayed < inTrash || stayed > inTrash+interval {
			t.Errorf("the blobs were in the trash for %v, want %v to %v", stayed, inTrash, inTrash+interval)
		}
		if !bin.purged.Equal(bin.named) { // by its instant a store finds what was put aside
			t.Errorf("put aside at %v and purged at %v, want the same instant", bin.named, bin.purged)
		}
	})
}

// superseding has one blob that a running operation has superseded.
type superseding struct{ compacting }

func (s *superseding) Supersede(context.Context, ktrdr.OperationID) ([]ktrdr.Hash, error) {
	return []ktrdr.Hash{{2}}, nil
}

// What a running operation has superseded leaves the disk within seconds: with
// large checkpoints two minutes of them would fill it.
func TestSupersede_BlobsLeaveTheDiskWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bin := &slowTrash{}
		e := &Engine{store: &superseding{}, log: slog.New(slog.DiscardHandler), config: Config{Trash: bin}, settings: Settings{}.WithDefaults()}
		e.leaving.saved("op_training")
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		e.supersede(ctx)
		if stayed := bin.empty.Sub(bin.filled); bin.empty.IsZero() || stayed < supersededStay || stayed > supersededStay+supersedeEvery {
			t.Errorf("the blobs were in the trash for %v, want %v to %v", stayed, supersededStay, supersededStay+supersedeEvery)
		}
	})
}
