package cli

import (
	"cmp"
	"database/sql"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// unwritten returns a function that fails the test for each change in the folder
// since.
func unwritten(t *testing.T, dir string) func() {
	t.Helper()
	look := func() map[string]string {
		all := map[string]string{}
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				all[name] = "folder"
				return err
			}
			text, err := os.ReadFile(name)
			all[name] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := look()
	return func() {
		t.Helper()
		after := look()
		for name, was := range before {
			if now, there := after[name]; !there || now != was {
				t.Errorf("doctor changed %s", name)
			}
		}
		for name := range after {
			if _, there := before[name]; !there {
				t.Errorf("doctor made %s", name)
			}
		}
	}
}

// sql changes the database of a stopped lab.
func (l *lab) sql(statement string) {
	l.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(l.data, "ktrdr.db"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(l.t.Context(), statement); err != nil {
		l.t.Fatal(err)
	}
}

// Whatever keeps `serve` from starting is a finding of the doctor, which says
// how to mend it and changes nothing.
func TestDoctor_IsRedWhereverServeRefuses(t *testing.T) {
	t.Parallel()
	path := func(l *lab, names ...string) string { return filepath.Join(append([]string{l.data}, names...)...) }
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, l *lab)
		args  []string
		code  int    // of serve; 0 is exitFailed
		serve string // what serve says
		found string // the check that is red
		fix   string // part of what the doctor advises
	}{
		"the blobs are gone": {
			spoil: func(t *testing.T, l *lab) { must(t, os.Rename(path(l, "blobs"), l.data+"-blobs")) },
			serve: "belongs to the blob root", found: "blobs", fix: "CHECKPOINT_DIR",
		},
		"other blobs": {
			spoil: func(t *testing.T, l *lab) {
				must(t, os.WriteFile(path(l, "blobs", "identity"), []byte(strings.Repeat("0", 32)+"\n"), 0o600))
			},
			serve: "belongs to the blob root", found: "blobs", fix: "CHECKPOINT_DIR",
		},
		"a damaged identity of the blobs": {
			spoil: func(t *testing.T, l *lab) { must(t, os.WriteFile(path(l, "blobs", "identity"), []byte("x"), 0o600)) },
			serve: "32 hex digits", found: "blobs", fix: "check that the folder",
		},
		"a lost WAL": {
			spoil: func(t *testing.T, l *lab) { must(t, os.Truncate(path(l, "ktrdr.db"), 0)) }, // all was in it
			serve: "holds blobs of another database", found: "blobs", fix: "ktrdr.db-wal",
		},
		"no database beside blobs": {
			spoil: func(t *testing.T, l *lab) { must(t, os.Remove(path(l, "ktrdr.db"))) },
			serve: "holds blobs of another database", found: "blobs", fix: "restore a backup",
		},
		"a damaged database": {
			spoil: func(t *testing.T, l *lab) {
				must(t, os.WriteFile(path(l, "ktrdr.db"), []byte(strings.Repeat("x", 8192)), 0o600))
			},
			serve: "damaged", found: "database", fix: "restore a backup",
		},
		"a newer schema": {
			spoil: func(_ *testing.T, l *lab) {
				l.sql(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
			},
			serve: "schema is version 9999", found: "database", fix: "newer ktrdr",
		},
		"a migration that was left out": {
			spoil: func(_ *testing.T, l *lab) { l.sql(`DELETE FROM goose_db_version WHERE version_id = 5`) },
			serve: "missing", found: "database", fix: "restore a backup",
		},
		"a restore that has not finished": {
			spoil: func(t *testing.T, l *lab) {
				must(t, os.WriteFile(path(l, backend.RestoringFile), []byte("{\"made\":[]}\n"), 0o600))
			},
			serve: "has not finished", found: "database", fix: "run the restore again",
		},
		"a restore into the database that has not finished": {
			spoil: func(_ *testing.T, l *lab) { l.sql(`INSERT INTO meta (key, value) VALUES ('restore unfinished', '1')`) },
			serve: "has not finished", found: "database", fix: "run the restore again",
		},
		"a folder that others may write to": {
			spoil: func(t *testing.T, l *lab) { must(t, os.Chmod(l.data, 0o777)) }, //nolint:gosec // that is the fault
			serve: "written by other users", found: "folder", fix: "chmod 700",
		},
		"a token that others may read": {
			spoil: func(t *testing.T, l *lab) { must(t, os.Chmod(path(l, backend.TokenFile), 0o644)) }, //nolint:gosec // that is the fault
			serve: "read by other users", found: "token", fix: "chmod 600",
		},
		"a process that holds the folder": {
			spoil: func(t *testing.T, l *lab) {
				unlock, err := sqlstore.LockFolder(l.data)
				must(t, err)
				t.Cleanup(func() { _ = unlock() })
			},
			serve: "already running here", found: "lock", fix: "stop process",
		},
		"an address in use": {
			spoil: func(t *testing.T, l *lab) {
				other, err := net.Listen("tcp", "127.0.0.1:0")
				must(t, err)
				t.Cleanup(func() { _ = other.Close() })
				l.env = append(l.env, "KTRDR_ADDR="+other.Addr().String())
			},
			serve: "in use by another program", found: "address", fix: "--addr",
		},
		"a certificate that is not there": {
			spoil: func(_ *testing.T, l *lab) {
				l.env = append(l.env, "KTRDR_TLS_CERT="+path(l, "no.pem"), "KTRDR_TLS_KEY="+path(l, "no.key"))
			},
			code: exitUsage, serve: "there is no certificate file", found: "tls", fix: "--tls-cert",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "KTRDR_ADDR=127.0.0.1:0")
			l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "200")
			backend, _ := l.serve("--workers", "0")
			backend.End(syscall.SIGTERM)
			l.url = "http://127.0.0.1:1"
			c.spoil(t, l)
			same := unwritten(t, l.data)
			out := l.run("doctor", "--json")
			same()
			l.refused(cmp.Or(c.code, exitFailed), c.serve, "serve")
			red := map[string]string{}
			for _, f := range decode[[]finding](t, out.out) {
				if !f.OK {
					red[f.Check] += f.Fix + "\n"
				}
			}
			if out.code != exitFailed || !strings.Contains(red[c.found], c.fix) {
				t.Errorf("exit %d, red %q, want %s with %q", out.code, red, c.found, c.fix)
			}
		})
	}
}

