package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// keyLife is how long an idempotency key is answered with the operation that
// it made; after that it is as new.
const keyLife = 7 * 24 * time.Hour

const (
	insertKey query = `INSERT INTO idempotency (key, body, operation_id, created_at)
		VALUES ($1, $2, $3, {now}) ON CONFLICT (key) DO UPDATE
			SET body = EXCLUDED.body, operation_id = EXCLUDED.operation_id, created_at = EXCLUDED.created_at
			WHERE idempotency.created_at <= {now} - CAST($4 AS BIGINT)`
	selectKey     query = `SELECT body, operation_id FROM idempotency WHERE key = $1`
	selectOldKeys query = `SELECT key FROM idempotency WHERE created_at <= {now} - CAST($1 AS BIGINT) LIMIT $2`
)

// remember takes the key for id, also from an operation whose key has expired. If it
// was taken before, the operation of that time is returned: PostgreSQL waits for a
// transaction that is taking it, so that one of many wins.
func remember(ctx context.Context, t *tx, key ktrdr.IdempotencyKey, id ktrdr.OperationID) (before ktrdr.OperationID, err error) {
	for range 2 { // one that was taken may be forgotten before it is read
		taken, err := t.exec(ctx, insertKey, key.Key, key.Body.String(), id, keyLife.Microseconds())
		if err != nil || taken == 1 {
			return "", err
		}
		var body string
		err = t.row(ctx, selectKey, key.Key).Scan(&body, &before)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case err != nil:
			return "", err
		case body != key.Body.String():
			return "", ktrdr.Errorf(ktrdr.CodeKeyReused, "this idempotency key was used before with another request, which made %s; use a new key",
				before)
		}
		return before, nil
	}
	return "", ktrdr.Errorf(ktrdr.CodeUnavailable, "the idempotency key is being taken and forgotten; try again")
}

// forgetKeys deletes keys whose life is over.
func (s *Store) forgetKeys(ctx context.Context) error {
	for {
		old, err := readAll(ctx, s, scanValue[string], selectOldKeys, keyLife.Microseconds(), removeAtOnce) // looking does not need the writer
		if err == nil && len(old) > 0 {
			err = s.write(ctx, normal, func(t *tx) error {
				deleteKeys(ctx, t, old)
				return nil
			})
		}
		if err != nil || len(old) < removeAtOnce {
			return err
		}
	}
}

// deleteKeys deletes those of the keys that are still old: one may have been
// forgotten and taken again.
func deleteKeys(ctx context.Context, t *tx, keys []string) {
	for some := range slices.Chunk(keys, keysAtOnce) {
		list, args := padded(2, some, func(key string) any { return key })
		text := query(`DELETE FROM idempotency WHERE created_at <= {now} - CAST($1 AS BIGINT) AND key IN (` + list + `)`)
		t.later(ctx, text, append([]any{keyLife.Microseconds()}, args...)...)
	}
}
