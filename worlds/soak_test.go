//go:build soak

package worlds

import "testing"

const groupsOfEach = 5

// The long form: 200 runs of each world. A world fails when the lower end of its
// interval is above 2 %; all of them together when the upper end is.
//
// It takes long. One world is run alone by its name:
//
//	go test -tags soak ./worlds -run 'TestWorlds_Soak/random_walk'
func TestWorlds_Soak(t *testing.T) {
	const runs = 200
	var pooled Share
	for _, w := range worlds(t) {
		t.Run(w.Name, func(t *testing.T) {
			s := claims(t, w.World, w.costs, runs)
			t.Logf("%s: %s", w.Name, s)
			if low, _ := s.Interval(); low > 0.02 {
				t.Errorf("%s, where 2 %% are allowed", s)
			}
			pooled.Add(s)
		})
	}
	t.Logf("all that ran here: %s", pooled)
	if _, high := pooled.Interval(); pooled.Runs >= 1000 && high > 0.02 {
		t.Errorf("all: %s, where the upper end may be 2 %%", pooled)
	}
}

// Run groups through the binary: too few to measure 2 %, enough to see a rule that
// does not hold. A case fails when it claims in that number of runs that 2 % is not
// within the interval.
func TestRunGroups_Soak(t *testing.T) {
	for _, n := range runGroups {
		t.Run(n.name, func(t *testing.T) {
			var s Share
			for i := range groupsOfEach {
				s.Runs++
				if n.claimed(t, firstGroupSeed+uint64(i)) {
					s.Claims++
				}
			}
			t.Logf("%s: %d of %d groups claim an edge", n.name, s.Claims, s.Runs)
			if low, _ := s.Interval(); low > 0.02 {
				t.Errorf("%d of %d groups, where 2 %% are allowed", s.Claims, s.Runs)
			}
		})
	}
}
