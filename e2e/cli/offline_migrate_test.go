package cli

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore"
)

// An offline command does not migrate a database under a running backend,
// wherever that listens.
func TestOffline_DoesNotMigrateUnderABackend(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "100")
	status, err := sqlstore.Look(t.Context(), filepath.Join(l.data, "ktrdr.db"))
	if err != nil {
		t.Fatal(err)
	}
	const before = 33 // the migration after it adds columns, so that it cannot be made twice
	l.sql(fmt.Sprintf(`DELETE FROM goose_db_version WHERE version_id > %d`, before))
	unlock, err := sqlstore.LockFolder(l.data) // as an older backend does
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"data", "list"},
		{"data", "synth", "--symbol", "GBPUSD", "--bars", "100"},
		{"backup", filepath.Join(t.TempDir(), "backup")},
	} {
		want := fmt.Sprintf("from version %d to %d; stop that backend first, or use the binary of its version", before, status.Schema)
		l.refused(exitFailed, want, command...)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	// It goes ahead without a backend. The migrations were made before, so that it fails.
	l.refused(exitFailed, fmt.Sprintf("migrate the schema from version %d to %d: ", before, status.Schema), "data", "list")
}
