package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/labtest"
)

func TestBackup_MovesALabToAnotherFolder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, _ := l.serve("--workers", "1")
	id := l.start("--steps", "20", "--step-ms", "1", "--checkpoint-every", "5", "--artifact-bytes", "70000", "--fail-at", "19")
	l.refused(exitFailed, "FAILED", "follow", id)
	file := filepath.Join(t.TempDir(), "lab.tar")
	l.must("backup", file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("backup file: %v %v, want mode 0600", info, err)
	}
	l.refused(exitUsage, "exists", "backup", file)
	l.refused(exitFailed, "already running here", "restore", file)
	p.End(syscall.SIGTERM)
	l.refused(exitFailed, "restore:", "restore", file) // not empty

	other := newLab(t)
	other.must("restore", file)
	other.serve("--workers", "1")
	before, after := decode[ktrdr.Operation](t, other.must("status", id, "--json")), ktrdr.Failed
	if before.Status != after || before.Checkpoint == nil || before.Checkpoint.Step != 18 {
		t.Fatalf("restored operation: %s, checkpoint %+v", before.Status, before.Checkpoint)
	}
	if out := other.must("doctor", "--deep"); strings.Contains(out, "✗") {
		t.Errorf("after restore:\n%s", out)
	}
	l.refused(exitFailed, "there is no database", "backup", file+"2", "--data", filepath.Join(t.TempDir(), "nothing"))
}

// savedLab makes a lab with one failed operation that has a blob, and a
// backup of it. The backend is stopped.
func savedLab(t *testing.T) (l *lab, id, file string) {
	t.Helper()
	l = newLab(t)
	p, _ := l.serve("--workers", "1")
	id = l.start("--steps", "4", "--step-ms", "1", "--checkpoint-every", "2", "--artifact-bytes", "70000", "--fail-at", "4")
	l.refused(exitFailed, "FAILED", "follow", id)
	file = filepath.Join(t.TempDir(), "lab.tar")
	l.must("backup", file)
	p.End(syscall.SIGTERM)
	return l, id, file
}

// holds says which of the names are in the folder.
func holds(t *testing.T, dir string, names ...string) (found []string) {
	t.Helper()
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			found = append(found, name)
		}
	}
	return found
}

func TestBackup_NamesDamagedBlobs(t *testing.T) {
	t.Parallel()
	l, id, _ := savedLab(t)
	p, _ := l.serve("--workers", "0")
	name := decode[ktrdr.Checkpoint](t, l.must("checkpoints", "show", id, "--json")).Artifacts[0].SHA256.String()
	p.End(syscall.SIGTERM)
	if err := os.Remove(filepath.Join(l.data, "blobs", name[:2], name[2:4], name)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "lab.tar")
	l.refused(exitFailed, "backup written, but 1 blob is missing or damaged: "+name, "backup", file)
	l.refused(exitFailed, "backup written, but 1 blob is missing or damaged: "+name, "backup", "-")
	a := l.run("backup", file, "--force", "--json")
	if got := decode[backedUp](t, a.out); a.code != exitFailed || len(got.Damaged) != 1 || got.Damaged[0].String() != name {
		t.Errorf("backup --json: %v, want the damaged blob %s", a, name)
	}

	other := newLab(t)
	a = other.run("restore", file, "--json")
	if got := decode[restored](t, a.out); a.code != exitFailed || len(got.Damaged) != 1 || got.Damaged[0].String() != name {
		t.Errorf("restore --json: %v, want the damaged blob %s", a, name)
	}
	newLab(t).refused(exitFailed, "restored, but 1 blob is missing or damaged: "+name, "restore", file)
	other.serve("--workers", "0")
	if op := other.op(id); op.Status != ktrdr.Failed {
		t.Errorf("restored operation: %s, want FAILED", op.Status)
	}
}

func TestRestore_RefusesAChangedBackupBeforeItChangesAnything(t *testing.T) {
	t.Parallel()
	_, id, file := savedLab(t)
	intact, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(intact, []byte(`"FAILED"`), []byte(`"FAILEd"`), 1)
	for name, archive := range map[string][]byte{"changed or damaged": changed, "cut off": intact[:len(intact)/2]} {
		if err := os.WriteFile(file, archive, 0o600); err != nil {
			t.Fatal(err)
		}
		l := newLab(t)
		l.refused(exitFailed, name, "restore", file)
		if a := l.feed(archive, "restore", "-"); a.code != exitFailed || !strings.Contains(a.err, name) {
			t.Errorf("through a pipe: %v, want %q", a, name)
		}
		if left := holds(t, l.data, "ktrdr.db", "blobs", backend.RestoringFile); len(left) > 0 {
			t.Errorf("%v was made of a backup that is %s", left, name)
		}
	}
	l := newLab(t)
	if a := l.feed(intact, "restore", "-"); a.code != exitOK {
		t.Fatalf("through a pipe: %v", a)
	}
	l.serve("--workers", "0")
	if op := l.op(id); op.Status != ktrdr.Failed {
		t.Errorf("restored operation: %s, want FAILED", op.Status)
	}
}