// A sound lab without a server has one finding: no server answers.
func TestDoctor_OfAStoppedLabMissesOnlyTheServer(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_ADDR=127.0.0.1:0")
	backend, _ := l.serve("--workers", "0")
	backend.End(syscall.SIGTERM)
	l.url = "http://127.0.0.1:1"
	same := unwritten(t, l.data)
	if out := l.run("doctor", "--deep").out; strings.Count(out, "✗") != 1 || !strings.Contains(out, "✗ server") {
		t.Errorf("doctor:\n%s", out)
	}
	same()
}

// A backend was killed and its WAL, in which everything still was, is deleted.
func TestDoctor_ReportsADeletedWAL(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_ADDR=127.0.0.1:0")
	backend, _ := l.serve("--workers", "0")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "200")
	backend.End(syscall.SIGKILL)
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(filepath.Join(l.data, "ktrdr.db"+beside)); err != nil {
			t.Fatal(err)
		}
	}
	l.url = "http://127.0.0.1:1"
	same := unwritten(t, l.data)
	if out := l.run("doctor"); out.code != exitFailed || !strings.Contains(out.out, "put "+filepath.Join(l.data, "ktrdr.db-wal")+" back") {
		t.Errorf("doctor: %v", out)
	}
	same()
	l.refused(exitFailed, "holds blobs of another database", "serve")
}

// The server at the configured address is sound, and serves another lab.
func TestDoctor_IsRedWhereTheServerIsOfAnotherLab(t *testing.T) {
	t.Parallel()
	other := newLab(t)
	other.serve("--workers", "0")
	used := newLab(t, "KTRDR_ADDR=127.0.0.1:0")
	backend, _ := used.serve("--workers", "0")
	backend.End(syscall.SIGTERM)
	pg := newLab(t, "KTRDR_ADDR=127.0.0.1:0", "KTRDR_DB="+pgtest.URL(t))
	pg.serve("--workers", "0")
	fresh := newLab(t, "KTRDR_ADDR=127.0.0.1:0")
	for name, l := range map[string]*lab{"a lab that was stopped": used, "a lab that runs elsewhere": pg, "a folder without a lab": fresh} {
		l.url = other.url
		out := l.run("doctor", "--json")
		var red []finding
		for _, f := range decode[[]finding](t, out.out) {
			if f.Check == "server" && !f.OK {
				red = append(red, f)
			}
		}
		if out.code != exitFailed || len(red) != 1 || !strings.Contains(red[0].Detail, "serves another lab") ||
			!strings.Contains(red[0].Fix, "--url") {
			t.Errorf("%s: exit %d, server %+v; want one finding that it serves another lab", name, out.code, red)
		}
	}
	if out := other.must("doctor"); strings.Contains(out, "✗") {
		t.Errorf("its own lab:\n%s", out)
	}
}
