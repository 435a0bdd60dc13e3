package designer

import (
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
)

// The written strategy has a membership of 1 for the hour of a bar, and of 0 for the others.
func TestWrite_GivesEveryHourItsFuzzySet(t *testing.T) {
	f := openFrame()
	g := f.repair(Genome{Inputs: []Gene{{Reading: "hour", Partition: Thirds}, {Reading: "weekday", Period: 24, Partition: Fifths}}})
	s, _, err := f.write(&g, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.FuzzySets) != 2 || len(s.FuzzySets[0].Members) != 24 || len(s.FuzzySets[1].Members) != 7 {
		t.Fatalf("fuzzy sets %+v, want 24 hours and 7 days", s.FuzzySets)
	}
	for h, m := range s.FuzzySets[0].Members {
		for at := range 24 {
			want := 0.0
			if at == h {
				want = 1
			}
			if got := m.Membership.At(float64(at)); got != want {
				t.Errorf("%s at %d is %v, want %v", m.Name, at, got, want)
			}
		}
	}
	if got := f.hypothesis(&g); !strings.Contains(got, "the hour, the weekday") {
		t.Errorf("hypothesis %q", got)
	}
}

func TestWrite_PutsTheClockOnACircle(t *testing.T) {
	f := openFrame()
	g := f.repair(Genome{Inputs: []Gene{{Reading: "hour", Partition: Raw}, {Reading: "session", Partition: Thirds}}})
	s, _, err := f.write(&g, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1h_hour.sin_raw", "1h_hour.cos_raw", "1h_session.asia_raw", "1h_session.london_raw", "1h_session.newyork_raw"}
	var got []string
	for _, id := range s.Features() {
		got = append(got, string(id))
	}
	if !slices.Equal(got, want) {
		t.Errorf("features %v, want %v", got, want)
	}
	back := genomeOf(s)
	if again := f.repair(*back); !again.has("hour", 0) || !again.has("session", 0) {
		t.Errorf("the strategy is read back as %v", again.Inputs)
	}
}

// Four bars a day have six fuzzy sets; a day has one hour, which says nothing.
func TestHours_AreThoseAtWhichBarsOpen(t *testing.T) {
	if n := len(hours(market.H4)); n != 6 {
		t.Errorf("%d fuzzy sets for bars of 4 hours, want 6", n)
	}
	if n := len(hours(market.M15)); n != 24 {
		t.Errorf("%d fuzzy sets for bars of 15 minutes, want 24", n)
	}
	s, err := Measure(market.Synth(market.SynthConfig{Timeframe: market.D1, Bars: 1000, Seed: 3}))
	if err != nil {
		t.Fatal(err)
	}
	f := newFrame(&Brief{Symbols: []string{"X"}, Timeframe: market.D1, Stats: s}, instrument.Costs{})
	if f.allowed(Gene{Reading: "hour"}) || !f.allowed(Gene{Reading: "weekday"}) {
		t.Error("of daily bars the weekday says something, and the hour does not")
	}
}
