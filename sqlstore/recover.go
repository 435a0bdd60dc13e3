package sqlstore

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/ktrdr/ktrdr"
)

// forever is a silence that proves nothing: only a backend whose row is gone
// is then taken for dead.
const forever time.Duration = math.MaxInt64 / 2

// forgotten is how long a silent worker or backend that holds nothing is kept,
// for people to see.
const forgotten = 24 * time.Hour

const (
	deleteLives   query = `DELETE FROM backends WHERE incarnation <> $1 AND id = $2 RETURNING ` + toldBackend + `, COALESCE(died_at, 0)`
	deleteOthers  query = `DELETE FROM backends WHERE incarnation <> $1 RETURNING ` + toldBackend + `, COALESCE(died_at, 0)`
	insertBackend query = `INSERT INTO backends (incarnation, id, addr, host, pid, version, started_at, seen_at)
		SELECT $1, $2, $3, $4, CAST($5 AS BIGINT), $6, {now}, {now}
		WHERE NOT EXISTS (SELECT 1 FROM backends WHERE id = $2 AND incarnation <> $1)
		ON CONFLICT (incarnation) DO UPDATE SET seen_at = excluded.seen_at`
	endProbes     query = `DELETE FROM breaker_probes WHERE NOT EXISTS (SELECT 1 FROM backends WHERE incarnation = breaker_probes.owner)`
	beat          query = `UPDATE backends SET seen_at = {now}, died_at = NULL WHERE incarnation = $1`
	deleteBackend query = `DELETE FROM backends WHERE incarnation = $1 RETURNING ` + toldBackend
	countOthers   query = `SELECT COUNT(*) FROM backends WHERE incarnation <> $1 AND seen_at > {now} - $2`

	forgetWorkers query = `DELETE FROM workers WHERE seen_at < {now} - $1
		AND NOT EXISTS (SELECT 1 FROM operations WHERE worker_id = workers.id AND ` + isLive + `)`
	forgetBackends query = `DELETE FROM backends WHERE seen_at < {now} - $1 AND incarnation <> $2
		AND NOT EXISTS (SELECT 1 FROM operations WHERE held_by = backends.incarnation AND ` + isLive + `)`
)

// Start implements ktrdr.Recovery. An SQLite file has one backend at a time,
// so there every other life is over.
func (s *Store) Start(ctx context.Context, b ktrdr.Backend, p ktrdr.RecoveryPolicy) (ktrdr.Recovered, error) {
	alone, err := s.enter(ctx, b, p.Timeout)
	if err != nil {
		return ktrdr.Recovered{}, err
	}
	var r ktrdr.Recovered
	if p.FailLocal && alone {
		if err := s.failParents(ctx, &r); err != nil { // first, so that no plan answers what follows
			return r, err
		}
	}
	silence := forever
	if alone {
		silence = p.Timeout
	}
	if err := s.recoverHeld(ctx, b, p, silence, &r); err != nil {
		return r, err
	}
	return r, s.reconcile(ctx, p, alone, &r)
}

// enter records the new life and says whether no other backend is alive.
func (s *Store) enter(ctx context.Context, b ktrdr.Backend, timeout time.Duration) (alone bool, err error) {
	if b.ID == "" || b.Incarnation == "" {
		return false, ktrdr.Errorf(ktrdr.CodeInvalid, "a backend needs an id and an incarnation")
	}
	end, args := deleteOthers, []any{b.Incarnation}
	if s.isPostgres() {
		end, args = deleteLives, []any{b.Incarnation, b.ID}
	}
	err = s.write(ctx, normal, func(t *tx) error {
		if err := endLives(ctx, t, end, args...); err != nil {
			return err
		}
		if err := record(ctx, t, b); err != nil {
			return err
		}
		once := string(ktrdr.EventBackendStarted) + " " + string(b.Incarnation) // however often it is recorded
		insertOnce(ctx, t, "", ktrdr.EventBackendStarted, 0, once, b)
		t.later(ctx, endProbes)
		others, err := scanValue[int](t.row(ctx, countOthers, b.Incarnation, timeout.Microseconds()))
		alone = others == 0
		return err
	})
	return alone, err
}

