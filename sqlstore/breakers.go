package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

const keptChanges = 1000 // of each breaker

const (
	breakerColumns = `name, scope, state, forced, COALESCE(retry_at, 0), trips, held, trip_reason, reason, changed_by, changed_at, version`

	insertBreaker query = `INSERT INTO breakers (name, scope, state, forced, retry_at, trips, held, trip_reason, reason, changed_by,
		changed_at, version)
		VALUES ($1, $2, $3, $4, NULLIF(CAST($5 AS BIGINT), 0), $6, $7, $8, $9, $10, {now}, 1)
		ON CONFLICT (name) DO NOTHING RETURNING ` + breakerColumns
	updateBreaker query = `UPDATE breakers SET scope = $2, state = $3, forced = $4, retry_at = NULLIF(CAST($5 AS BIGINT), 0), trips = $6,
			held = $7, trip_reason = $8, reason = $9, changed_by = $10, changed_at = {now}, version = version + 1
		WHERE name = $1 AND version = $11 RETURNING ` + breakerColumns
	selectBreakers query = `SELECT ` + breakerColumns + ` FROM breakers ORDER BY name`

	insertChange query = `INSERT INTO breaker_history (name, version, from_state, to_state, reason, changed_by, at, detail)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	pruneChanges  query = `DELETE FROM breaker_history WHERE name = $1 AND version <= $2`
	changeColumns       = `name, version, from_state, to_state, reason, changed_by, at, detail FROM breaker_history`

	selectChangesOf query = `SELECT ` + changeColumns + ` WHERE name = $1 ORDER BY version DESC LIMIT $2`
	selectChanges   query = `SELECT ` + changeColumns + ` ORDER BY at DESC, name DESC, version DESC LIMIT $1`
)

// breakerEvent is the event of a change; its detail is in the history.
type breakerEvent struct {
	Name    string             `json:"name"`
	Scope   ktrdr.BreakerScope `json:"scope"`
	From    ktrdr.BreakerState `json:"from"`
	To      ktrdr.BreakerState `json:"to"`
	Forced  ktrdr.BreakerState `json:"forced,omitempty"`
	Reason  string             `json:"reason"`
	By      string             `json:"by,omitempty"`
	Version int64              `json:"version"`
}

// SaveBreaker implements ktrdr.Breakers. Of each breaker the newest thousand
// changes are kept.
func (s *Store) SaveBreaker(ctx context.Context, b ktrdr.Breaker, change ktrdr.BreakerChange) (ktrdr.Breaker, error) {
	b.Trip, b.Reason, change.Reason = shortened(b.Trip), shortened(b.Reason), shortened(change.Reason)
	if err := checkBreaker(b, change); err != nil {
		return ktrdr.Breaker{}, err
	}
	text, args := insertBreaker, []any{
		b.Name, b.Scope, b.State, b.Forced, micros(b.RetryAt), b.Trips, bit(b.Held), b.Trip, b.Reason, b.By,
	}
	if b.Version > 0 {
		text, args = updateBreaker, append(args, b.Version)
	}
	return inWrite(ctx, s, func(t *tx) (ktrdr.Breaker, error) {
		stored, err := scanBreaker(t.row(ctx, text, args...))
		if err != nil {
			return stored, ifNoRow(err, ktrdr.Errorf(ktrdr.CodeConflict,
				"the breaker %s is no longer at version %d: another backend or person changed it; read it again", b.Name, b.Version))
		}
		t.later(ctx, insertChange, b.Name, stored.Version, change.From, change.To, change.Reason, change.By,
			micros(stored.Changed), optional(change.Detail))
		t.later(ctx, pruneChanges, b.Name, stored.Version-keptChanges)
		insertEvent(ctx, t, "", ktrdr.EventBreaker, 0, breakerEvent{
			Name: b.Name, Scope: b.Scope, From: change.From, To: change.To, Forced: b.Forced,
			Reason: change.Reason, By: change.By, Version: stored.Version,
		})
		return stored, nil
	})
}

func checkBreaker(b ktrdr.Breaker, change ktrdr.BreakerChange) error {
	name, named := strings.CutPrefix(b.Name, string(b.Scope)+":")
	switch {
	case b.Scope != ktrdr.ScopeAgent && b.Scope != ktrdr.ScopeCluster && b.Scope != ktrdr.ScopeProvider:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a breaker's scope; the scopes are agent, cluster and provider", clip(string(b.Scope)))
	case !named || name == "" || !storable(b.Name, 255):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a breaker of scope %s is named %s:NAME, in at most 255 bytes of text, not %q", b.Scope,
			b.Scope, clip(b.Name))
	case !isBreakerState(b.State) || b.Forced != "" && !isBreakerState(b.Forced):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the breaker %s cannot be %q and forced %q; the states are CLOSED, OPEN and HALF_OPEN", b.Name,
			clip(string(b.State)), clip(string(b.Forced)))
	case change.From != "" && !isBreakerState(change.From) || !isBreakerState(change.To):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the breaker %s cannot change from %q to %q", b.Name, clip(string(change.From)),
			clip(string(change.To)))
	case b.Trips < 0 || b.Version < 0:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the breaker %s has %d trips at version %d; neither can be negative", b.Name, b.Trips, b.Version)
	case !b.RetryAt.IsZero() && (b.RetryAt.Before(time.Unix(1, 0)) || b.RetryAt.Year() > 9999):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the breaker %s cannot wait until %v", b.Name, b.RetryAt)
	case !storable(b.By, 255) || !storable(change.By, 255):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "who changed the breaker %s is named in at most 255 bytes of text", b.Name)
	case len(change.Detail) > ktrdr.InlineState || len(change.Detail) > 0 && !validJSON(change.Detail):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the detail of a change of the breaker %s is not JSON of at most %d bytes",
			b.Name, ktrdr.InlineState)
	}
	return nil
}

func isBreakerState(s ktrdr.BreakerState) bool {
	return s == ktrdr.BreakerClosed || s == ktrdr.BreakerOpen || s == ktrdr.BreakerHalfOpen
}

// Breakers implements ktrdr.Breakers.
func (s *Store) Breakers(ctx context.Context) (all []ktrdr.Breaker, err error) {
	return readAll(ctx, s, scanBreaker, selectBreakers)
}

var scanBreaker = fields(func(b *ktrdr.Breaker) []any {
	return []any{
		&b.Name, &b.Scope, &b.State, &b.Forced, (*moment)(&b.RetryAt), &b.Trips, (*boolean)(&b.Held), &b.Trip, &b.Reason, &b.By,
		(*moment)(&b.Changed), &b.Version,
	}
})

// BreakerHistory implements ktrdr.Breakers.
func (s *Store) BreakerHistory(ctx context.Context, name string, limit int) (all []ktrdr.BreakerChange, err error) {
	if err := checkLimit(&limit); err != nil {
		return nil, err
	}
	if !storable(name, 255) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "a breaker is named in at most 255 bytes of text")
	}
	text, args := selectChanges, []any{limit}
	if name != "" {
		text, args = selectChangesOf, []any{name, limit}
	}
	return readAll(ctx, s, scanChange, text, args...)
}

var scanChange = fields(func(c *ktrdr.BreakerChange) []any {
	return []any{&c.Name, &c.Version, &c.From, &c.To, &c.Reason, &c.By, (*moment)(&c.At), (*document)(&c.Detail)}
})

const (
	takeProbe query = `INSERT INTO breaker_probes AS p (name, owner, token, until) VALUES ($1, $2, 1, {now} + CAST($3 AS BIGINT))
		ON CONFLICT (name) DO UPDATE SET owner = EXCLUDED.owner, token = p.token + 1, until = EXCLUDED.until
			WHERE p.until <= {now} OR p.owner = EXCLUDED.owner
		RETURNING token`
	endProbe      query = `UPDATE breaker_probes SET until = 0 WHERE name = $1 AND token = $2`
	selectBreaker query = `SELECT ` + breakerColumns + ` FROM breakers WHERE name = $1`
)

// TakeProbe implements ktrdr.Breakers. The breaker is read after the right was
// taken, so that it is what the last one who had it has left.
func (s *Store) TakeProbe(ctx context.Context, name string, owner ktrdr.Incarnation, d time.Duration) (probe ktrdr.Probe, err error) {
	switch {
	case name == "" || owner == "" || !storable(name, 255) || !storable(string(owner), 255):
		return probe, ktrdr.Errorf(ktrdr.CodeInvalid, "a probe names its breaker and who makes it, each in 1 to 255 bytes of text")
	case d < time.Microsecond || d > forgotten:
		return probe, ktrdr.Errorf(ktrdr.CodeInvalid, "a probe of the breaker %s takes up to %v, not %v", name, forgotten, d)
	}
	return inWrite(ctx, s, func(t *tx) (probe ktrdr.Probe, err error) {
		if err = t.row(ctx, takeProbe, name, owner, d.Microseconds()).Scan(&probe.Token); err != nil {
			return probe, ifNoRow(err, ktrdr.Errorf(ktrdr.CodeConflict, "the breaker %s is being probed by another backend", name))
		}
		probe.Breaker, _, err = optionalRow(scanBreaker(t.row(ctx, selectBreaker, name)))
		return probe, err
	})
}

// EndProbe implements ktrdr.Breakers.
func (s *Store) EndProbe(ctx context.Context, name string, token int64) error {
	_, err := s.exec(ctx, endProbe, name, token)
	return err
}
