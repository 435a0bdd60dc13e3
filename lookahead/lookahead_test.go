package lookahead

import (
	"testing"

	"github.com/ktrdr/ktrdr/strategy"
)

// Every planted error is found, and a strategy without one passes.
func TestCheck_FindsWhatIsPlanted(t *testing.T) {
	source := strategy.Examples()[0]
	parsed, _, err := strategy.Parse(source.Source, source.Name)
	if err != nil {
		t.Fatal(err)
	}
	s := Shortened(parsed)
	data, err := Synthetic(s, 1500, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, cheat := range append([]string{""}, Cheats...) {
		r, err := Check(t.Context(), s, Options{Data: data, Made: true, Seed: 1, Planted: cheat})
		if err != nil {
			t.Fatal(err)
		}
		if r.Found != (cheat != "") || len(r.Checks) != 3 {
			t.Errorf("planted %q: found %v by %+v", cheat, r.Found, r.Checks)
		}
	}
}
