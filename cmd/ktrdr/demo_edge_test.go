package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
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
// edge. What it says at the end must be what they found.
func claims(t *testing.T, seed uint64, flags ...string) (n int) {
	t.Helper()
	l := newLab(t)
	a := l.run(append([]string{"demo", "--exit", "--seed", fmt.Sprint(seed)}, flags...)...)
	lines := strings.Split(strings.TrimSpace(a.out), "\n")
	said := lines[len(lines)-1]
	if a.code != exitOK {
		t.Fatalf("market %d: %v", seed, a)
	}
	if n = strings.Count(a.out, string(ktrdr.Completed)); n != 8 {
		t.Errorf("market %d: %d of 8 researches completed:\n%s", seed, n, a.out)
	}
	n = 0
	for _, line := range lines { // of the table; those before tell of the way there
		if f := strings.Fields(line); len(f) > 1 && len(f[0]) == 8 && strings.HasSuffix(line, "an edge is claimed") && !strings.Contains(f[0], ":") {
			n++
		}
	}
	want := fmt.Sprintf("%d of 8 claim an edge", n)
	if n == 0 {
		want = "Nothing survived"
	}
	if !strings.HasPrefix(said, want) {
		t.Errorf("market %d: the demo ends with %q, want %q", seed, said, want)
	}
	t.Logf("market %d %v: %s", seed, flags, said)
	return n
}

func TestDemo_FindsThePlantedEdgeAndNothingWhereThereIsNone(t *testing.T) {
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
