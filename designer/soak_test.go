//go:build soak

package designer_test

import (
	"slices"
	"testing"
)

// TestDesign_OverManyMarkets is the long form of both: ten markets with the
// edge and ten without.
func TestDesign_OverManyMarkets(t *testing.T) {
	found, claimed := 0, 0
	for seed := uint64(11); seed <= 20; seed++ {
		with, without := sharpesOf(t, demoEdge, 20_000, seed, 2), sharpesOf(t, 0, 20_000, seed, 2)
		t.Logf("market %d: best %.2f, mean %.2f with the edge; best %.2f, mean %.2f without", seed, slices.Max(with), mean(with),
			slices.Max(without), mean(without))
		if slices.Max(with) >= 1.3 && mean(with) > 0.4 {
			found++
		}
		if slices.Max(without) >= 1.3 && mean(without) > 0.4 {
			claimed++
		}
	}
	if found < 8 || claimed > 1 {
		t.Errorf("the edge was found in %d markets of 10 that have it, and in %d of 10 that have not", found, claimed)
	}
}
