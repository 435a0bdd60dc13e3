package sqlstore

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestTraces_AreExportedByOneBackendAtATime(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		lease := func(who string, lasts time.Duration) (ktrdr.Cursor, bool) {
			t.Helper()
			at, leased, err := s.LeaseTraces(t.Context(), who, lasts)
			if err != nil {
				t.Fatal(err)
			}
			return at, leased
		}
		move := func(who string, to ktrdr.Cursor) bool {
			t.Helper()
			moved, err := s.MoveTraces(t.Context(), who, to)
			if err != nil {
				t.Fatal(err)
			}
			return moved
		}
		if err := s.SetPaused(t.Context(), true); err != nil { // an event of before the export began
			t.Fatal(err)
		}
		began, err := s.LastEvent(t.Context())
		if err != nil || began == (ktrdr.Cursor{}) {
			t.Fatal(began, err)
		}
		if move("a", began) {
			t.Error("a backend without a lease moved the export")
		}
		if at, leased := lease("a", time.Hour); !leased || at != began {
			t.Errorf("the first lease: %v, after %v, want after %v", leased, at, began)
		}
		if _, leased := lease("b", time.Hour); leased {
			t.Error("two backends have the lease")
		}
		to := ktrdr.Cursor{Tx: began.Tx, ID: began.ID + 7}
		if move("b", to) || !move("a", to) {
			t.Error("not the holder of the lease moved the export")
		}
		if at, leased := lease("a", time.Microsecond); !leased || at != to {
			t.Errorf("the same backend after a restart: %v, after %v, want after %v", leased, at, to)
		}
		at, leased := lease("b", time.Hour)
		for !leased { // until the microsecond is over
			at, leased = lease("b", time.Hour)
		}
		if at != to {
			t.Errorf("after a lease that is over: after %v, want after %v", at, to)
		}
		if move("a", began) {
			t.Error("a backend whose lease is over moved the export")
		}
	})
}

// Cursors belong to one database.
func TestTraces_AreInNoBackup(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		if _, _, err := s.LeaseTraces(t.Context(), "holder-of-the-lease", time.Hour); err != nil {
			t.Fatal(err)
		}
		for name, rows := range contentsOfBackup(t, mustBackup(t, s, blobMap{})) {
			if strings.Contains(strings.Join(rows, ""), "holder-of-the-lease") {
				t.Errorf("%s of the backup holds the lease", name)
			}
		}
	})
}
