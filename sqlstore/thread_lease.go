package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ktrdr/ktrdr/thread"
)

// A lease is three columns of the thread's row, which every writer locks
// anyway: what is read there is still so when the writer commits.
//
// A token is the time at which it was given out, or one more than the last token
// of the row or of this store. It must differ from every earlier one, also of a
// deleted thread of the same name, and the clock of SQLite counts milliseconds.
const (
	// liveLease is read by scanLease.
	liveLease = `CASE WHEN lease_until > {now} THEN lease_token END, lease_holder, lease_until`

	selectLease query = `SELECT ` + liveLease + ` FROM threads WHERE tenant = $1 AND thread_id = $2 {lock}`

	openThread query = `INSERT INTO threads (tenant, thread_id) VALUES ($1, $2) ON CONFLICT (tenant, thread_id) DO NOTHING`

	takeLease query = `INSERT INTO threads AS t (tenant, thread_id, lease_holder, lease_token, lease_until)
		VALUES ($1, $2, $3, CASE WHEN {now} > CAST($5 AS BIGINT) THEN {now} ELSE CAST($5 AS BIGINT) + 1 END, {now} + CAST($4 AS BIGINT))
		ON CONFLICT (tenant, thread_id) DO UPDATE SET lease_holder = EXCLUDED.lease_holder, lease_until = EXCLUDED.lease_until,
			lease_token = CASE WHEN t.lease_token >= EXCLUDED.lease_token THEN t.lease_token + 1 ELSE EXCLUDED.lease_token END
			WHERE t.lease_until IS NULL OR t.lease_until <= {now} OR t.lease_holder = EXCLUDED.lease_holder
		RETURNING lease_token, lease_until`

	renewLease query = `UPDATE threads SET lease_until = {now} + CAST($5 AS BIGINT)
		WHERE tenant = $1 AND thread_id = $2 AND lease_holder = $3 AND lease_token = $4 AND lease_until > {now}
		RETURNING lease_token, lease_until`

	endLease query = `UPDATE threads SET lease_until = NULL WHERE tenant = $1 AND thread_id = $2 AND lease_token = $3`
)

// scanLease reads liveLease, and before it what else the row has.
func scanLease(row scanner, before ...any) (thread.Lease, error) {
	var l thread.Lease
	err := row.Scan(append(before, (*nullInt)(&l.Token), (*nullText)(&l.Holder), (*moment)(&l.Expires))...)
	if err != nil || l.Token == 0 {
		return thread.Lease{}, err
	}
	return l, nil
}

// lockLease locks a thread and returns its live lease; false when there is no
// such thread.
func lockLease(ctx context.Context, t *tx, tenant, threadID string) (held thread.Lease, known bool, err error) {
	return optionalRow(scanLease(t.row(ctx, selectLease, tenant, threadID)))
}

// lockForWrite locks a thread, making it when it is new, unless a lease forbids it.
func lockForWrite(ctx context.Context, t *tx, tenant, threadID string, given *thread.LeaseToken) error {
	held, known, err := lockLease(ctx, t, tenant, threadID)
	if err == nil && !known { // another client may lease it at this moment, so it is read again
		t.later(ctx, openThread, tenant, threadID)
		held, _, err = lockLease(ctx, t, tenant, threadID)
	}
	if err != nil {
		return err
	}
	return thread.CheckLease(threadID, given, held)
}

// Lease implements thread.Saver.
func (s threads) Lease(ctx context.Context, r thread.LeaseRequest) (thread.Lease, error) {
	ttl, err := thread.LeaseTTL(r)
	if err != nil {
		return thread.Lease{}, err
	}
	return inWrite(ctx, s.store, func(t *tx) (thread.Lease, error) {
		lease := thread.Lease{Holder: r.Holder}
		text, args := takeLease, []any{r.Tenant, r.Thread, r.Holder, ttl.Microseconds(), s.store.token.Load()}
		if r.Token != 0 {
			text, args = renewLease, []any{r.Tenant, r.Thread, r.Holder, r.Token, ttl.Microseconds()}
		}
		err := t.row(ctx, text, args...).Scan(&lease.Token, (*moment)(&lease.Expires))
		if errors.Is(err, sql.ErrNoRows) {
			return lease, refuseLease(ctx, t, r)
		}
		if err == nil && lease.Token > s.store.token.Load() {
			s.store.token.Store(lease.Token)
		}
		return lease, err
	})
}

// refuseLease says why there is no lease to be had.
func refuseLease(ctx context.Context, t *tx, r thread.LeaseRequest) error {
	if r.Token != 0 {
		return thread.LeaseEnded(r.Thread, r.Token)
	}
	held, _, err := lockLease(ctx, t, r.Tenant, r.Thread)
	if err != nil {
		return err
	}
	return thread.LeaseTaken(r.Thread, held)
}

// Release implements thread.Saver.
func (s threads) Release(ctx context.Context, r thread.LeaseRelease) error {
	if err := thread.CheckWritable(r.Tenant, r.Thread); err != nil {
		return err
	}
	_, err := s.store.exec(ctx, endLease, r.Tenant, r.Thread, r.Token)
	return err
}
