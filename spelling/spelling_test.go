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

func TestNearest_IsWhatWasMeant(t *testing.T) {
	names := []string{"status", "EURUSD", "GBPUSD", "data", "demo"}
	for word, want := range map[string]string{
		"statsu": "status", "STATUS": "status", "eurudsd": "EURUSD", "gbpsud": "GBPUSD", "dat": "data", "dmeo": "demo",
		"": "", "x": "", "frobnicate": "", "xy": "",
	} {
		if got := spelling.Nearest(word, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestCounted_HasTheRightEnding(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 2: "2 rows"} {
		if got := spelling.Counted(n, "row"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestChoices_NameTheNearestAndAll(t *testing.T) {
	for word, want := range map[string]string{
		"shrpe": "did you mean sharpe? there are rank, sharpe",
		"xyzzy": "there are rank, sharpe",
	} {
		if got := spelling.Choices(word, []string{"rank", "sharpe"}); got != want {
			t.Errorf("Choices(%q) = %q, want %q", word, got, want)
		}
	}
}
