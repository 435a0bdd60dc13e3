package engine_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/engine"
)

func TestLog_SaysOnceThatAWorkerCameAndThatACheckpointWasSaved(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := newLab(t, func(c *engine.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	l.register("w")
	op := l.submit()
	l.save(l.claimOne(), 1)
	for _, want := range []string{
		`level=INFO msg="worker registered" worker=w`,
		`level=INFO msg="Checkpoint saved" op=` + string(op.ID) + " epoch=1",
	} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("logged %d times, want once: %s\n%s", n, want, &log)
		}
	}
}
