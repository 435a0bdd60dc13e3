package sqlstore

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestStart_EndsTheProbesOfADeadLife(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		before, now := life("a", "1"), life("a", "2")
		start(t, s, before, policy)
		if _, err := s.TakeProbe(t.Context(), "provider:x", before.Incarnation, time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := s.TakeProbe(t.Context(), "provider:x", now.Incarnation, time.Hour); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			t.Errorf("%v, want that the other probes", err)
		}
		start(t, s, now, policy)
		if _, err := s.TakeProbe(t.Context(), "provider:x", now.Incarnation, time.Hour); err != nil {
			t.Errorf("%v; its earlier life is over", err)
		}
	})
}