// endLives deletes the lives that are over. Those that did not leave get an event.
func endLives(ctx context.Context, t *tx, text query, args ...any) error {
	var dead []ktrdr.Backend
	err := eachRow(ctx, t, func(row scanner) error {
		var b ktrdr.Backend
		var died int64
		err := row.Scan(&b.Incarnation, &b.ID, &b.Addr, &b.Host, &b.PID, &b.Version, &died)
		if died == 0 { // else it was told
			dead = append(dead, b)
		}
		return err
	}, text, args...)
	for _, b := range dead {
		insertEvent(ctx, t, "", ktrdr.EventBackendDied, 0, b)
	}
	return err
}

func record(ctx context.Context, t *tx, b ktrdr.Backend) error {
	n, err := t.exec(ctx, insertBackend, b.Incarnation, b.ID, b.Addr, b.Host, b.PID, b.Version)
	if err == nil && n == 0 {
		return ktrdr.Errorf(ktrdr.CodeConflict, "backend %s has started again elsewhere; this life of it is over", b.ID)
	}
	return err
}

// Beat implements ktrdr.Recovery. A backend that was forgotten after a long
// silence is recorded again; CodeConflict when a newer life of it has started.
func (s *Store) Beat(ctx context.Context, b ktrdr.Backend) error {
	return s.write(ctx, urgent, func(t *tx) error {
		n, err := t.exec(ctx, beat, b.Incarnation)
		if err == nil && n == 0 {
			err = record(ctx, t, b)
		}
		return err
	})
}

// Leave implements ktrdr.Recovery.
func (s *Store) Leave(ctx context.Context, b ktrdr.Backend) error {
	return s.write(ctx, normal, func(t *tx) error {
		_, err := tell(ctx, t, ktrdr.EventBackendStopped, scanBackend, deleteBackend, b.Incarnation)
		return err
	})
}

// Sweep implements ktrdr.Recovery. Silence is judged only when judge is true:
// after an outage of the database all have been silent.
func (s *Store) Sweep(ctx context.Context, b ktrdr.Backend, p ktrdr.RecoveryPolicy, judge bool) (ktrdr.Recovered, error) {
	var r ktrdr.Recovered
	silence := forever
	if judge {
		silence = p.Timeout
	}
	if err := s.recoverHeld(ctx, b, p, silence, &r); err != nil {
		return r, err
	}
	if judge {
		if err := s.orphan(ctx, p, &r); err != nil {
			return r, err
		}
	}
	r.Complete = true
	var errs []error // what follows is for its own sake: one that fails keeps no other from being done
	if judge {
		errs = append(errs, s.forget(ctx, b, p.Timeout))
	}
	_, err := s.AskPlans(ctx)
	errs = append(errs, err, s.outlook(ctx, p, &r))
	return r, errors.Join(errs...)
}

// forget writes events of those that have been silent for the timeout, and deletes
// them after a day.
func (s *Store) forget(ctx context.Context, b ktrdr.Backend, timeout time.Duration) error {
	silence := max(forgotten, timeout)
	return s.write(ctx, normal, func(t *tx) error {
		if err := tellLost(ctx, t, b, timeout); err != nil {
			return err
		}
		t.later(ctx, forgetWorkers, silence.Microseconds())
		t.later(ctx, forgetBackends, silence.Microseconds(), b.Incarnation)
		return nil
	})
}

// selectOutlook counts as treat does: what a live backend runs in process is
// lost with its worker, as everything else is; what a silent one runs, with the
// backend.
const selectOutlook query = `SELECT COALESCE(SUM(CASE WHEN heard <= {now} - $1 THEN 1 ELSE 0 END), 0),
		COUNT(*), COALESCE(MIN(CASE WHEN seen IS NULL OR seen > {now} - $1 THEN heard ELSE seen END), 0) - ({now} - $2)
	FROM (SELECT COALESCE(heartbeat_at, claimed_at) AS heard, CASE WHEN held_by <> '' THEN COALESCE((
			SELECT seen_at FROM backends WHERE incarnation = operations.held_by), 0) END AS seen
		FROM operations WHERE has_plan = 0 AND ` + isLive + `) AS running`

// outlook says who is late and when the next one is too late.
func (s *Store) outlook(ctx context.Context, p ktrdr.RecoveryPolicy, r *ktrdr.Recovered) error {
	return s.readOne(ctx, func(q queryer) error {
		var running int64
		var left time.Duration
		err := q.row(ctx, selectOutlook, p.Late.Microseconds(), p.Timeout.Microseconds()).Scan(&r.Potential, &running, (*span)(&left))
		if running > 0 {
			r.NextOrphan = max(left, time.Microsecond) // too late already still means: look again soon
		}
		return err
	})
}
