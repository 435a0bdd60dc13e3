package pgtest_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

const childEnv = "PGTEST_CHILD"

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

func TestURL_GivesEachTestItsOwnDatabase(t *testing.T) {
	one, two := connect(t, pgtest.URL(t)), connect(t, pgtest.URL(t))
	if _, err := one.Exec(t.Context(), `CREATE TABLE mine (id int)`); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := two.QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE tablename = 'mine'`).Scan(&n); err != nil || n != 0 {
		t.Fatalf("the other database sees %d tables of mine (err %v), want 0", n, err)
	}
}

func TestCluster_KeepsWhatWasCommittedWhenItCrashes(t *testing.T) {
	c := pgtest.Start(t)
	url := c.Database(t)
	if _, err := connect(t, url).Exec(t.Context(), `CREATE TABLE kept AS SELECT 7 AS n`); err != nil {
		t.Fatal(err)
	}
	c.Stop(true)
	if _, err := pgx.Connect(t.Context(), url); err == nil {
		t.Fatal("a stopped cluster accepted a connection")
	}
	c.Restart()
	var n int
	if err := connect(t, url).QueryRow(t.Context(), `SELECT n FROM kept`).Scan(&n); err != nil || n != 7 {
		t.Fatalf("got %d, %v after the crash, want 7", n, err)
	}
}

func TestCluster_DiesWithItsTest(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		conn := connect(t, pgtest.Start(t).URL())
		var data, pid string
		if err := conn.QueryRow(t.Context(), `SHOW data_directory`).Scan(&data); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(data + "/postmaster.pid")
		if err != nil {
			t.Fatal(err)
		}
		pid, _, _ = strings.Cut(string(text), "\n")
		if err := os.WriteFile(os.Getenv(childEnv), []byte(pid+" "+data), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	pgtest.URL(t) // skips here where the child would

	note := t.TempDir() + "/note"
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childEnv+"="+note)
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v, want it killed: %s", err, out)
	}
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	pidText, data, _ := strings.Cut(string(text), " ")
	t.Cleanup(func() { _ = os.RemoveAll(strings.TrimSuffix(data, "/data")) })
	pid, err := strconv.Atoi(pidText)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); alive(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("server %d outlived the test that started it", pid)
		}
	}
}

// alive says whether pid is a process that still runs: one that ended but was
// not collected by its new parent is not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil && os.IsPermission(err)
	}
	return !strings.Contains(string(stat), ") Z ")
}

func TestURL_ABenchmarkWaitsForTheDiskAndATestDoesNot(t *testing.T) {
	syncs := func(url string) (answer string) {
		if err := connect(t, url).QueryRow(t.Context(), `SHOW fsync`).Scan(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if got := syncs(pgtest.URL(t)); got != "off" {
		t.Errorf("fsync is %s in a test", got)
	}
	var measured string
	testing.Benchmark(func(b *testing.B) {
		measured = syncs(pgtest.URL(b))
		b.SkipNow() // one answer is enough
	})
	if measured != "on" {
		t.Errorf("fsync is %q in a benchmark", measured)
	}
}

func TestTemplate_IsFilledOnceAndCopiesAreApart(t *testing.T) {
	var original pgtest.Template
	filled := 0
	copied := func() *pgx.Conn {
		return connect(t, original.URL(t, func(url string) error {
			filled++
			_, err := connect(t, url).Exec(t.Context(), `CREATE TABLE n AS SELECT 7 AS n`) // and stays connected
			return err
		}))
	}
	one, two := copied(), copied()
	if _, err := one.Exec(t.Context(), `UPDATE n SET n = 8`); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := two.QueryRow(t.Context(), `SELECT n FROM n`).Scan(&n); err != nil || n != 7 || filled != 1 {
		t.Errorf("the second copy says %d (err %v) and the original was filled %d times, want 7 and once", n, err, filled)
	}
}
