package cli

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interruptedWatching starts a command that watches, waits for the first line that it
// prints, and sends it the signal of Ctrl-C. It returns what it said on standard error.
func (l *lab) interruptedWatching(args ...string) string {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), binary, args...)
	cmd.Env = append(l.env, "KTRDR_URL="+l.url)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	stuck := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(out)
	lines.Scan()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		l.t.Fatal(err)
	}
	for lines.Scan() { // until it ends
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		l.t.Errorf("ktrdr %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, exitInterrupted, stderr.String())
	}
	return stderr.String()
}

// TestFollow_CtrlCStopsTheWatchingAndNotTheWork sends the signal to real processes.
func TestFollow_CtrlCStopsTheWatchingAndNotTheWork(t *testing.T) {
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7")
	l.serve("--workers", "0") // nothing ends meanwhile

	id := l.start("--steps", "5")
	if said := l.interruptedWatching("follow", id); !strings.Contains(said,
		"The operation goes on. Watch it again with `ktrdr follow "+id+"`.") {
		t.Errorf("follow said:\n%s", said)
	}
	if op := l.op(id); op.Status.Terminal() {
		t.Errorf("the operation is %s: it was stopped with the watching", op.Status)
	}

	said := l.interruptedWatching("research", "trend", "--follow")
	_, rest, _ := strings.Cut(said, "The run goes on. Watch it again with `ktrdr follow ")
	run, _, ok := strings.Cut(rest, "`.")
	if !ok {
		t.Fatalf("research --follow said:\n%s", said)
	}
	if out := l.must("status", run); !strings.Contains(out, "RUNNING") {
		t.Errorf("the run was stopped with the watching:\n%s", out)
	}
	if said := l.interruptedWatching("follow", run); !strings.Contains(said, "The run goes on. Watch it again with `ktrdr follow "+run+"`.") {
		t.Errorf("follow of the run said:\n%s", said)
	}
}
