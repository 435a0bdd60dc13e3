package text

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestWidth_CountsColumns(t *testing.T) {
	for line, want := range map[string]int{
		"": 0, "abc": 3, "naïve": 5, "nai\u0308ve": 5, "日本": 4, "🚀": 2, "⚠\ufe0f": 2, "\x1b[31mred\x1b[0m": 3, "한국": 4,
		"\u1112\u1161\u11ab": 2, "ｆｕｌｌ": 8, "x\u200by": 2, "▁▂▃⣿█░": 6,
	} {
		if got := Width(line); got != want {
			t.Errorf("Width(%q) = %d, want %d", line, got, want)
		}
	}
}

// TestFit_IsNeverTooWide measures with another library, as terminals do that join
// characters and as those that do not.
func TestFit_IsNeverTooWide(t *testing.T) {
	pieces := []string{"a", "日", "e\u0301", "🚀", "⚠\ufe0f", "👩\u200d💻", "\x1b[31m", "\x1b[0m", "ｆ", "한", "\u200b"}
	rapid.Check(t, func(rt *rapid.T) {
		line := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(rt, "line"), "")
		columns := rapid.IntRange(0, 20).Draw(rt, "columns")
		cut := Fit(line, columns)
		if a, b := ansi.StringWidth(cut), ansi.StringWidthWc(cut); a > columns || b > columns {
			rt.Errorf("Fit(%q, %d) = %q, which takes %d or %d columns", line, columns, cut, a, b)
		}
		if cut != line && columns > 0 && !strings.Contains(cut, "…") {
			rt.Errorf("Fit(%q, %d) = %q, and nothing says that it is cut", line, columns, cut)
		}
	})
}
