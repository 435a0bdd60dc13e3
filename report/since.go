package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// SinceText puts the time at which a report begins, as a person writes it, into the
// words of the API: a duration, an instant in UTC, or last. A clock time is the
// latest that was, in the location of now. Durations stay as they are, because the
// server's clock counts. The error begins with the text; CodeInvalid.
func SinceText(text string, now time.Time) (string, error) {
	if text == "" || strings.EqualFold(text, "last") {
		return text, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil {
			text = strconv.Itoa(24*n) + "h"
		}
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d <= 0 {
			return "", ktrdr.Errorf(ktrdr.CodeInvalid, "%s: the duration must be more than 0; give one such as 12h or 7d", text)
		}
		return text, nil
	}
	at, ok := readTime(text, now)
	switch {
	case !ok:
		return "", ktrdr.Errorf(ktrdr.CodeInvalid,
			"%.40q: must be a duration such as 12h or 7d, a time such as 22:00 or 2026-11-14T22:00, or last", text)
	case at.After(now):
		return "", ktrdr.Errorf(ktrdr.CodeInvalid, "%s: lies in the future; give a time that has passed, or a duration such as 12h", text)
	}
	return at.UTC().Format(time.RFC3339Nano), nil
}

// readTime reads a time as a clock at the location of now shows it.
func readTime(text string, now time.Time) (time.Time, bool) {
	if t, err := time.Parse("15:04", text); err == nil {
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
		if at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()-1, t.Hour(), t.Minute(), 0, 0, now.Location())
		}
		return at, true
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