func TestRestore_ThatFailedLeavesAFolderThatNoCommandTakes(t *testing.T) {
	t.Parallel()
	_, id, file := savedLab(t)
	l := newLab(t)
	failing := *l
	failing.env = append([]string{"CHECKPOINT_DIR=" + filepath.Join(file, "blobs")}, l.env...) // below a file
	failing.refused(exitFailed, "blobs:", "restore", file)

	const says = "has not finished"
	l.refused(exitFailed, says, "serve", "--addr", "127.0.0.1:0")
	l.refused(exitFailed, says, "backup", file+"2")
	l.refused(exitFailed, says, "doctor")
	l.must("restore", file)
	l.refused(exitFailed, "there is a database", "restore", file)
	l.serve("--workers", "0")
	if op := l.op(id); op.Status != ktrdr.Failed {
		t.Errorf("restored operation: %s, want FAILED", op.Status)
	}
	if out := l.must("doctor", "--deep"); strings.Contains(out, "✗") {
		t.Errorf("after the second restore:\n%s", out)
	}
}

// A backup that is still being read when the restore is killed.
func TestRestore_KilledWhileItReadsLeavesAFolderThatNoCommandTakes(t *testing.T) {
	t.Parallel()
	_, _, file := savedLab(t)
	l := newLab(t)
	endless, feeds, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer feeds.Close()
	defer endless.Close()
	restore := l.call("restore", "-")
	restore.Stdin = endless
	p := labtest.Start(t, restore)
	labtest.Eventually(t, 20*time.Second, "a restore that reads its backup to mark the folder", func() bool {
		return len(holds(t, l.data, backend.RestoringFile)) > 0
	})
	p.Kill()
	l.refused(exitFailed, "has not finished", "serve", "--addr", "127.0.0.1:0")
	l.must("restore", file)
	l.serve("--workers", "0")
}

// A kill leaves the folder as it is at some moment between the mark and its
// removal; the last of them, when all rows are there, is the hardest.
func TestRestore_StartsAgainWhereOneWasKilled(t *testing.T) {
	t.Parallel()
	_, id, file := savedLab(t)
	l := newLab(t)
	if err := os.Mkdir(l.data, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := backend.Config{Data: l.data}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := backend.Restore(t.Context(), cfg, f); err != nil {
		t.Fatal(err)
	}
	// Restore has taken the mark away; a kill just before leaves it.
	if err := backend.WriteOnce(filepath.Join(l.data, backend.RestoringFile), `{"made":["blobs","ktrdr.db"]}`); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(l.data, "blobs", "stray")
	if err := os.WriteFile(stray, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.refused(exitFailed, "has not finished", "serve", "--addr", "127.0.0.1:0")
	l.must("restore", file)
	if _, err := os.Stat(stray); !os.IsNotExist(err) {
		t.Errorf("what the killed restore made is still there: %v", err)
	}
	l.serve("--workers", "0")
	if op := l.op(id); op.Status != ktrdr.Failed {
		t.Errorf("restored operation: %s, want FAILED", op.Status)
	}
}

func TestRestore_ThatFailedLeavesAnOldLabAsItWas(t *testing.T) {
	t.Parallel()
	l, id, file := savedLab(t)
	l.refused(exitFailed, "there is a database", "restore", file)
	failing := *l
	failing.env = append([]string{"CHECKPOINT_DIR=" + filepath.Join(file, "blobs")}, l.env...)
	db := filepath.Join(t.TempDir(), "new.db")
	failing.refused(exitFailed, "blobs:", "restore", file, "--db", db)
	if left, err := filepath.Glob(db + "*"); err != nil || len(left) > 0 {
		t.Errorf("the restore left %v (%v), want nothing of its database", left, err)
	}
	l.serve("--workers", "0")
	if op := l.op(id); op.Status != ktrdr.Failed {
		t.Errorf("the old lab's operation: %s, want FAILED", op.Status)
	}
	if out := l.must("doctor", "--deep"); strings.Contains(out, "✗") {
		t.Errorf("the old lab:\n%s", out)
	}
}
