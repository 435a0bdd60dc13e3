package sqlstore

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestExpire_ForgetsIdempotencyKeysAfterAWeek(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := &saved{T: t, s: s}
		create := func(key, body string) (ktrdr.OperationID, error) {
			op, err := s.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy},
				ktrdr.IdempotencyKey{Key: key, Body: sha256.Sum256([]byte(body))})
			return op.ID, err
		}
		must := func(key string) ktrdr.OperationID {
			t.Helper()
			id, err := create(key, "body")
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		old, young := must("old"), must("young")
		for i := range 600 {
			x.sql(`INSERT INTO idempotency (key, body, operation_id, created_at) VALUES ($1, '', '', 1)`, fmt.Sprint("long ago ", i))
		}
		x.sql(`UPDATE idempotency SET created_at = created_at - $1 WHERE key = 'old'`, int64(7*24*time.Hour/time.Microsecond)+1)
		x.sql(`UPDATE idempotency SET created_at = created_at - $1 WHERE key = 'young'`, int64(6*24*time.Hour/time.Microsecond))
		expires(t, s, 0)
		if n := rowCount(t, s, "idempotency"); n != 1 {
			t.Errorf("%d keys are left, want 1", n)
		}
		if got := must("young"); got != young {
			t.Errorf("the young key made %s, want %s again", got, young)
		}
		if got := must("old"); got == old {
			t.Errorf("the old key is still answered with %s", old)
		}
		_, err := create("young", "another body")
		x.refused(err, ktrdr.CodeKeyReused)
	})
}

func TestCreate_AKeyIsAsNewTheMomentItsLifeIsOver(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := &saved{T: t, s: s}
		create := func(body string) (ktrdr.OperationID, error) {
			op, err := s.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy},
				ktrdr.IdempotencyKey{Key: "key", Body: sha256.Sum256([]byte(body))})
			return op.ID, err
		}
		old, err := create("body")
		if err != nil {
			t.Fatal(err)
		}
		x.sql(`UPDATE idempotency SET created_at = created_at - $1`, int64(keyLife/time.Microsecond)+1)
		young, err := create("another body")
		if err != nil || young == old {
			t.Fatalf("the old key made %s, %v; want another than %s", young, err, old)
		}
		if again, err := create("another body"); err != nil || again != young {
			t.Errorf("repeated it made %s, %v; want %s again", again, err, young)
		}
		_, err = create("body")
		x.refused(err, ktrdr.CodeKeyReused)
	})
}
