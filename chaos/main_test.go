package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr/chaos"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// binary is the product, built once with the failpoints compiled in.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ktrdr-chaos")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "ktrdr")
	build := exec.Command("go", "build", "-tags", "failpoint", "-o", binary, "../cmd/ktrdr") //nolint:noctx // the build is the test's first step; go test's own timeout ends it
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build ktrdr: %v\n%s", err, out)
		return 1
	}
	return pgtest.Main(m)
}

// soak says whether the long runs were asked for.
func soak() bool { return os.Getenv("KTRDR_SOAK") == "1" }

// onBoth runs a test on both stores, side by side.
func onBoth(t *testing.T, times chaos.Times, test func(t *testing.T, lab *chaos.Lab)) {
	t.Helper()
	for _, kind := range []chaos.Kind{chaos.SQLite, chaos.Postgres} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, chaos.New(t, binary, kind, times))
		})
	}
}
