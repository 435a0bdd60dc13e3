package engine

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// A worker has the orphan timeout to report, counted from its last heartbeat or
// from the start of the backend that listens, whichever is later.
func TestDeadline_IsTheTimeoutAfterTheLastChanceToReport(t *testing.T) {
	noon := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct{ heartbeat, started, want time.Time }{
		"the backend started later": {noon, noon.Add(time.Hour), noon.Add(time.Hour + time.Minute)},
		"the heartbeat came later":  {noon.Add(time.Hour), noon, noon.Add(time.Hour + time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{started: c.started, settings: Settings{OrphanTimeout: time.Minute}}
			if got := e.deadline(ktrdr.Operation{HeartbeatAt: c.heartbeat}); !got.Equal(c.want) {
				t.Errorf("deadline %v, want %v", got, c.want)
			}
		})
	}
}
