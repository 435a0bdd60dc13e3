package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ktrdr/ktrdr"
)

// metaTraces is the key of what is told below. It is in no backup: cursors belong
// to one database.
const metaTraces = "traces"

const (
	replaceMeta query = `INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value`
	selectNow   query = `SELECT {now}`
)

// traced is up to which event the spans of ended operations were exported, and
// which backend exports them.
type traced struct {
	Holder string `json:"holder"`
	Until  int64  `json:"until"` // microseconds; the lease is over then
	Tx     int64  `json:"tx"`
	ID     int64  `json:"id"`
}

// LeaseTraces makes who the backend that exports the spans of ended operations,
// for the time of the lease or until it leases again, and returns the last event
// that was exported. It is false while another backend exports.
func (s *Store) LeaseTraces(ctx context.Context, who string, lease time.Duration) (after ktrdr.Cursor, leased bool, err error) {
	last, err := s.LastEvent(ctx) // with the first lease the export begins
	if err != nil {
		return after, false, err
	}
	err = s.write(ctx, normal, func(t *tx) error {
		after, leased = ktrdr.Cursor{}, false
		s.lockMeta(ctx, t, metaTraces)
		now, err := scanValue[int64](t.row(ctx, selectNow))
		if err != nil {
			return err
		}
		at, found, err := tracedUpTo(ctx, t)
		if err != nil || found && at.Holder != who && at.Until > now && at.Until <= now+lease.Microseconds() {
			return err
		}
		if !found {
			at.Tx, at.ID = last.Tx, last.ID
		}
		at.Holder, at.Until = who, now+lease.Microseconds()
		after, leased = ktrdr.Cursor{Tx: at.Tx, ID: at.ID}, true
		return setTraced(ctx, t, at)
	})
	return after, leased && err == nil, err
}

// MoveTraces records that all spans up to an event were exported. It is false
// when another backend has the lease.
func (s *Store) MoveTraces(ctx context.Context, who string, to ktrdr.Cursor) (moved bool, err error) {
	err = s.write(ctx, normal, func(t *tx) error {
		moved = false
		s.lockMeta(ctx, t, metaTraces)
		at, found, err := tracedUpTo(ctx, t)
		if err != nil || !found || at.Holder != who {
			return err
		}
		at.Tx, at.ID, moved = to.Tx, to.ID, true
		return setTraced(ctx, t, at)
	})
	return moved && err == nil, err
}

func tracedUpTo(ctx context.Context, t *tx) (at traced, found bool, err error) {
	text, found, err := optionalRow(scanValue[string](t.row(ctx, selectMeta, metaTraces)))
	if err != nil || !found || text == "" { // "" is what lockMeta leaves
		return at, false, err
	}
	return at, true, json.Unmarshal([]byte(text), &at)
}

func setTraced(ctx context.Context, t *tx, at traced) error {
	text, err := marshal(at)
	if err == nil {
		t.later(ctx, replaceMeta, metaTraces, text)
	}
	return err
}
