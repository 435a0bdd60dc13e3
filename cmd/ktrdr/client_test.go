package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
)

func TestSecret_OfTheDataFolderStaysOnThisMachine(t *testing.T) {
	dir := t.TempDir()
	if err := backend.WriteOnce(filepath.Join(dir, backend.TokenFile), "ktrdr_local\n"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, backend.TokenFile)
	for _, tc := range []struct {
		name, to, flag string
		env            env
		want           ktrdr.Secret
		from           string
	}{
		{"this machine", "http://127.0.0.1:8000", "", nil, "ktrdr_local", file},
		{"this machine by name", "http://localhost:8000", "", nil, "ktrdr_local", file},
		{"another machine", "https://lab.example", "", nil, "", ""},
		{"another machine that looks like this one", "http://127.0.0.1.evil.example", "", nil, "", ""},
		{"the environment's, to anybody", "https://lab.example", "", env{"KTRDR_TOKEN": "ktrdr_env"}, "ktrdr_env", "KTRDR_TOKEN"},
		{"the flag's, before all", "https://lab.example", "ktrdr_flag", env{"KTRDR_TOKEN": "ktrdr_env"}, "ktrdr_flag", "--token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u, err := url.Parse(tc.to)
			if err != nil {
				t.Fatal(err)
			}
			a := &app{getenv: tc.env.get, data: dir, token: tc.flag}
			got, from, err := a.secret(u)
			if err != nil || got.Reveal() != tc.want.Reveal() || from != tc.from {
				t.Errorf("secret = %q from %q, %v; want %q from %q", got.Reveal(), from, err, tc.want.Reveal(), tc.from)
			}
		})
	}
}

func TestReadToken_RefusesWhatOthersCanRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), backend.TokenFile)
	if err := backend.WriteOnce(name, "ktrdr_x\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := backend.ReadToken(name); err != nil || got.Reveal() != "ktrdr_x" {
		t.Fatalf("readToken = %q, %v", got.Reveal(), err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := backend.ReadToken(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %04o: err = %v, want one that says chmod 600", mode, err)
		}
	}
}

func TestOffline_RefusesBesideABackendOfAnotherVersion(t *testing.T) {
	health := ktrdr.Health{Status: "ok", Version: "v0-other"}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(health)
	}))
	defer srv.Close()
	a := &app{getenv: env{}.get, url: srv.URL, data: t.TempDir()}
	if err := a.sameVersion(t.Context()); err == nil || !strings.Contains(err.Error(), "v0-other") {
		t.Errorf("err = %v, want one that names the other version", err)
	}
	health.Version = ourVersion()
	if err := a.sameVersion(t.Context()); err != nil {
		t.Errorf("beside its own version: %v", err)
	}
	srv.Close()
	if err := a.sameVersion(t.Context()); err != nil {
		t.Errorf("without a backend: %v", err)
	}
}

func TestServe_ReplacesATokenThatWasRevoked(t *testing.T) {
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
	p.stop(syscall.SIGTERM)

	p, said = l.serve("--workers", "0")
	if len(said.Warnings) != 1 || !strings.Contains(said.Warnings[0], "was revoked") {
		t.Errorf("warnings = %q, want one that says that the token was replaced", said.Warnings)
	}
	l.must("ops")
	l.refused(exitFailed, "does not accept the token of --token", "ops", "--token", strings.TrimSpace(string(old)))
	p.stop(syscall.SIGTERM)
	if _, said = l.serve("--workers", "0"); len(said.Warnings) != 0 {
		t.Errorf("warnings = %q at the next start, want none", said.Warnings)
	}
	if tokens := decode[[]ktrdr.Token](t, l.must("token", "list", "--json")); len(tokens) != 3 {
		t.Errorf("%d tokens, want the revoked one, the second and the new first", len(tokens))
	}
}

func TestServe_ReplacesATokenOfAnotherDatabase(t *testing.T) {
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
	l := newLab(t)
	l.serve("--workers", "0")
	l.refused(exitUsage, "belongs to a backend", "worker", "--data", l.data)
	l.refused(exitUsage, "--token-file", "worker", "--token-file", filepath.Join(l.data, "none"))
	w := l.begin(&workerSaid{}, "worker", "--token-file", filepath.Join(l.data, backend.TokenFile)) // the default folder
	id := l.start("--steps", "2", "--step-ms", "1")
	l.must("follow", id)
	if code := w.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	if _, err := os.Stat(filepath.Join(l.data, "worker", "spool")); err != nil {
		t.Errorf("the spool is not in worker/ of the data folder: %v", err)
	}
}

// env is an environment.
type env map[string]string

func (e env) get(name string) string { return e[name] }
