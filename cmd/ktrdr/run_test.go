package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/research"
)

// pages lists operations three at a time, the newest first.
type pages []ktrdr.Operation

func (p pages) List(_ context.Context, q ktrdr.OperationQuery) (page ktrdr.OperationPage, _ error) {
	from, _ := strconv.Atoi(q.Cursor)
	to := min(from+3, len(p))
	page.Operations = p[from:to]
	if to < len(p) {
		page.Next = strconv.Itoa(to)
	}
	return page, nil
}

func member(run string, generation, index int) ktrdr.Operation {
	return ktrdr.Operation{
		ID: ktrdr.OperationID(fmt.Sprintf("%s/%d/%d", run, generation, index)), Status: ktrdr.Completed,
		Queue: &ktrdr.QueuePlace{Run: run, Generation: generation, Index: index},
	}
}

// Between the generations of a run others have come and gone.
func TestEachOfRun_FindsGenerationsFarApart(t *testing.T) {
	all := pages{member("late", 0, 0), member("night", 1, 1), member("night", 1, 0)}
	for i := range 9 {
		all = append(all, member(fmt.Sprint("other", i), 0, 0))
	}
	all = append(all, ktrdr.Operation{ID: "dummy"}, member("night", 0, 1), member("night", 0, 0), member("early", 0, 0))
	found := map[string]int{}
	for _, run := range []string{"night", "late", "early", "none"} {
		if err := eachOfRun(t.Context(), all, run, func(*ktrdr.Operation) bool { found[run]++; return true }); err != nil {
			t.Fatal(err)
		}
	}
	if want := fmt.Sprint(map[string]int{"night": 4, "late": 1, "early": 1}); fmt.Sprint(found) != want {
		t.Errorf("found %v, want %v", found, want)
	}
}

func TestRunSoFar_IsOverWhenNothingMoreCanCome(t *testing.T) {
	until := time.Date(2026, 11, 15, 7, 0, 0, 0, time.UTC)
	lasting := func(op ktrdr.Operation, change func(*ktrdr.Operation)) ktrdr.Operation {
		op.Metadata, _ = json.Marshal(research.Listing{Until: until})
		if change != nil {
			change(&op)
		}
		return op
	}
	cancelled := func(reason string) func(*ktrdr.Operation) {
		return func(op *ktrdr.Operation) { op.Status, op.CancelReason = ktrdr.Cancelled, reason }
	}
	running := func(op *ktrdr.Operation) { op.Status = ktrdr.Running }
	for name, c := range map[string]struct {
		ops  []ktrdr.Operation
		now  time.Time
		over bool
	}{
		"a run that was created at once":          {[]ktrdr.Operation{member("r", 0, 0)}, until, true},
		"between two generations":                 {[]ktrdr.Operation{lasting(member("r", 0, 0), nil)}, until.Add(-time.Hour), false},
		"at the very time":                        {[]ktrdr.Operation{lasting(member("r", 0, 0), nil)}, until, false},
		"after its time":                          {[]ktrdr.Operation{lasting(member("r", 0, 0), nil)}, until.Add(time.Minute), true},
		"after its time, and one still runs":      {[]ktrdr.Operation{lasting(member("r", 1, 0), running), lasting(member("r", 0, 0), nil)}, until.Add(time.Minute), false},
		"cancelled as a whole":                    {[]ktrdr.Operation{lasting(member("r", 1, 0), cancelled(research.RunCancelled)), lasting(member("r", 0, 0), nil)}, until.Add(-time.Hour), true},
		"cancelled as a whole, but one had ended": {[]ktrdr.Operation{lasting(member("r", 0, 1), nil), lasting(member("r", 0, 0), cancelled(research.RunCancelled))}, until.Add(-time.Hour), true},
		"one research cancelled alone":            {[]ktrdr.Operation{lasting(member("r", 0, 0), cancelled("enough"))}, until.Add(-time.Hour), false},
	} {
		r := runSoFar{runEnded: runEnded{Outcomes: map[string]int{}}}
		for i := range c.ops {
			r.add(&c.ops[i])
		}
		if got := r.over(c.now); got != c.over {
			t.Errorf("%s: over is %v, want %v (%+v)", name, got, c.over, r)
		}
	}
}

