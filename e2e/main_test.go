// Package e2e walks through what the product's users asked for first, step by
// step as they would: real backends and workers on both stores, bars that `ktrdr
// data synth` makes, and questions to the API and to the command line. Package
// chaos asks whether anything is lost under fire; here is asked whether the
// right thing is said and done.
//
// The scripts beside the tests do the same with a shell, curl and jq. They need
// only the binary: KTRDR=path/of/ktrdr e2e/error-isolation.sh
package e2e

import (
	"os"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
)

func TestMain(m *testing.M) { os.Exit(labtest.Main(m, "")) }

// onBoth runs a test on both stores, beside all others.
func onBoth(t *testing.T, times labtest.Times, test func(t *testing.T, l *lab)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []labtest.StoreKind{labtest.SQLite, labtest.Postgres} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, newLab(t, kind, times))
		})
	}
}
