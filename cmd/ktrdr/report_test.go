package main

import (
	"testing"
	"time"
)

func TestSinceText_ReadsTimesAsPeopleSayThem(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 15, 7, 30, 0, 0, berlin)
	for name, is := range map[string]struct{ text, want string }{
		"nothing":                {"", ""},
		"the last spell":         {"last", "last"},
		"hours":                  {"12h", "12h"},
		"days":                   {"7d", "168h"},
		"a time of last evening": {"22:00", "2026-11-14T21:00:00Z"},
		"a time of this morning": {"06:00", "2026-11-15T05:00:00Z"},
		"a local time":           {"2026-11-14T22:00", "2026-11-14T21:00:00Z"},
		"with a blank":           {"2026-11-14 22:00:30", "2026-11-14T21:00:30Z"},
		"a day":                  {"2026-11-14", "2026-11-13T23:00:00Z"},
		"with a zone":            {"2026-11-14T22:00:00+02:00", "2026-11-14T20:00:00Z"},
	} {
		if got, err := sinceText(is.text, now); err != nil || got != is.want {
			t.Errorf("%s: %q means %q (%v), want %q", name, is.text, got, err, is.want)
		}
	}
	for _, text := range []string{"tomorrow", "-2h", "0s", "2026-11-15T08:00", "25:00"} {
		if got, err := sinceText(text, now); exitCode(err) != exitUsage {
			t.Errorf("%q means %q (%v), want wrong usage", text, got, err)
		}
	}
}
