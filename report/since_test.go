package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/report"
)

func TestSinceText_IsWhatTheAPIReads(t *testing.T) {
	now := time.Date(2026, 11, 15, 7, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"": "", "last": "last", "12h": "12h", "7d": "168h", "22:00": "2026-11-14T22:00:00Z", "06:00": "2026-11-15T06:00:00Z",
		"2026-11-14T22:00": "2026-11-14T22:00:00Z",
	} {
		if got, err := report.SinceText(text, now); err != nil || got != want {
			t.Errorf("%q means %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestSinceText_SaysWhatIsWrongAndWhatToGive(t *testing.T) {
	now := time.Date(2026, 11, 15, 7, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"25:00": "a time such as 22:00", "tomorrow": "a duration such as 12h", "-2h": "must be more than 0",
		"2026-11-15T08:00": "lies in the future",
	} {
		_, err := report.SinceText(text, now)
		if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
