package designer

import "testing"

// The search that kept four islands filled 41 cells in these twelve generations; see ADR 0037.
func TestArchive_FillsMoreCellsThanIslandsDid(t *testing.T) {
	const islandsFilled = 41
	sum := 0
	for seed := range uint64(4) {
		n := cellsFilled(t, seed, 12)
		t.Logf("seed %d: %d cells", seed, n)
		sum += n
	}
	if sum <= islandsFilled {
		t.Errorf("%d cells in four runs of twelve generations; islands filled %d", sum, islandsFilled)
	}
}
