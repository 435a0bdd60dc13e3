package cli

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/research"
)

// TestCLI_SaysWhatOfAGoalIsNotUnderstood goes through the real binary: words without
// an effect are listed, a goal of such words alone is refused and creates nothing,
// --ignore-unknown starts it, and the API starts it with a warning.
func TestCLI_SaysWhatOfAGoalIsNotUnderstood(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7")
	l.serve("--workers", "0")

	l.refused(exitUsage, "nothing of the goal was understood: rich, momentom (did you mean momentum?)", "research", "make me rich by momentom")
	l.refused(exitUsage, "`ktrdr data resample EURUSD 1h 1d`", "research", "EURUSD daily")
	if ops := l.ops(); len(ops) != 0 {
		t.Fatalf("%d operations were made of refused goals", len(ops))
	}
	a := l.run("research", "trend with sprockets", "--force")
	if a.code != exitOK || !strings.Contains(a.err, "not understood: sprockets\n") ||
		!strings.Contains(a.err, "understood: Look first for trend.") {
		t.Errorf("%v, want the words without an effect", a)
	}
	a = l.run("research", "make me rich", "--ignore-unknown", "--force")
	if a.code != exitOK || !strings.Contains(a.err, "not understood: rich\n") ||
		!strings.Contains(a.err, "warning: Nothing of the goal was understood: rich.") {
		t.Errorf("%v, want a warning", a)
	}
	made, err := l.client().Trigger(t.Context(), research.Request{Brief: "make me rich", Force: true}, "")
	if err != nil || len(made.NotUnderstood) != 1 ||
		!strings.Contains(strings.Join(made.Warnings, " "), "Nothing of the goal was understood") {
		t.Errorf("%v, %+v; want a warning and the word", err, made)
	}
}
