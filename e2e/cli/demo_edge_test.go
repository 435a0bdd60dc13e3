package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/internal/text"
)

// The markets on which the demo is held to its word, named before it ever ran on
// them. Nothing may be tuned to these.
var (
	marketsWithEdge    = []uint64{101, 102, 103, 104, 105, 106, 107, 108, 109, 110}
	marketsWithoutEdge = []uint64{
		201, 202, 203, 204, 205, 206, 207, 208, 209, 210,
		211, 212, 213, 214, 215, 216, 217, 218, 219, 220,
	}
)

// claims runs the demo on a market: how many of its eight researches claim an
// edge. Only the best finalist looks, so that one may. The last line of the result
// must be what its table says.
func claims(t *testing.T, seed uint64, flags ...string) (n int) {
	t.Helper()
	l := newLab(t)
	a := l.run(append([]string{"demo", "--exit", "--seed", fmt.Sprint(seed)}, flags...)...)
	lines := strings.Split(strings.TrimSpace(a.out), "\n")
	said := ""
	for _, line := range lines {
		if strings.Contains(line, " created, ") {
			said = line
		}
	}
	if a.code != exitOK {
		t.Fatalf("market %d: %v", seed, a)
	}
	for _, line := range lines {
		if f := strings.Fields(strings.TrimSuffix(line, " *")); len(f) > 10 && len(f[0]) == 8 && f[len(f)-1] == "claimed" {
			n++
		}
	}
	if want := fmt.Sprintf("%s.", text.Counted(n, "claim")); n > 1 || !strings.Contains(said, "8 created") || !strings.HasSuffix(said, want) {
		t.Errorf("market %d: the result ends with %q, want 8 researches and %q", seed, said, want)
	}
	t.Logf("market %d %v: %s", seed, flags, said)
	return n
}

func TestDemo_FindsThePlantedEdgeAndNothingWithoutOne(t *testing.T) {
	t.Parallel()
	for _, seed := range marketsWithEdge[:2] {
		if claims(t, seed) == 0 {
			t.Errorf("the edge of market %d was not found", seed)
		}
	}
	for _, seed := range marketsWithoutEdge[:2] {
		if n := claims(t, seed, "--edge", "0"); n > 0 {
			t.Errorf("%d researches claim an edge in market %d, which has none", n, seed)
		}
	}
	l := newLab(t)
	for _, bad := range []string{"-0.1", "1.1", "NaN"} {
		l.refused(exitUsage, "--edge must be 0 to 1", "demo", "--edge", bad)
	}
}
