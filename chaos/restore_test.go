package chaos_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// place is where a backup is restored to.
type place struct {
	t   *testing.T
	env []string
}

func newPlace(t *testing.T, data, db string) place {
	env := labtest.Environment(t, data, labtest.Calm, "KTRDR_AUTH=none", "KTRDR_URL=http://127.0.0.1:1", "KTRDR_ADDR=127.0.0.1:0")
	if db != "" {
		env = append(env, "KTRDR_DB="+db)
	}
	return place{t, env}
}

// run runs a command to its end; killed says that it ended by SIGKILL.
func (p place) run(extra string, args ...string) (said string, code int, killed bool) {
	p.t.Helper()
	ended := labtest.Start(p.t, labtest.Program{Args: args, Env: labtest.WithEnv(p.env, extra)})
	code = ended.Exit(time.Minute)
	status, _ := ended.State().Sys().(syscall.WaitStatus)
	return ended.Log(), code, status.Signaled() && status.Signal() == syscall.SIGKILL
}

// refuses requires that a command does not take the place.
func (p place) refuses(args ...string) {
	p.t.Helper()
	if said, code, _ := p.run("", args...); code == 0 || !strings.Contains(said, "has not finished") {
		p.t.Errorf("ktrdr %s: exit %d, want a refusal:\n%.600s", strings.Join(args, " "), code, said)
	}
}

func (p place) refusesToServe() { p.refuses("serve", "--addr", "127.0.0.1:0") }

// refusesAll requires that no command takes the place.
func (p place) refusesAll() {
	p.t.Helper()
	p.refusesToServe()
	csv := filepath.Join(p.t.TempDir(), "EURUSD_1h.csv")
	if err := os.WriteFile(csv, []byte("time,open,high,low,close\n2024-01-01T00:00:00Z,1,1,1,1\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	for _, args := range [][]string{
		{"doctor"},
		{"backup", "-"},
		{"data", "list"},
		{"data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "100"},
		{"data", "import", csv},
		{"data", "delete", "EURUSD", "1h"},
		{"strategies", "list"},
		{"instruments", "show"},
		{"instruments", "delete"},
	} {
		p.refuses(args...)
	}
}

// TestRestore_KilledAtEveryStep kills a restore between every two of its steps.
// Nothing takes what it leaves until it is repeated, also not a backend of
// another folder on the same database, and repeated it is whole.
func TestRestore_KilledAtEveryStep(t *testing.T) {
	t.Parallel()
	source := labtest.New(t, labtest.SQLite, quiet)
	source.ServeWith(1)
	id := source.Submit(dummy.Spec{Steps: 4, StepMS: 1, CheckpointEvery: 1, ArtifactBytes: 70000, FailAt: 4})
	source.Ends(id, ktrdr.Failed)
	file := filepath.Join(t.TempDir(), "lab.tar")
	if said, code := source.Command("backup", file); code != 0 {
		t.Fatalf("backup: exit %d\n%s", code, said)
	}
	kinds := map[string]func(t *testing.T, dir string) string{
		"sqlite":         func(*testing.T, string) string { return "" },
		"sqlite outside": func(_ *testing.T, dir string) string { return filepath.Join(dir, "outside.db") },
		"postgres":       func(t *testing.T, _ string) string { return pgtest.URL(t) },
	}
	committed := map[string]bool{"restore.loaded": true, "restore.bound": true, "restore.unmarked": true}
	steps := []string{"blob.durable", "tx.committing"}
	for _, p := range points("restore.") {
		steps = append(steps, string(p))
	}
	for kind, database := range kinds {
		for _, step := range steps {
			t.Run(kind+"/"+step, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				data, db := filepath.Join(dir, "data"), database(t, dir)
				here := newPlace(t, data, db)
				for _, refuses := range []func(){here.refusesAll, here.refusesToServe} { // the second one is killed where the first one was
					if said, _, killed := here.run("KTRDR_FAILPOINT="+step, "restore", file); !killed {
						t.Fatalf("the restore was not killed at %s:\n%s", step, said)
					}
					refuses()
				}
				if db != "" && committed[step] {
					newPlace(t, filepath.Join(dir, "other"), db).refusesAll()
				}
				if said, code, _ := here.run("", "restore", file); code != 0 {
					t.Fatalf("repeated: exit %d\n%s", code, said)
				}
				if said, _, _ := here.run("", "doctor", "--deep"); strings.Count(said, "✗") != 1 || !strings.Contains(said, "✗ server") {
					t.Errorf("after the repetition only the server is missing, want that:\n%s", said)
				}
				if said, code, _ := here.run("", "backup", filepath.Join(dir, "again.tar")); code != 0 {
					t.Errorf("backup of what was restored: exit %d\n%s", code, said)
				}
			})
		}
	}
}
