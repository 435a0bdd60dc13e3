package chaos_test

import (
	"os"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
)

// The product is built with the failpoints compiled in.
func TestMain(m *testing.M) { os.Exit(labtest.Main(m, "failpoint")) }

// soak says whether the long runs were asked for.
func soak() bool { return os.Getenv("KTRDR_SOAK") == "1" }

// onBoth runs a test on both stores, side by side.
func onBoth(t *testing.T, times labtest.Times, test func(t *testing.T, lab *labtest.Lab)) {
	t.Helper()
	for _, kind := range []labtest.StoreKind{labtest.SQLite, labtest.Postgres} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, labtest.New(t, kind, times))
		})
	}
}
