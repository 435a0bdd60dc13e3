package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
)

// onTerminal runs a command whose standard output and error are a terminal, and
// returns what reached it.
func (l *lab) onTerminal(args ...string) string {
	l.t.Helper()
	x := labtest.OnTerminal(l.t, l.call(args...), 80, 24)
	x.Ended(time.Minute)
	return x.Raw()
}

// turns are the characters that turn the direction of text.
const turns = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

func TestTerminal_NothingTurnsItsText(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	evil := "a\u202eb\u2066c\u200fd"
	file := filepath.Join(t.TempDir(), "s.yaml")
	example := l.must("strategies", "example", "regime_filter")
	if err := os.WriteFile(file, []byte("# "+evil+"\n"+example), 0o600); err != nil {
		t.Fatal(err)
	}
	l.serve("--workers", "0", "--agents", "0")
	for _, args := range [][]string{
		{evil},
		{"status", evil},
		{"status", evil, "--json"},
		{"research", evil},
		{"research", "trend", "--" + evil},
		{"data", "import", evil + ".csv"},
		{"data", "list", "--data", evil},
		{"strategies", "show", evil},
		{"strategies", "show", file, "--yaml"},
		{"backup", evil + "/x"},
		{"restore", evil},
		{"doctor", "--data", filepath.Join(t.TempDir(), evil)},
		{"follow", evil},
		{"validate", file + evil},
	} {
		for _, args := range [][]string{args, append(args, "--json")} {
			said := l.onTerminal(args...)
			if said == "" || strings.ContainsAny(said, turns) {
				t.Errorf("ktrdr %q: %q", args, said)
			}
		}
	}
}

// What is no terminal gets text that may be shown on one later: the log and the
// errors, as JSON and as text.
func TestTerminal_ErrorsAndLogsAreSafeInAFileToo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, args := range [][]string{{"status", "a\u202eb"}, {"status", "a\u202eb", "--json"}} {
		if a := l.run(args...); a.err == "" || !ktrdr.PlainText(strings.ReplaceAll(a.err, "\n", "")) {
			t.Errorf("%q: %q", args, a.err)
		}
	}
}
