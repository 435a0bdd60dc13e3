package chaos_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// binary is the product, built once with the failpoints compiled in.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	// The tests wait for timeouts and other processes more than they compute.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built, remove, err := labtest.Build("failpoint")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	binary = built
	return pgtest.Main(m)
}

// soak says whether the long runs were asked for.
func soak() bool { return os.Getenv("KTRDR_SOAK") == "1" }

// onBoth runs a test on both stores, side by side.
func onBoth(t *testing.T, times labtest.Times, test func(t *testing.T, lab *labtest.Lab)) {
	t.Helper()
	for _, kind := range []labtest.Kind{labtest.SQLite, labtest.Postgres} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, labtest.New(t, binary, kind, times))
		})
	}
}
