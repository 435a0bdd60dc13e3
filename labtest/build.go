package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the product once for all tests of a package, with build tags if
// any are given, and says how to take it away again. It is for TestMain, where
// there is no test yet.
func Build(tags string) (bin string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "ktrdr-built-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	bin = filepath.Join(dir, "ktrdr")
	build := exec.Command("go", "build", "-tags", tags, "-o", bin, "../cmd/ktrdr") //nolint:noctx,gosec // go test's own timeout ends it
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build ktrdr: %w\n%s", err, out)
	}
	return bin, remove, nil
}
