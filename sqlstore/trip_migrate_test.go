package sqlstore

import (
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// A breaker that a person changed after it had tripped has the reason of the
// trip in its history only.
func TestOpen_TakesTheReasonOfATripFromTheHistory(t *testing.T) {
	for name, where := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		t.Run(name, func(t *testing.T) {
			url := where(t)
			old, err := open(t.Context(), Config{URL: url}, stepsUpTo(t, "00017~"))
			if err != nil {
				t.Fatal(err)
			}
			err = old.write(t.Context(), normal, func(tx *tx) error {
				for _, text := range []query{
					`INSERT INTO breakers (name, scope, state, forced, trips, held, reason, changed_by, changed_at, version)
						VALUES ('provider:x', 'provider', 'OPEN', 'CLOSED', 2, 0, 'they are back', 'ann', 9, 3)`,
					`INSERT INTO breaker_history (name, version, from_state, to_state, reason, changed_by, at)
						VALUES ('provider:x', 1, 'CLOSED', 'OPEN', '3 timeouts', '', 7), ('provider:x', 2, 'HALF_OPEN', 'OPEN', '5 failures', '', 8),
							('provider:x', 3, 'OPEN', 'CLOSED', 'they are back', 'ann', 9)`,
				} {
					if _, err := tx.exec(t.Context(), text); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			all, err := openTest(t, url, migrations).Breakers(t.Context())
			if err != nil || len(all) != 1 || all[0].Trip != "5 failures" || all[0].Reason != "they are back" || all[0].By != "ann" ||
				all[0].Forced != ktrdr.BreakerClosed {
				t.Errorf("%+v, %v, want the trip of the history beside ann's decision", all, err)
			}
		})
	}
}
