package chaos_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
)

// The product is built with the failpoints compiled in. Most tests wait most of the time, for
// leases and turns, so more of them run at once than there are processors.
func TestMain(m *testing.M) {
	if !soak() {
		_ = flag.Set("test.parallel", "3") // -parallel on the command line counts more
	}
	os.Exit(labtest.Main(m, "failpoint"))
}

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

// atStep runs a test of a kill at a step on both stores where the step is one of the store's.
// At the others a worker dies, which sees no difference: there the second store is left to
// the long run.
func atStep(t *testing.T, step string, test func(t *testing.T, lab *labtest.Lab)) {
	t.Helper()
	if strings.HasPrefix(step, "tx.") || soak() {
		onBoth(t, labtest.Calm, test)
		return
	}
	test(t, labtest.New(t, labtest.SQLite, labtest.Calm))
}
