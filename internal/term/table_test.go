package term

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// TestTable_FitsTheTerminal lays out a table for terminals of every width: no line
// is wider, the names of rows stay whole as long as they can, and what is left out
// is said.
func TestTable_FitsTheTerminal(t *testing.T) {
	all := [][]string{
		{"OPERATION", "STATUS", "PROGRESS", "ATTEMPTS", "WORKER", "CREATED", "NOTE", "RESULT"},
		{
			"agent_assessment e3779b10", "COMPLETED", "100%", "1", "w_HCMKCRRRE2ZIU3FMMBMYUKJHI5", "47m2s ago", strings.Repeat("a long note ", 20),
			"no edge",
		},
		{"training 4540215f", "RUNNING", "7%", "2", "-", "2s ago", "", "claimed"},
	}
	for room := NoCutsBelow; room < 200; room++ {
		lines := LayOut(all, room)
		for _, l := range lines {
			if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n >= room {
				t.Fatalf("a line of %d characters on a terminal of %d: %q", n, room, l)
			}
		}
		text := strings.Join(lines, "")
		if room >= 80 && (!strings.Contains(text, "agent_assessment e3779b10") || !strings.Contains(text, "COMPLETED") ||
			!strings.Contains(text, "claimed\n")) {
			t.Errorf("at %d columns the name, the status or the result is cut:\n%s", room, text)
		}
		if room >= 40 && !strings.Contains(text, "w_HCMKC") && !strings.Contains(text, "lack of room: WORKER") {
			t.Errorf("at %d columns nothing says that the worker is left out:\n%s", room, text)
		}
	}
	if text := strings.Join(LayOut(all, 0), ""); !strings.Contains(text, strings.Repeat("a long note ", 19)) ||
		!strings.Contains(text, "w_HCMKCRRRE2ZIU3FMMBMYUKJHI5") {
		t.Errorf("without a terminal something is cut:\n%s", text)
	}
}

// Dates that do not fit with their minutes are whole days, and no other column is cut for them.
func TestTable_CutsNoDate(t *testing.T) {
	minute := Minute(1420416000)
	head := []string{"SYMBOL", "TIMEFRAME", "BARS", "FIRST", "LAST", "PRICES", "QUALITY", "MARKET"}
	all := [][]string{head, {"EURUSD", "1h", "20000", minute, minute, "made up", "ok", "mkt_1bdf185cccbc"}}
	for room := 76; room < 140; room++ {
		text := strings.Join(LayOut(all, room), "")
		if uncut := strings.Count(text, minute); strings.Contains(text, "2015-01-05 0…") || strings.Count(text, "2015-01-05") != 2 ||
			uncut != 2 && room > 100 || uncut != 0 && room <= 90 {
			t.Errorf("at %d columns:\n%s", room, text)
		}
	}
	all = [][]string{{"SYMBOL", "SOURCE", "LAST TURN"}, {"BTC", strings.Repeat("/folder", 20), minute}}
	if text := strings.Join(LayOut(all, 60), ""); !strings.Contains(text, minute) {
		t.Errorf("a long text is not cut first:\n%s", text)
	}
}

func TestTable_EveryRowHasItsColumns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(rt, "columns")
		cell := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "日本", "e\u0301", "🚀"}), 0, 20),
			func(parts []string) string { return strings.Join(parts, "") })
		var all [][]string
		for range rapid.IntRange(1, 5).Draw(rt, "rows") {
			all = append(all, rapid.SliceOfN(cell, n, n).Draw(rt, "row"))
		}
		room := rapid.IntRange(0, 120).Draw(rt, "room")
		for _, l := range LayOut(all, room) {
			if n := ansi.StringWidth(strings.TrimSuffix(l, "\n")); room >= NoCutsBelow && n > room {
				rt.Fatalf("%d columns on a terminal of %d: %q", n, room, l)
			}
		}
	})
}

// TestScreen_FollowsTheSizeOfTheTerminal draws more lines than there is room for,
// then again on a narrower terminal, which has wrapped what was drawn.
func TestScreen_FollowsTheSizeOfTheTerminal(t *testing.T) {
	var b bytes.Buffer
	columns, rows := 20, 4
	s := Screen{w: &b, size: func(io.Writer) (int, int) { return columns, rows }}
	s.Draw([]string{"active one", "active two", "ended", "ended", "ended"})
	if got, want := b.String(), "active one\nactive two\n… 3 more lines\n"; got != want {
		t.Errorf("drawn %q, want %q: the first lines stay", got, want)
	}
	b.Reset()
	columns, rows = 6, 24
	s.Draw([]string{"active one"})
	if got, want := b.String(), "\r\x1b[7A\x1b[Jacti…\n"; got != want {
		t.Errorf("drawn %q, want %q: three lines of 10, 10 and 14 take 2, 2 and 3 rows of 6", got, want)
	}
}

func TestTable_SaysWhatIsRefusedBeforeHashesAndSizes(t *testing.T) {
	head := strings.Split("SYMBOL TIMEFRAME BARS FIRST LAST SIZE HASH PRICES QUALITY FROM MARKET", " ")
	row := strings.Split("ACME 1d 2600 2012-01-02 2021-12-17 122.1_KB 9b5c3fa7703e imported refused file mkt_73cb360b8d80", " ")
	got := strings.Join(LayOut([][]string{head, row}, 80), "")
	if !strings.Contains(got, "refused") || !strings.Contains(got, "lack of room: HASH") {
		t.Errorf("at 80 columns:\n%s", got)
	}
}
