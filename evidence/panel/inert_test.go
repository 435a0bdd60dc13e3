package panel

import "testing"

// A judgement without PBO looks like one whose PBO is harmless. This test goes red when PBO is skipped, or
// when it is the same for a search that is overfit and for one that is not.
func TestInertGates_PBOIsJudgedOfEverySearch(t *testing.T) {
	overfit := made(320, 0, 0, make([]float64, 20), 1)
	for k, x := range overfit.Returns { // trial k is good in the k-th part, and loses it all in the others
		for i := range x {
			x[i] -= 0.01
			if i*len(overfit.Returns)/len(x) == k {
				x[i] += 0.01 * float64(len(overfit.Returns))
			}
		}
	}
	edges := make([]float64, 20)
	edges[0] = 0.6
	for name, c := range map[string]struct {
		panel     *Panel
		low, high float64
	}{
		"overfit":     {overfit, 0.9, 1},
		"noise":       {made(320, 0, 0, make([]float64, 20), 2), 0.05, 0.95},
		"strong edge": {made(320, 0, 0, edges, 3), 0, 0.01},
	} {
		pbo := Judge(c.panel, Options{Draws: 50}).PBO
		if pbo.PBO == nil || pbo.Splits != 12_870 || pbo.Undefined != "" {
			t.Errorf("%s: PBO was skipped: %+v; want it from 12,870 splits", name, pbo)
		} else if *pbo.PBO < c.low || *pbo.PBO > c.high {
			t.Errorf("%s: PBO is %.3f, want %v to %v", name, *pbo.PBO, c.low, c.high)
		}
	}
}
