package cli

import (
	"strings"
	"testing"
)

// A backend without workers cannot compute: its level is worse than FULL, and
// both commands say so.
func TestCLI_ShowsTheDegradationLevel(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0", "--agents", "0")
	l.eventually("the level without workers", func(out string) bool {
		return strings.Contains(out, "level DEGRADED since") && strings.Contains(out, "switched off: llm_assessment") &&
			strings.Contains(out, "compute")
	}, "degradation")
	if out := l.must("status"); !strings.Contains(out, "degradation level: DEGRADED, switched off: llm_assessment") {
		t.Errorf("status does not show the level:\n%s", out)
	}
}