// listener is somebody who is told of runs that ended.
func listener(t *testing.T) (url string, heard <-chan runEnded) {
	t.Helper()
	told := make(chan runEnded, 8)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e runEnded
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		told <- e
	}))
	t.Cleanup(hook.Close)
	return hook.URL, told
}

// A run that lasts is told of once, when its time is over, with all its
// generations; the backend is restarted in between.
func TestWebhook_TellsOfALastingRunWhenItsTimeIsOver(t *testing.T) {
	hook, heard := listener(t)
	l := newLab(t, "KTRDR_WEBHOOK="+hook)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000", "--seed", "7")
	p, said := l.serve("--workers", "2")
	until := time.Now().Add(12 * time.Second)
	made, err := l.client().Trigger(t.Context(), httpapi.ResearchRequest{Brief: "simple trend", Count: 1, Until: until}, "")
	if err != nil {
		t.Fatal(err)
	}
	st := decode[serverStatus](t, l.must("status", "--json")).Research
	if len(st.Lasting) != 1 || st.Lasting[0].Run != made.Run || !st.Lasting[0].Until.Equal(until) {
		t.Errorf("status tells of the lasting runs %+v, want %s until %s", st.Lasting, made.Run, until)
	}
	p.stop(syscall.SIGKILL)
	var again announcement
	l.begin(&again, "serve", "--workers", "2", "--addr", strings.TrimPrefix(said.URL, "http://"))
	select {
	case e := <-heard:
		if e.Run != made.Run || e.Researches < 2 || !time.Now().After(until) {
			t.Errorf("heard %+v at %s, want several generations, after %s", e, time.Now(), until)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody told of the end")
	}
	if st := decode[serverStatus](t, l.must("status", "--json")).Research; len(st.Lasting) != 0 {
		t.Errorf("after its time the run is still shown: %+v", st.Lasting)
	}
	if len(heard) > 0 {
		t.Errorf("told of once more: %+v", <-heard)
	}
}

func TestWebhook_TellsOfAHopelessRunBeforeItsTime(t *testing.T) {
	hook, heard := listener(t)
	l := newLab(t, "KTRDR_WEBHOOK="+hook, "KTRDR_INJECT=fail:training:DOOMED")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000", "--seed", "7")
	l.serve("--workers", "2")
	made, err := l.client().Trigger(t.Context(), httpapi.ResearchRequest{Brief: "EURUSD, DOOMED", Count: 1, Until: time.Now().Add(time.Hour)}, "")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-heard:
		if e.Run != made.Run || e.Outcomes["failed"] != e.Researches || e.Researches < 2 {
			t.Errorf("heard %+v, want two generations that failed", e)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody told of the end")
	}
	if st := decode[serverStatus](t, l.must("status", "--json")).Research; len(st.Lasting) != 0 {
		t.Errorf("a run that is over is shown as lasting: %+v", st.Lasting)
	}
}

func TestWebhook_RemembersWhoseTimeIsNotOver(t *testing.T) {
	h := webhook{dir: t.TempDir(), at: ktrdr.Cursor{Tx: 3, ID: 4}, due: map[string]time.Time{"run_b": time.Now(), "run_a": time.Now()}}
	h.save(t.Context())
	again := webhook{dir: h.dir, due: map[string]time.Time{}}
	if !again.load() || again.at != h.at || len(again.due) != 2 || !again.due["run_a"].IsZero() {
		t.Errorf("remembered %+v", again)
	}
	if empty := (&webhook{dir: t.TempDir()}); empty.load() {
		t.Errorf("without a file it remembers %+v", empty)
	}
}
