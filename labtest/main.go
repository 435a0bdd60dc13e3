package labtest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr/internal/atomicfile"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// atOnce is how many tests of a package run at once: they wait for other
// processes more than they compute.
const atOnce = "4"

// built is the product of this test binary, made when first asked for.
var built struct {
	once sync.Once
	tags string
	dir  string
	bin  string
	err  error
}

// Main runs the tests of a package, for its TestMain, and returns the code to
// exit with. The binary is built with the given build tags. Afterwards the
// binary and the PostgreSQL server of the tests are gone.
func Main(m *testing.M, tags string) int {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built.tags = tags
	code := pgtest.Main(m)
	if err := os.RemoveAll(built.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Binary is the path of the product. The first call builds it.
func Binary(t testing.TB) string {
	t.Helper()
	built.once.Do(build)
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.bin
}

func build() {
	if built.dir, built.err = os.MkdirTemp("", "ktrdr-built-"); built.err != nil {
		return
	}
	built.bin = filepath.Join(built.dir, "ktrdr")
	fmt.Fprintln(os.Stderr, "building ktrdr for the tests")
	built.err = buildAt(built.bin)
}

// buildAt builds the product. Go links a program again unless an up-to-date one is
// where it goes, and linking takes seconds: so the packages share one in bin, one
// builds at a time, and each test binary has a link to what it got.
func buildAt(path string) error {
	bin, err := binFolder()
	if err != nil {
		return err
	}
	kept := filepath.Join(bin, "test", "ktrdr-"+built.tags)
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	var lock *os.File // nil while another test binary builds
	for lock == nil {
		if lock, err = atomicfile.Lock(kept+".lock", os.O_CREATE); err != nil {
			return err
		}
		if lock == nil {
			pace()
		}
	}
	defer func() { _ = lock.Close() }()
	if err := goBuild(kept); err != nil {
		return err
	}
	if os.Link(kept, path) == nil {
		return nil
	}
	return goBuild(path) // bin is on another file system
}

// binFolder is bin beside go.mod, above the package that is tested. Git ignores it.
func binFolder() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "bin"), nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			err = fmt.Errorf("there is no go.mod above %s", dir)
		}
		dir = above
	}
	return "", err
}

func goBuild(path string) error {
	//nolint:noctx,gosec // go test's own timeout ends it
	cmd := exec.Command("go", "build", "-tags", built.tags, "-o", path, "github.com/ktrdr/ktrdr/cmd/ktrdr")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build ktrdr: %w\n%s", err, out)
	}
	return nil
}
