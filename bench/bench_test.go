package bench_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestMain(m *testing.M) { os.Exit(labtest.Main(m, "")) }

// BenchmarkEngine prints the engine's figures on both stores, each beside the
// raw commits of the same store in the same run.
func BenchmarkEngine(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	onBoth(b, measure)
}

// onBoth measures on SQLite and then on PostgreSQL, each with a second database
// beside it for what the store itself can do at best, at the same durability.
func onBoth(b *testing.B, measure func(b *testing.B, name, url, driver, raw string)) {
	b.Helper()
	dir := b.TempDir()
	measure(b, "SQLite", filepath.Join(dir, "bench.db"), "sqlite",
		"file:"+filepath.Join(dir, "raw.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(60000)&_txlock=immediate")
	url := pgtest.URL(b)
	measure(b, "PostgreSQL", url, "pgx", url)
}

func measure(b *testing.B, name, url, driver, raw string) {
	b.Helper()
	ctx := b.Context()
	store, err := sqlstore.Open(ctx, sqlstore.Config{URL: url, Types: dummy.Types(), Conns: 40})
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
	if err := bench.Run(ctx, bench.Config{
		Name: name, Store: store, OneWriter: driver == "sqlite", Blobs: blobs, Raw: bench.Raw(db),
		Out: os.Stdout,
	}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkIdleBackend prints what a backend that has nothing to do keeps in
// memory.
func BenchmarkIdleBackend(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	in := install(b)
	defer in.stop()
	in.serve()
	<-time.After(3 * time.Second) // idle is what is left when the start is over
	mb := in.memory() >> 10
	fmt.Printf("idle backend                     %d MB anonymous memory%s\n", mb, bench.Aim(mb <= 60, "<= 60"))
}
