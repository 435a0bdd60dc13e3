package sqlstore

import (
	"testing"

	"github.com/ktrdr/ktrdr"
)

const selectBlocked query = `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

// A heartbeat that had to wait was sent before the wait, but the worker is
// known to live when it is stored: its time must not be from before.
func TestPostgres_HeartbeatThatWaitedIsNotOld(t *testing.T) {
	s := openStore(t, InstalledPostgres(t), nil)
	x := running(t, s)
	ctx := t.Context()
	reported := make(chan error, 1)
	var freed int64
	err := s.write(ctx, normal, func(holder *tx) error {
		if _, err := holder.exec(ctx, `SELECT 1 FROM operations WHERE id = $1 {lock}`, x.op); err != nil {
			return err
		}
		go func() {
			_, err := s.Report(ctx, ktrdr.Heartbeat{Worker: "w-1", Running: []ktrdr.Claimed{{Operation: x.op, Epoch: 1}}})
			reported <- err
		}()
		eventually(t, "the heartbeat waits", func() bool {
			var waiting int
			return s.readOne(ctx, func(r queryer) error { return r.row(ctx, selectBlocked).Scan(&waiting) }) == nil && waiting > 0
		})
		return holder.row(ctx, selectNow).Scan(&freed)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-reported; err != nil {
		t.Fatal(err)
	}
	op, err := s.Operation(ctx, x.op)
	if err != nil {
		t.Fatal(err)
	}
	if heard := micros(op.HeartbeatAt); heard < freed {
		t.Errorf("the heartbeat is from %d µs before the lock was freed", freed-heard)
	}
}
