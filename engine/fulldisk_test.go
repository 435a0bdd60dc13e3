package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
)

// fullDisk is a store on a full disk: it answers, but takes nothing.
type fullDisk struct{ ktrdr.Store }

func (fullDisk) Beat(context.Context, ktrdr.Backend) error {
	return ktrdr.Errorf(ktrdr.CodeNoSpace, "the disk is full")
}

// Where nothing can be written, no heartbeat is: a worker that looks dead then
// need not be.
func TestHealth_AFullDiskIsNotAMissingWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *engine.Config) {
		c.Store = fullDisk{c.Store}
		c.Settings.HeartbeatInterval = 10 * time.Millisecond
	})
	id := l.submit().ID
	reason := func() string {
		op, err := l.Operation(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return op.Unschedulable
	}
	if got := reason(); !strings.Contains(got, "no live worker") {
		t.Errorf("before: %q, want that there is no worker", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "that nothing is written shows", func() bool { return !l.Health(t.Context()).Store.OK })
	h := l.Health(t.Context())
	if told := strings.Join(h.Problems, "\n"); strings.Contains(told, "does not exist") || !strings.Contains(told, "does not take writes") ||
		h.Unschedulable != 0 {
		t.Errorf("problems: %s", told)
	}
	if got := reason(); !strings.Contains(got, "does not take writes") {
		t.Errorf("unschedulable: %q", got)
	}
}
