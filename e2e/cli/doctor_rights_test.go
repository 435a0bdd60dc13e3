package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
)

// stranger is a user who owns nothing.
const stranger = 65534

// asStranger runs a command as a user who owns nothing of the lab. Only root can
// become another user.
func (l *lab) asStranger(args ...string) string {
	l.t.Helper()
	if os.Geteuid() != 0 {
		l.t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "ktrdr-stranger-")
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "ktrdr")
	// cp copies it: a file that this process has open for writing is also open in a child that a
	// parallel test starts at that moment, and such a program cannot be run ("text file busy").
	if out, err := exec.CommandContext(l.t.Context(), "cp", labtest.Binary(l.t), program).CombinedOutput(); err != nil {
		l.t.Fatalf("cp: %v: %s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // another user runs what is in it
		l.t.Fatal(err)
	}
	c := l.call(args...)
	c.Path, c.Dir, c.User = program, dir, &syscall.Credential{Uid: stranger, Gid: stranger}
	a := labtest.Run(l.t, c)
	return a.Out + a.Err
}

// A folder of another user is one that serve refuses.
func TestDoctor_IsRedWhereTheFolderIsAnotherUsers(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "ktrdr-rights-") // every folder above it can be entered
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := newLab(t, "KTRDR_ADDR=127.0.0.1:0", "KTRDR_URL=http://127.0.0.1:1", "KTRDR_DATA="+dir)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "200")
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // others may look
		t.Fatal(err)
	}
	if said := l.asStranger("serve"); !strings.Contains(said, "permission denied") {
		t.Errorf("serve: %s", said)
	}
	if said := l.asStranger("doctor"); !strings.Contains(said, "✗ rights") || !strings.Contains(said, "chown -R 65534 "+dir) {
		t.Errorf("doctor:\n%s", said)
	}
}

// TestFiles_ThatMayNotBeReadAreRefusedInOurWords is another user than the owner.
func TestFiles_ThatMayNotBeReadAreRefusedInOurWords(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "ktrdr-closed-") // every folder above it can be entered
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "closed.yaml")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(file, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	for _, call := range []string{"validate", "ops --ca", "serve --config", "restore"} {
		if said := l.asStranger(append(strings.Fields(call), file)...); !strings.Contains(said, "this user may not read the ") ||
			strings.Contains(said, "open ") {
			t.Errorf("%s: %s", call, said)
		}
	}
}
