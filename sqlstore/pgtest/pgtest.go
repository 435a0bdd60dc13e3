// Package pgtest gives tests a PostgreSQL of their own: a throwaway cluster
// made from the installed binaries, in a temporary folder, gone when the test
// binary is, however it ends.
//
// A package that uses it has
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// and its tests ask for pgtest.URL(t), a fresh database in a cluster that all
// of them share, or pgtest.Start(t), a cluster that they may crash.
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

// shared is the cluster of this test binary, made when first asked for.
var shared struct {
	once    sync.Once
	cluster *Cluster
	err     error
}

// Main runs the tests, then removes the shared cluster, and returns the code
// to exit with.
func Main(m *testing.M) int {
	code := m.Run()
	if c := shared.cluster; c != nil {
		if err := c.remove(); err != nil {
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
	shared.once.Do(func() { shared.cluster, shared.err = newCluster() })
	check(t, shared.err)
	return shared.cluster.Database(t)
}

// Start returns a cluster of the test's own, removed with the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, err := newCluster()
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
	name := "t_" + rand.Text()
	c.mustExec(t, `CREATE DATABASE "`+name+`" TEMPLATE template0 ENCODING 'UTF8'`+c.collation)
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
