package sqlstore

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestSpending_DayBeginsAtMidnightUTC(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		midnight := time.Now().UTC().Truncate(24 * time.Hour)
		for i, at := range []time.Time{midnight.Add(-24 * time.Hour), midnight.Add(-time.Microsecond), midnight, midnight.Add(time.Microsecond)} {
			mustRaw(t, s, `INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, at)
				VALUES ($1, 'op_dummy_r', 'op_dummy_r', 1, 'k', 'm', 'reserved', $2, $3)`, i+1, []int{1, 10, 100, 1000}[i], at.UnixMicro())
		}
		got, err := s.Spending(t.Context(), "op_dummy_r")
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().UTC().Truncate(24*time.Hour) != midnight {
			t.Skip("the day has ended meanwhile")
		}
		if want := (ktrdr.Spending{Today: 1100, Research: 1111, Calls: 2}); got != want {
			t.Errorf("spent %+v, want %+v", got, want)
		}
	})
}
