package sqlstore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func backupRuns(t *testing.T, s *Store) bool {
	t.Helper()
	runs, err := s.BackupRunning(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// noting is a source of blobs that tells whether a backup runs while it is read.
type noting struct {
	blobMap
	look func() bool
	seen []bool
}

func (n *noting) Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	n.seen = append(n.seen, n.look())
	return n.blobMap.Open(ctx, h)
}

// From before its snapshot until its last blob is copied, every backend can see that
// a backup runs. The mark is in no backup.
func TestBackup_IsSeenWhileItRuns(t *testing.T) {
	onInstalled(t, func(t *testing.T, s *Store) {
		if backupRuns(t, s) {
			t.Error("a backup runs before there is one")
		}
		blobs := &noting{blobMap: populate(t, s), look: func() bool { return backupRuns(t, s) }}
		archive := mustBackup(t, s, blobs)
		if len(blobs.seen) != len(blobs.blobMap) {
			t.Fatalf("%d blobs were read, want %d", len(blobs.seen), len(blobs.blobMap))
		}
		for i, seen := range blobs.seen {
			if !seen {
				t.Errorf("no backup is seen while blob %d is copied", i)
			}
		}
		for _, row := range contentsOfBackup(t, archive)["rows meta"] {
			if strings.Contains(row, metaBackup) {
				t.Errorf("the backup holds its own mark: %s", row)
			}
		}
		if backupRuns(t, s) {
			t.Error("a backup runs after its end")
		}
	})
}

// The mark of a backup that was killed expires; one that is alive is renewed for as
// long as it takes.
func TestBackup_ThatWasKilledIsForgotten(t *testing.T) {
	onInstalled(t, func(t *testing.T, s *Store) {
		mustRaw(t, s, setBackup, metaBackup+"killed long ago", -time.Second.Microseconds())
		mustRaw(t, s, setBackup, metaBackup+"killed just now", time.Minute.Microseconds())
		if !backupRuns(t, s) {
			t.Error("the mark of a backup that was killed just now has expired")
		}
		mustRaw(t, s, setBackup, metaBackup+"killed just now", int64(0))
		mustRaw(t, s, setBackup, metaBackup+"killed while the clock was ahead", (24 * time.Hour).Microseconds())
		if backupRuns(t, s) {
			t.Error("the mark of a backup that was killed does not expire")
		}
		expires := func() (texts []string) {
			t.Helper()
			err := s.readOne(t.Context(), func(r queryer) (err error) {
				texts, err = firstColumn(t.Context(), r, `SELECT value FROM meta WHERE key LIKE '`+metaBackup+`%'`)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return texts
		}
		unmark, err := s.markBackup(t.Context(), 10*time.Millisecond, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		first := expires()
		if len(first) != 1 {
			t.Errorf("%d marks are left beside the new one", len(first)-1)
		}
		eventually(t, "the mark is renewed", func() bool { return expires()[0] > first[0] })
		unmark()
		if left := expires(); len(left) != 0 {
			t.Errorf("left are the marks %v", left)
		}
	})
}
