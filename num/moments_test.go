package num

import (
	"math"
	"testing"
)

func TestMoments_ByHand(t *testing.T) {
	m := Moments{Mean: 3}
	for _, x := range []float64{1, 1, 3, 7} { // deviations -2, -2, 0, 4
		m.Add(x)
	}
	if want := (Moments{N: 4, Mean: 3, M2: 24, M3: 48, M4: 288}); m != want {
		t.Errorf("sums %+v, want %+v", m, want)
	}
	if got, want := m.Deviation(), math.Sqrt(8); got != want {
		t.Errorf("deviation %v, want %v", got, want)
	}
	if got, want := m.Skew(), 12/(6*math.Sqrt(6)); got != want {
		t.Errorf("skew %v, want %v", got, want)
	}
	if got := m.Kurtosis(); got != 2 {
		t.Errorf("kurtosis %v, want 2", got)
	}
}
