package cli

import (
	"strings"
	"testing"
)

// An operation that failed, was resumed and failed again is followed to its last end.
func TestFollow_TellsTheStoryToTheLastEnd(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "1")
	id := l.start("--steps", "20", "--step-ms", "1", "--checkpoint-every", "5", "--fail-at", "19")
	l.refused(exitFailed, "FAILED", "follow", id)
	l.must("resume", id)
	l.refused(exitFailed, "FAILED", "follow", id)

	out := l.run("follow", id).out
	_, rest, failed := strings.Cut(out, "failed: ")
	_, rest, resumed := strings.Cut(rest, "resumed")
	if !failed || !resumed || !strings.Contains(rest, "failed: ") {
		t.Errorf("the story is not failed, resumed, failed:\n%s", out)
	}
}
