package engine

import (
	"testing"
	"time"
)

func TestWatch_JudgesOnlyWhatItHasWatched(t *testing.T) {
	t.Parallel()
	const interval, timeout = 15 * time.Second, time.Minute
	begin := time.Now()
	w := watch{interval: interval, timeout: timeout, last: begin, judgeFrom: begin.Add(timeout)}

	at := func(d time.Duration) time.Time { return begin.Add(d) }
	steps := []struct {
		what  string
		at    time.Duration
		judge bool
		fails bool
	}{
		{"right after the start", 0, false, false},
		{"one interval on", 15 * time.Second, false, false},
		{"just before a full timeout", 30 * time.Second, false, false},
		{"still", 59 * time.Second, false, false},
		{"a full timeout after the start", 60 * time.Second, true, false},
		{"in the rhythm", 75 * time.Second, true, false},
		{"the store is away", 90 * time.Second, true, true},
		{"and still away", 105 * time.Second, true, true},
		{"it is back after a gap of over two intervals", 106 * time.Second, false, false},
		{"so a full timeout passes", 121 * time.Second, false, false},
		{"sweep by sweep", 136 * time.Second, false, false},
		{"without judging", 151 * time.Second, false, false},
		{"and then it judges again", 166 * time.Second, true, false},
	}
	for _, s := range steps {
		if got := w.begin(at(s.at)); got != s.judge {
			t.Errorf("%s (%v): judges = %v, want %v", s.what, s.at, got, s.judge)
		}
		if !s.fails {
			w.last = at(s.at)
		}
	}
}

func TestWatch_SweepsWhenTheNextOrphanIsDue(t *testing.T) {
	t.Parallel()
	now := time.Now()
	tests := map[string]struct {
		judgeFrom time.Time
		next      time.Duration
		want      time.Duration
	}{
		"nothing is live":                 {now, 0, 15 * time.Second},
		"the next is due within the tick": {now, 4 * time.Second, 4 * time.Second},
		"the next is due later":           {now, time.Minute, 15 * time.Second},
		"not judging yet":                 {now.Add(7 * time.Second), time.Millisecond, 7 * time.Second},
		"a row that could not be had":     {now, time.Microsecond, minPause},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch{interval: 15 * time.Second, timeout: time.Minute, last: now, judgeFrom: tt.judgeFrom}
			if got := w.pause(now, tt.next); got != tt.want {
				t.Errorf("waits %v, want %v", got, tt.want)
			}
		})
	}
}
