package page

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestStepsFigure_DrawsEachAttempt(t *testing.T) {
	at := time.Date(2026, 11, 16, 1, 0, 0, 0, time.UTC)
	info := func(epoch ktrdr.Epoch, step int64, seconds int) ktrdr.CheckpointInfo {
		return ktrdr.CheckpointInfo{Epoch: epoch, Step: step, CreatedAt: at.Add(time.Duration(seconds) * time.Second)}
	}
	drawn := string(stepsFigure([]ktrdr.CheckpointInfo{info(2, 2400, 60), info(2, 1400, 50), info(1, 1200, 20), info(1, 100, 0)}))
	for _, want := range []string{"attempt 1", "attempt 2", "Step 2,400 after 4 checkpoints and 2 attempts.", `class="z tr"`, ">60 s<"} {
		if !strings.Contains(drawn, want) {
			t.Errorf("the figure lacks %q:\n%s", want, drawn)
		}
	}
	if got := stepsFigure([]ktrdr.CheckpointInfo{info(1, 1, 0)}); got != "" {
		t.Errorf("one checkpoint is drawn: %s", got)
	}
}
