package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
)

func TestServe_ReplacesATokenThatWasRevoked(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, said := l.serve("--workers", "0")
	tokens := decode[[]ktrdr.Token](t, l.must("token", "list", "--json"))
	if len(tokens) != 1 || tokens[0].Scope != ktrdr.ScopeAdmin {
		t.Fatalf("first tokens = %+v, want one admin", tokens)
	}
	old, err := os.ReadFile(said.Token)
	if err != nil {
		t.Fatal(err)
	}
	l.refused(exitFailed, "last admin token", "token", "revoke", tokens[0].ID)
	l.must("token", "create", "second", "--scope", "admin")
	l.must("token", "revoke", tokens[0].ID)
	p.End(syscall.SIGTERM)

	p, said = l.serve("--workers", "0")
	if len(said.Warnings) != 1 || !strings.Contains(said.Warnings[0], "was revoked") {
		t.Errorf("warnings = %q, want one that says that the token was replaced", said.Warnings)
	}
	l.must("ops")
	l.refused(exitFailed, "does not accept the token of --token", "ops", "--token", strings.TrimSpace(string(old)))
	p.End(syscall.SIGTERM)
	if _, said = l.serve("--workers", "0"); len(said.Warnings) != 0 {
		t.Errorf("warnings = %q at the next start, want none", said.Warnings)
	}
	if tokens := decode[[]ktrdr.Token](t, l.must("token", "list", "--json")); len(tokens) != 3 {
		t.Errorf("%d tokens, want the revoked one, the second and the new first", len(tokens))
	}
}

func TestServe_ReplacesATokenOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if err := os.Mkdir(l.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := backend.WriteOnce(filepath.Join(l.data, backend.TokenFile), "ktrdr_of_another\n"); err != nil {
		t.Fatal(err)
	}
	_, said := l.serve("--workers", "0")
	l.must("ops")
	l.refused(exitFailed, "does not accept", "ops", "--token", "ktrdr_of_another")
	if len(said.Warnings) != 1 {
		t.Errorf("warnings = %q, want one", said.Warnings)
	}
}

func TestUnauthorized_NamesTheTokenThatWasRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0")
	l.refused(exitFailed, "does not accept the token of --token: it was revoked, or belongs to another server", "ops", "--token", "ktrdr_x")
	other := *l
	other.env = append([]string{"KTRDR_TOKEN=ktrdr_x"}, l.env...)
	other.refused(exitFailed, "does not accept the token of KTRDR_TOKEN", "ops")
	other.refused(exitFailed, "does not accept the token of KTRDR_TOKEN", "worker", "--data", filepath.Join(t.TempDir(), "worker"))
	dir := t.TempDir()
	l.refused(exitFailed, "wants a token: set KTRDR_TOKEN, or run this where "+filepath.Join(dir, backend.TokenFile)+" can be read",
		"ops", "--data", dir)
	if err := backend.WriteOnce(filepath.Join(dir, backend.TokenFile), "ktrdr_x\n"); err != nil {
		t.Fatal(err)
	}
	l.refused(exitFailed, "does not accept the token in "+filepath.Join(dir, backend.TokenFile)+": name the folder of that server with --data",
		"ops", "--data", dir)
}

func TestWorker_WantsAFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0")
	l.refused(exitUsage, "belongs to a backend", "worker", "--data", l.data)
	l.refused(exitUsage, "--token-file", "worker", "--token-file", filepath.Join(l.data, "none"))
	w := l.begin(&workerSaid{}, "worker", "--token-file", filepath.Join(l.data, backend.TokenFile)) // the default folder
	id := l.start("--steps", "2", "--step-ms", "1")
	l.must("follow", id)
	if code := w.End(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	if _, err := os.Stat(filepath.Join(l.data, "worker", "spool")); err != nil {
		t.Errorf("the spool is not in worker/ of the data folder: %v", err)
	}
}
