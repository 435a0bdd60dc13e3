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

func TestServe_RevokesTheTokenWhoseFileItReplaces(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, said := l.serve("--workers", "0")
	l.must("token", "create", "first", "--scope", "admin") // of a person, by chance
	for _, garbage := range []string{"", " \n", "ktrdr_of_another\n", "\x00\x01"} {
		old, err := os.ReadFile(said.Token)
		if err != nil {
			t.Fatal(err)
		}
		p.End(syscall.SIGTERM)
		if err := os.WriteFile(said.Token, []byte(garbage), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, said = l.serve("--workers", "0"); len(said.Warnings) != 1 {
			t.Errorf("%q: warnings = %q, want one", garbage, said.Warnings)
		}
		l.refused(exitFailed, "does not accept", "ops", "--token", strings.TrimSpace(string(old)))
		live := 0
		for _, token := range decode[[]ktrdr.Token](t, l.must("token", "list", "--json")) {
			if token.RevokedAt.IsZero() {
				live++
			}
		}
		if live != 2 {
			t.Errorf("%q: %d live tokens, want the one in the file and the person's", garbage, live)
		}
	}
}

func TestWorker_RefusesAHalfRestoredFolder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0")
	dir := t.TempDir()
	if err := backend.WriteOnce(filepath.Join(dir, backend.RestoringFile), "{}\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l.refused(exitFailed, "has not finished", "worker", "--data", dir, "--token-file", filepath.Join(l.data, backend.TokenFile))
}
