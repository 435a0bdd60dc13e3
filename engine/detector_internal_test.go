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
		if got := w.begin(at(s.at), begin, time.Time{}); got != s.judge {
			t.Errorf("%s (%v): judges = %v, want %v", s.what, s.at, got, s.judge)
		}
		if !s.fails {
			w.last = at(s.at)
		}
	}
}

func TestWatch_WaitsOneTimeoutWhileTheListenerIsFull(t *testing.T) {
	t.Parallel()
	const interval, timeout = 15 * time.Second, time.Minute
	begin := time.Now()
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	w := watch{interval: interval, timeout: timeout, last: begin, judgeFrom: begin}
	for _, s := range []struct {
		what     string
		at, full int
		judge    bool
	}{
		{"there are places", 15, -100, true},
		{"it was full long ago", 30, 10, true},
		{"it was full since the last sweep", 45, 44, false},
		{"it is full no longer, and workers must report first", 60, 44, false},
		{"full again", 90, 90, false},
		{"and still, a timeout later", 105, 105, true},
		{"a timeout of judging passes", 135, 135, true},
		{"to its end", 164, 164, true},
		{"and it may wait again", 166, 166, false},
		{"for one timeout", 196, 196, false},
		{"and no longer", 226, 226, true},
	} {
		if got := w.begin(at(s.at), begin.Add(-timeout), at(s.full)); got != s.judge {
			t.Errorf("%s (%d s): judges = %v, want %v", s.what, s.at, got, s.judge)
		}
		w.last = at(s.at)
	}
}

func TestWatch_PausesLongerWhileADueRowCannotBeHad(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := watch{interval: 15 * time.Second, timeout: time.Minute, last: now}
	var sum time.Duration
	for range 100 {
		sum += w.pause(now, time.Microsecond)
	}
	if sum < time.Minute {
		t.Errorf("100 sweeps for nothing within %v", sum)
	}
	if got := w.pause(now, time.Second); got != time.Second {
		t.Errorf("waits %v for the next, want 1s", got)
	}
	if got := w.pause(now, time.Microsecond); got != minPause {
		t.Errorf("waits %v for a row that has just become due, want %v", got, minPause)
	}
}

func TestPulse_IsSteadySinceTheLastGap(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	p := pulse{limit: 20 * time.Second}
	if got := p.steady(at(0)); !got.Equal(at(0)) {
		t.Errorf("before the first beat: steady since %v", got)
	}
	for _, s := range []int{1, 11, 21, 31} {
		p.beat(at(s))
	}
	for now, want := range map[int]int{31: 1, 51: 1, 52: 52, 90: 90} {
		if got := p.steady(at(now)); !got.Equal(at(want)) {
			t.Errorf("at %d s: steady since %v, want %d s", now, got.Sub(begin), want)
		}
	}
	p.beat(at(60)) // the gap is remembered although no sweep fell into it
	p.beat(at(70))
	if got := p.steady(at(71)); !got.Equal(at(60)) {
		t.Errorf("after a gap: steady since %v, want 60 s", got.Sub(begin))
	}
}

func TestPeak_IsNotHiddenByWhatComesAfterIt(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	var p peak
	p.add(begin, 3*time.Second)
	p.add(begin.Add(time.Second), 0)
	if got := p.of(begin.Add(2 * time.Second)); got != 3*time.Second {
		t.Errorf("at once: %v, want 3s", got)
	}
	p.add(begin.Add(61*time.Second), time.Second)
	if got := p.of(begin.Add(62 * time.Second)); got != 3*time.Second {
		t.Errorf("in the next minute: %v, want 3s", got)
	}
	if got := p.of(begin.Add(121 * time.Second)); got != time.Second {
		t.Errorf("in the minute after: %v, want 1s", got)
	}
	if got := p.of(begin.Add(time.Hour)); got != 0 {
		t.Errorf("in an hour: %v, want 0", got)
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
