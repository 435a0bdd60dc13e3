package bench_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// BenchmarkEngine prints the engine's figures on both stores, each beside the
// raw commits of the same store in the same run.
func BenchmarkEngine(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	sqliteDir := b.TempDir()
	measure(b, "SQLite", filepath.Join(sqliteDir, "bench.db"), "sqlite",
		"file:"+filepath.Join(sqliteDir, "raw.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(60000)&_txlock=immediate")
	url := pgtest.URL(b)
	measure(b, "PostgreSQL", url, "pgx", url)
}

func measure(b *testing.B, name, url, driver, raw string) {
	b.Helper()
	ctx := b.Context()
	store, err := sqlstore.Open(ctx, sqlstore.Config{URL: url, Plans: map[ktrdr.Type]ktrdr.Plan{ktrdr.Dummy: dummy.Plan()}, Conns: 40})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	blobs, err := blob.Open(ctx, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open(driver, raw)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := bench.Run(ctx, bench.Config{Name: name, Store: store, OneWriter: driver == "sqlite", Blobs: blobs, Raw: bench.Raw(db), Out: os.Stdout}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkIdleBackend prints what a backend that has nothing to do keeps in
// memory.
func BenchmarkIdleBackend(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	bin := filepath.Join(b.TempDir(), "ktrdr")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", bin, "../cmd/ktrdr").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	serve := exec.CommandContext(b.Context(), bin, "serve", "--addr", addr, "--data", filepath.Join(b.TempDir(), "data"))
	if err := serve.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = serve.Process.Kill(); _ = serve.Wait() }()
	deadline := time.Now().Add(time.Minute)
	for healthy := false; !healthy; {
		if time.Now().After(deadline) {
			b.Fatal("the backend did not become healthy")
		}
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+addr+"/api/v1/health", nil)
		if err != nil {
			b.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if healthy = err == nil && res.StatusCode == http.StatusOK; err == nil {
			_ = res.Body.Close()
		}
		<-time.After(50 * time.Millisecond)
	}
	<-time.After(3 * time.Second) // idle is what is left when the start is over
	mb := anonymous(b, serve.Process.Pid) >> 10
	fmt.Printf("idle backend                     %d MB anonymous memory   aim <= 60: met %v\n", mb, mb <= 60)
}

// anonymous returns a process's anonymous memory in kB.
func anonymous(b *testing.B, pid int) int {
	b.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "Anonymous:"); ok {
			var kb int
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				b.Fatal(err)
			}
			return kb
		}
	}
	b.Fatal("no Anonymous line in smaps_rollup")
	return 0
}
