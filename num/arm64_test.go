//go:build soak

package num_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// fused are the instructions of arm64 that multiply and add with one rounding.
var fused = regexp.MustCompile(`\((\S+\.go):(\d+)\)\s+(FN?M(?:ADD|SUB)[SD])\b`)

// TestArm64FusesNothingByItself compiles the compute packages for arm64, where the
// compiler may fuse x*y + z unless the product is rounded explicitly, and looks at
// the instructions. Only what is written as math.FMA may be fused. It compiles a
// part of the standard library for arm64, which takes minutes the first time.
func TestArm64FusesNothingByItself(t *testing.T) {
	args := []string{"build", "-gcflags=-S"}
	for _, pkg := range compute {
		args = append(args, "github.com/ktrdr/ktrdr/"+pkg)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out[max(0, len(out)-2000):])
	}
	if !strings.Contains(string(out), "FMULD") {
		t.Fatal("the compiler wrote no arm64 instructions")
	}
	for _, m := range fused.FindAllStringSubmatch(string(out), -1) {
		if text := sourceLine(t, m[1], m[2]); !strings.Contains(text, "math.FMA(") {
			t.Errorf("%s:%s: %s in %q: round the product, float64(x*y)", m[1], m[2], m[3], text)
		}
	}
}

func sourceLine(t *testing.T, file, number string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.Split(string(text), "\n")[n-1])
}
