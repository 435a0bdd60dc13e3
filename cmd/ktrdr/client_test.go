package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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

// env is an environment.
type env map[string]string

func (e env) get(name string) string { return e[name] }
