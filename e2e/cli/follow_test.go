package cli

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/labtest"
)

// interruptedWatching starts a command that watches, waits for the first line that it
// prints, and sends it the signal of Ctrl-C. It returns what it said on standard error.
func (l *lab) interruptedWatching(args ...string) string {
	l.t.Helper()
	p := labtest.Start(l.t, l.call(args...))
	labtest.Eventually(l.t, 60*time.Second, "the first line", func() bool { return strings.Contains(p.Out(), "\n") })
	if code := p.End(syscall.SIGINT); code != exitInterrupted {
		l.t.Errorf("ktrdr %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, exitInterrupted, p.Err())
	}
	return p.Err()
}

// TestFollow_CtrlCStopsTheWatchingAndNotTheWork sends the signal to real processes.
func TestFollow_CtrlCStopsTheWatchingAndNotTheWork(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7")
	l.serve("--workers", "0") // nothing ends meanwhile

	id := l.start("--steps", "5")
	if said := l.interruptedWatching("follow", id); !strings.Contains(said,
		"The operation is still running. Watch it again with `ktrdr follow "+id+"`.") {
		t.Errorf("follow said:\n%s", said)
	}
	if op := l.op(id); op.Status.Terminal() {
		t.Errorf("the operation is %s: it was stopped with the watching", op.Status)
	}

	said := l.interruptedWatching("research", "trend", "--follow")
	_, rest, _ := strings.Cut(said, "The run is still running. Watch it again with `ktrdr follow ")
	run, _, ok := strings.Cut(rest, "`.")
	if !ok {
		t.Fatalf("research --follow said:\n%s", said)
	}
	if out := l.must("status", run); !strings.Contains(out, "RUNNING") {
		t.Errorf("the run was stopped with the watching:\n%s", out)
	}
	if said := l.interruptedWatching("follow", run); !strings.Contains(said,
		"The run is still running. Watch it again with `ktrdr follow "+run+"`.") {
		t.Errorf("follow of the run said:\n%s", said)
	}
}
