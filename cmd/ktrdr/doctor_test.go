package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestDoctor_EveryProblemOfTheServerSaysWhatToDo(t *testing.T) {
	d := &doctor{}
	d.server(ktrdr.Health{Status: "degraded", Problems: []string{
		"only 3 MB of disk are free, and new work is refused below 1024 MB; free some space",
		"something without advice",
	}})
	want := []finding{
		{Check: "server", Detail: "only 3 MB of disk are free, and new work is refused below 1024 MB", Fix: "free some space"},
		{Check: "server", Detail: "something without advice", Fix: "look into the backend's log"},
	}
	for i, f := range want {
		if d.findings[i] != f {
			t.Errorf("finding %+v, want %+v", d.findings[i], f)
		}
	}
}

func TestDoctor_OnlyOperationsGoBackToAnEarlierCheckpoint(t *testing.T) {
	const op = "op_dummy_20260101_000000_abcdef01"
	for _, c := range []struct {
		owners []string
		want   string
	}{
		{[]string{op}, "restore the file from a backup; without it a resume uses the checkpoint before"},
		{[]string{"chat 1"}, "restore the file from a backup; without it the thread's checkpoints that hold it cannot be read"},
		{[]string{""}, "restore the file from a backup"},
	} {
		if got := withoutBlob(c.owners); got != c.want {
			t.Errorf("%q: %q, want %q", c.owners, got, c.want)
		}
	}
}

// Where `serve` refuses to start, the doctor is red and says how to mend it.
func TestDoctor_IsRedWhereServeRefusesTheBlobs(t *testing.T) {
	l := newLab(t)
	backend, _ := l.serve("--workers", "0")
	backend.stop(syscall.SIGTERM)
	if err := os.Rename(filepath.Join(l.data, "blobs"), filepath.Join(l.data, "others")); err != nil {
		t.Fatal(err)
	}
	const says = "belongs to the blob root"
	l.refused(exitFailed, says, "serve", "--addr", "127.0.0.1:0")
	out := l.run("doctor")
	if out.code != exitFailed || !strings.Contains(out.out, says) || !strings.Contains(out.out, "CHECKPOINT_DIR") {
		t.Errorf("doctor: exit %d\n%s%s", out.code, out.out, out.err)
	}
}
