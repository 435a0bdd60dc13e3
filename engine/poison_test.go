package engine_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
)

// The last death of a child process fails the operation, and the log says so.
func TestRelease_TheLastDeathOfAChildIsLoggedAsAFailure(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := newLab(t, func(c *engine.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	l.register("w")
	op := l.submit()
	const says = `level=WARN msg="operation failed" op=`
	for death := range ktrdr.PoisonLosses {
		if strings.Contains(log.String(), says) {
			t.Errorf("after %d deaths:\n%s", death, &log)
		}
		task := l.claimOne()
		if err := l.Release(t.Context(), ktrdr.Released{
			Operation: op.ID, Epoch: task.Epoch, ChildDied: true,
			Reason: "signal: killed",
		}); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := l.Operation(t.Context(), op.ID); err != nil || now.Status != ktrdr.Failed {
		t.Fatalf("%v, %v, want FAILED", now.Status, err)
	}
	if !strings.Contains(log.String(), says+string(op.ID)) || !strings.Contains(log.String(), "code=poison") {
		t.Errorf("the log does not say that it failed:\n%s", &log)
	}
}
