package sqlstore

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr"
)

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
