package sqlstore

import (
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestSaveBreaker_KeepsTheNewestThousandChanges(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		const changes = keptChanges + 5
		for _, name := range []string{"agent:a", "agent:b"} {
			mustRaw(t, s, `INSERT INTO breaker_history (name, version, from_state, to_state, reason, changed_by, at)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
				SELECT $1, i, 'CLOSED', 'OPEN', '', '', i FROM n`, name, changes)
			mustRaw(t, s, `INSERT INTO breakers (name, scope, state, forced, trips, held, reason, changed_by, changed_at, version)
				VALUES ($1, 'agent', 'OPEN', '', 1, 0, '', '', 1, $2)`, name, changes)
		}
		if _, err := s.SaveBreaker(t.Context(), ktrdr.Breaker{
			Name: "agent:a", Scope: ktrdr.ScopeAgent, State: ktrdr.BreakerClosed, Version: changes,
		},
			ktrdr.BreakerChange{From: ktrdr.BreakerOpen, To: ktrdr.BreakerClosed}); err != nil {
			t.Fatal(err)
		}
		var kept, oldest, others int64
		if err := s.readOne(t.Context(), func(r queryer) error {
			return r.row(t.Context(), `SELECT COUNT(*), MIN(version), (SELECT COUNT(*) FROM breaker_history WHERE name = 'agent:b')
				FROM breaker_history WHERE name = 'agent:a'`).Scan(&kept, &oldest, &others)
		}); err != nil {
			t.Fatal(err)
		}
		if kept != keptChanges || oldest != changes+2-keptChanges || others != changes {
			t.Errorf("%d changes are kept from version %d on, and %d of the other breaker; want %d from %d, and %d",
				kept, oldest, others, keptChanges, changes+2-keptChanges, changes)
		}
	})
}
