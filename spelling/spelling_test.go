package spelling_test

import (
	"testing"

	"github.com/ktrdr/ktrdr/spelling"
)

func TestEdits_CountsLetters(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"period", "period", 0},
		{"perid", "period", 1},
		{"periodd", "period", 1},
		{"pariod", "period", 1},
		{"kitten", "sitting", 3},
	} {
		if got := spelling.Edits(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d letters, want %d", c.a, c.b, got, c.want)
		}
	}
}
