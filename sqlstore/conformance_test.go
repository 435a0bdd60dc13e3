package sqlstore_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/storetest"
)

func TestConformance_SQLite(t *testing.T) { storetest.Run(t, openSQLite) }

func TestConformance_PostgreSQL(t *testing.T) {
	storetest.Run(t, openPostgres(t), storetest.SeveralBackends)
}

func TestMatrix_SQLite(t *testing.T) { storetest.Matrix(t, openSQLite) }

func TestMatrix_PostgreSQL(t *testing.T) { storetest.Matrix(t, openPostgres(t)) }

func TestDifferential_SQLiteAndPostgreSQL(t *testing.T) {
	storetest.Differential(t, openSQLite, openPostgres(t))
}

func openSQLite(t *testing.T, types ktrdr.Types) ktrdr.Store {
	t.Helper()
	return openStore(t, sqlstore.InstalledSQLite(t), types)
}

// openPostgres gives each case an empty database. Making one takes longer than
// most cases, so they are emptied and used again. Each keeps the connection that
// empties it: a new one reads the catalog of all tables first.
func openPostgres(all *testing.T) func(*testing.T, ktrdr.Types) ktrdr.Store {
	var mu sync.Mutex
	var free []*pgx.Conn
	return func(t *testing.T, types ktrdr.Types) ktrdr.Store {
		t.Helper()
		mu.Lock()
		if len(free) == 0 {
			free = append(free, connect(all, sqlstore.InstalledPostgres(all)))
		}
		conn := free[len(free)-1]
		free = free[:len(free)-1]
		mu.Unlock()
		t.Cleanup(func() {
			empty(t, conn)
			mu.Lock()
			defer mu.Unlock()
			free = append(free, conn)
		})
		return openStore(t, conn.Config().ConnString(), types)
	}
}

func openStore(t *testing.T, url string, types ktrdr.Types) ktrdr.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: url, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// empty removes every row but those that say which schema it is, and lets
// counters begin again at 1. There are few rows, and TRUNCATE would make new files for
// all tables and indexes.
func empty(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it runs in a cleanup, where the test's own has ended
	if _, err := conn.Exec(ctx, `DO $$
		DECLARE name text;
		BEGIN
			SET LOCAL session_replication_role = replica; -- neither triggers nor foreign keys
			FOR name IN SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version' LOOP
				EXECUTE 'DELETE FROM ' || name;
			END LOOP;
			PERFORM setval(quote_ident(sequencename)::regclass, start_value, false) FROM pg_sequences
				WHERE schemaname = 'public' AND last_value IS NOT NULL AND sequencename NOT LIKE 'goose%';
		END $$`); err != nil {
		t.Fatal(err)
	}
}
