//go:build soak

package cli

import "testing"

// TestDemo_OverManyMarkets is the long form: ten markets with the edge, in which
// it has to be found at least eight times, and twenty without, in which luck may
// be taken for one once.
func TestDemo_OverManyMarkets(t *testing.T) {
	t.Parallel()
	found, fooled := 0, 0
	for _, seed := range marketsWithEdge {
		if claims(t, seed) > 0 {
			found++
		}
	}
	for _, seed := range marketsWithoutEdge {
		if claims(t, seed, "--edge", "0") > 0 {
			fooled++
		}
	}
	t.Logf("the edge was found in %d markets of %d that have it, and claimed in %d of %d that have not",
		found, len(marketsWithEdge), fooled, len(marketsWithoutEdge))
	if found < 8 || fooled > 1 {
		t.Errorf("found in %d of %d, want 8 at least; claimed in %d of %d without, want 1 at most",
			found, len(marketsWithEdge), fooled, len(marketsWithoutEdge))
	}
}
