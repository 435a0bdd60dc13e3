package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

const (
	gooseSQLite   = goose.DialectSQLite3
	goosePostgres = goose.DialectPostgres
)

// folders holds where the migrations of each are.
var folders = map[goose.Dialect]string{gooseSQLite: "sqlite", goosePostgres: "postgres"}

// migrate brings the schema to the newest version this binary knows and
// returns it. A newer one is not changed and is refused: an older binary cannot know
// what it means.
func migrate(ctx context.Context, db *sql.DB, d goose.Dialect, steps fs.FS, c Config) (int64, error) {
	dir, err := fs.Sub(steps, path.Join("migrations", folders[d]))
	if err != nil {
		return 0, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger())}
	if d == goosePostgres { // several backends may start at once
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // asked every second, for five minutes
		if err != nil {
			return 0, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(d, db, dir, options...)
	if err != nil {
		return 0, fmt.Errorf("migrations: %w", err)
	}
	have, want, err := provider.GetVersions(ctx)
	if err != nil {
		return 0, fmt.Errorf("schema version: %w", err)
	}
	if have > want {
		return 0, newerSchema(have, want)
	}
	if 0 < have && have < want && c.MayMigrate != nil {
		if err := c.MayMigrate(have, want); err != nil {
			return 0, err
		}
	}
	done, err := provider.Up(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrate the schema from version %d to %d: %w", have, want, err)
	}
	for _, m := range done {
		c.Log.InfoContext(ctx, "schema migrated", "version", m.Source.Version, "took", m.Duration)
	}
	return want, nil
}
