// Package pgtest gives tests a PostgreSQL of their own: a throwaway cluster
// made from the installed binaries, in a temporary folder, gone when the test
// binary is, however it ends.
//
// A package that uses it has
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// and its tests ask for pgtest.URL(t), a fresh database in a cluster that all
// of them share, for a copy of one that they have prepared, or for
// pgtest.Start(t), a cluster that they may crash.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Require is the environment variable that turns skips into failures.
const Require = "KTRDR_TEST_REQUIRE"

// connectTimeout bounds the little administration a test causes.
const connectTimeout = 30 * time.Second

// errMissing says that there is nothing to make a cluster from.
var errMissing = errors.New("PostgreSQL is not installed: no initdb in PATH or in the usual places")

// shared is a cluster of this test binary, made when first asked for.
type shared struct {
	syncs   bool
	once    sync.Once
	cluster *Cluster
	err     error
}

// No test takes the power away: what a killed server has written, the kernel
// keeps. So a test does not wait for the disk, and a benchmark does, because a
// user does.
var forTests, forBenchmarks = &shared{}, &shared{syncs: true}

// Main runs the tests, then removes the shared clusters, and returns the code
// to exit with.
func Main(m *testing.M) int {
	code := m.Run()
	for _, s := range []*shared{forTests, forBenchmarks} {
		if s.cluster == nil {
			continue
		}
		if err := s.cluster.remove(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			code = max(code, 1)
		}
	}
	return code
}

// URL returns the address of a fresh, empty database. The test is skipped
// where PostgreSQL is not installed, and fails there under
// KTRDR_TEST_REQUIRE=all.
func URL(t testing.TB) string {
	t.Helper()
	return clusterFor(t).Database(t)
}

func clusterFor(t testing.TB) *Cluster {
	t.Helper()
	s := forTests
	if _, measured := t.(*testing.B); measured {
		s = forBenchmarks
	}
	s.once.Do(func() { s.cluster, s.err = newCluster(s.syncs) })
	check(t, s.err)
	return s.cluster
}

// Template is a database of the shared cluster that is prepared once and then
// copied, which takes less time than preparing each. Its zero value is not
// prepared yet.
type Template struct {
	once sync.Once
	name string
	err  error
}

// URL returns the address of a fresh copy, dropped with the test. The first
// call has prepare fill the original.
func (p *Template) URL(t testing.TB, prepare func(url string) error) string {
	t.Helper()
	c := clusterFor(t)
	p.once.Do(func() { p.err = p.fill(c, prepare) })
	if p.err != nil {
		t.Fatalf("the original of a database: %v", p.err)
	}
	return c.create(t, `TEMPLATE "`+p.name+`"`+c.strategy)
}

// fill makes the original. The server copies no database with open connections, and
// the connection that filled it may not be closed yet.
func (p *Template) fill(c *Cluster, prepare func(url string) error) error {
	p.name = "template_" + rand.Text()
	if err := c.exec(`CREATE DATABASE "` + p.name + `" ` + empty + c.collation); err != nil {
		return err
	}
	if err := prepare(c.url(p.name)); err != nil {
		return err
	}
	return errors.Join(
		c.exec(`ALTER DATABASE "`+p.name+`" ALLOW_CONNECTIONS false`),
		c.exec(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '`+p.name+`'`),
	)
}

// Start returns a cluster of the test's own, as durable as any, removed with
// the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, err := newCluster(true)
	check(t, err)
	c.t = t
	t.Cleanup(func() {
		if err := c.remove(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func check(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errMissing) && os.Getenv(Require) != "all":
		fmt.Fprintf(os.Stderr, "SKIP %s: %v\n", t.Name(), err)
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// URL returns the address of the cluster's maintenance database.
func (c *Cluster) URL() string { return c.url("postgres") }

// Database makes a fresh database, dropped with the test, and returns its
// address. Text sorts there by the rules of a language, as it does for most
// users, so that an order that was meant bytewise and not said so shows.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	return c.create(t, empty+c.collation)
}

// empty is what a database without anything in it is made from.
const empty = `TEMPLATE template0 ENCODING 'UTF8'`

func (c *Cluster) create(t testing.TB, from string) string {
	t.Helper()
	name := "t_" + rand.Text()
	c.mustExec(t, `CREATE DATABASE "`+name+`" `+from)
	t.Cleanup(func() {
		if c.running() {
			c.mustExec(t, `DROP DATABASE "`+name+`" WITH (FORCE)`)
		}
	})
	return c.url(name)
}

func (c *Cluster) mustExec(t testing.TB, sql string) {
	t.Helper()
	if err := c.exec(sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// exec runs one statement in the maintenance database. It has a context of its
// own because it also runs in cleanups, where a test's context has ended.
func (c *Cluster) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}
