package evidence

import (
	"math"
	"slices"
	"testing"
)

func TestSketch_KeepsEndsAndExtremes(t *testing.T) {
	const n = 50_000
	p := Part{Time: make([]int64, n), Returns: make([]float64, n-1), Hold: make([]float64, n-1)}
	for i := range p.Time {
		p.Time[i] = int64(60 * i)
	}
	for i := range p.Returns {
		p.Returns[i], p.Hold[i] = 1e-5*math.Sin(float64(i)/900), -1e-6
	}
	p.Returns[31_000], p.Returns[31_001] = -0.5, 1 // one bar at half
	s := p.Sketch()
	if len(s.Time) > sketchPoints || len(s.Account) != len(s.Time) || len(s.Hold) != len(s.Time) {
		t.Fatalf("%d times, %d accounts, %d of holding; want at most %d of each", len(s.Time), len(s.Account), len(s.Hold), sketchPoints)
	}
	if s.Account[0] != 1 || s.Hold[0] != 1 || s.Time[len(s.Time)-1] != p.Time[n-1] {
		t.Errorf("it goes from %v to %d, want from 1 to the last bar", s.Account[0], s.Time[len(s.Time)-1])
	}
	if low := slices.Min(s.Account); low > 0.6 {
		t.Errorf("the lowest account is %v: a fall of one bar was lost", low)
	}
	if !slices.IsSorted(s.Time) {
		t.Error("the times are not sorted")
	}
	if got, want := s.Hold[len(s.Hold)-1], math.Pow(1-1e-6, n-1); math.Abs(got-want) > 1e-4 {
		t.Errorf("holding ends at %v, want %v", got, want)
	}
	if (Part{Returns: []float64{0.1}, Hold: []float64{0.1}}).Sketch() != nil {
		t.Error("a part without times was drawn")
	}
}
