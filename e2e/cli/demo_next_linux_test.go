package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/labtest"
)

// The demo opens with the link to the page and ends with the commands for own prices, in
// a pipe and on a terminal.
func TestDemo_OpensWithThePageAndEndsWithOwnPrices(t *testing.T) {
	t.Parallel()
	l := newLab(t, "LANG=C.UTF-8")
	l.env = labtest.WithEnv(l.env, "KTRDR_DATA=")
	check := func(said string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(said, "\r", "")), "\n")
		if !strings.Contains(lines[0], "the page, live: http://127.0.0.1:") {
			t.Errorf("the first line is %q", lines[0])
		}
		end := strings.Join(lines[max(0, len(lines)-5):], "\n")
		for _, part := range []string{
			"next, on your own prices:", "ktrdr serve", "ktrdr data import", "ktrdr research", "ktrdr help getting-started",
		} {
			if !strings.Contains(end, part) {
				t.Errorf("no %q at the end:\n%s", part, end)
			}
		}
	}
	check(l.must("demo", "--researches", "1"))
	x := labtest.OnTerminal(t, l.call("demo", "--researches", "1"), 100, 40)
	x.Shows("stays up at", "ktrdr help getting-started")
	check(strings.Join(x.History(), "\n"))
	x.Type(labtest.CtrlC)
	if code := x.Ended(time.Minute); code != 0 || !x.Restored() {
		t.Errorf("exit code %d; the terminal is as it was before: %v", code, x.Restored())
	}
}
