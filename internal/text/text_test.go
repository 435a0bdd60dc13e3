package text_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/internal/text"
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
		{"peroid", "period", 1},
		{"kitten", "sitting", 3},
	} {
		if got := text.Edits(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d letters, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNearest_IsWhatWasMeant(t *testing.T) {
	names := []string{"status", "EURUSD", "GBPUSD", "data", "demo", "fast_period", "parameters"}
	for word, want := range map[string]string{
		"statsu": "status", "STATUS": "status", "eurudsd": "EURUSD", "gbpsud": "GBPUSD", "dat": "data", "dmeo": "demo",
		"fast": "fast_period", "period": "fast_period", "params": "parameters",
		"": "", "x": "", "frobnicate": "", "xy": "", "pa": "", strings.Repeat("a", 61): "",
	} {
		if got := text.Nearest(word, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestChoices_NameTheNearestAndAll(t *testing.T) {
	for _, c := range []struct {
		word  string
		names []string
		want  string
	}{
		{"shrpe", []string{"rank", "sharpe"}, "did you mean sharpe? there are rank, sharpe"},
		{"xyzzy", []string{"rank", "sharpe"}, "there are rank, sharpe"},
		{"xyzzy", []string{"rank"}, "there is rank"},
	} {
		if got := text.Choices(c.word, c.names); got != c.want {
			t.Errorf("Choices(%q, %q) = %q, want %q", c.word, c.names, got, c.want)
		}
	}
}

func TestCounted_HasTheRightEnding(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 2: "2 rows"} {
		if got := text.Counted(n, "row"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 entries", 1: "1 entry", 2: "2 entries"} {
		if got := text.Counted(n, "entry", "entries"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestGrouped_HasACommaBetweenThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 94594: "94,594", -123456: "-123,456", 1234567: "1,234,567"} {
		if got := text.Grouped(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestPValue_IsABoundWhenItIsVerySmall(t *testing.T) {
	for p, want := range map[float64]string{
		0.25: "p = 0.25", 0.00107: "p = 0.0011", 0.0001: "p = 0.0001", 2.85e-8: "p < 0.0001", 0: "p < 0.0001",
	} {
		if got := text.PValue(p); got != want {
			t.Errorf("PValue(%v) = %q, want %q", p, got, want)
		}
	}
}

func TestList_HasAWordBeforeTheLast(t *testing.T) {
	for want, list := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := text.List(list, "or"); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func TestCut_CutsNoCharacter(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"aé", 2, "a…"}, // é has two bytes, of which one would be left
		{"é", 1, "…"},
		{"", 0, ""},
	} {
		if got := text.Cut(c.text, c.most); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestFit_NeverWrapsAndNeverCutsAColour(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{"█", "é"}), rapid.StringN(0, 5, -1),
		)).Draw(rt, "parts")
		line := strings.ReplaceAll(strings.Join(parts, ""), "\x1b", "")
		columns := rapid.IntRange(0, 40).Draw(rt, "columns")
		got := text.Fit("\x1b[31m"+line+"\x1b[0m", columns)
		visible := strings.ReplaceAll(strings.ReplaceAll(got, "\x1b[31m", ""), "\x1b[0m", "")
		if strings.ContainsRune(visible, 0x1b) {
			rt.Fatalf("half an escape sequence in %q", got)
		}
		// A wide character that is cut may leave a column free.
		n, all := text.Width(got), text.Width(line)
		if n > columns || all <= columns && visible != line || all > columns && n < columns-1 {
			rt.Fatalf("%q takes %d of %d columns, of a line that takes %d", got, n, columns, all)
		}
		if short := strings.TrimSuffix(visible, "…"); !strings.HasPrefix(line, short) {
			rt.Fatalf("%q is not the beginning of %q", short, line)
		}
		if visible != line && columns > 0 && !strings.HasSuffix(visible, "…") {
			rt.Fatalf("%q does not say that there is more of %q", visible, line)
		}
	})
}

func TestDuration_HasNoPartsThatAreZero(t *testing.T) {
	for want, every := range map[string]time.Duration{
		"5s": 5 * time.Second, "5m": 5 * time.Minute, "1m30s": 90 * time.Second, "1h": time.Hour, "1h30m": 90 * time.Minute,
		"24h": 24 * time.Hour, "1h0m5s": time.Hour + 5*time.Second,
	} {
		if got := text.Duration(every); got != want {
			t.Errorf("%v is told as %q, want %q", every, got, want)
		}
	}
}
