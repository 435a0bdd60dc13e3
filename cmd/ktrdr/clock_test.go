package main

import (
	"testing"
	"time"
)

func TestClock_IsTheNextTimeOfDayHere(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("this machine has no time zones")
	}
	for name, tc := range map[string]struct{ now, text, want string }{
		"later today":               {"2026-03-02T05:00:00+01:00", "07:00", "2026-03-02T07:00:00+01:00"},
		"tomorrow":                  {"2026-03-02T22:30:00+01:00", "07:00", "2026-03-03T07:00:00+01:00"},
		"now is tomorrow":           {"2026-03-02T07:00:00+01:00", "07:00", "2026-03-03T07:00:00+01:00"},
		"a night that is shortened": {"2026-03-28T22:00:00+01:00", "07:00", "2026-03-29T07:00:00+02:00"},
		"the end of a month":        {"2026-10-31T23:00:00+01:00", "6:30", "2026-11-01T06:30:00+01:00"},
	} {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, tc.now)
			if err != nil {
				t.Fatal(err)
			}
			got, err := clock(tc.text, now.In(berlin))
			if err != nil || got.Format(time.RFC3339) != tc.want {
				t.Errorf("%v %v, want %s", got, err, tc.want)
			}
		})
	}
	for _, bad := range []string{"", "7", "25:00", "07:00:00", "noon"} {
		if _, err := clock(bad, time.Now()); err == nil {
			t.Errorf("%q is taken for a time", bad)
		}
	}
}
