package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/research"
)

// listener is a webhook for runs that ended.
func listener(t *testing.T) (url string, heard <-chan backend.RunEnded) {
	t.Helper()
	told := make(chan backend.RunEnded, 8)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e backend.RunEnded
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		told <- e
	}))
	t.Cleanup(hook.Close)
	return hook.URL, told
}

// A run that lasts is reported once, when its time is over, with all its
// generations; the backend is restarted in between.
func TestWebhook_ReportsALastingRunWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	hook, heard := listener(t)
	l := newLab(t, "KTRDR_WEBHOOK="+hook)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000", "--seed", "7")
	p, said := l.serve("--workers", "2")
	until := time.Now().Add(12 * time.Second)
	made, err := l.client().Trigger(t.Context(), research.Request{Brief: "simple trend", Count: 1, Until: until}, "")
	if err != nil {
		t.Fatal(err)
	}
	st := decode[serverStatus](t, l.must("status", "--json")).Research
	if len(st.Lasting) != 1 || st.Lasting[0].Run != made.Run || st.Lasting[0].Until.Sub(until).Abs() > time.Microsecond {
		t.Errorf("status names the lasting runs %+v, want %s until %s", st.Lasting, made.Run, until)
	}
	p.End(syscall.SIGKILL)
	var again backend.Announcement
	l.begin(&again, "serve", "--workers", "2", "--addr", strings.TrimPrefix(said.URL, "http://"))
	select {
	case e := <-heard:
		if e.ID != made.Run || e.Run != made.Run || e.State != ktrdr.RunCompleted || e.Researches < 2 || !time.Now().After(until) {
			t.Errorf("heard %+v at %s, want several generations, after %s", e, time.Now(), until)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("no webhook call reported the end")
	}
	if st := decode[serverStatus](t, l.must("status", "--json")).Research; len(st.Lasting) != 0 {
		t.Errorf("after its time the run is still shown: %+v", st.Lasting)
	}
	if len(heard) > 0 {
		t.Errorf("reported once more: %+v", <-heard)
	}
}

func TestWebhook_ReportsARunThatWasGivenUp(t *testing.T) {
	t.Parallel()
	hook, heard := listener(t)
	l := newLab(t, "KTRDR_WEBHOOK="+hook, "KTRDR_INJECT=fail:training:doomed")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000", "--seed", "7")
	l.serve("--workers", "2")
	made, err := l.client().Trigger(t.Context(), research.Request{Brief: "EURUSD 1h doomed", Count: 1, Until: time.Now().Add(time.Hour)}, "")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-heard:
		if e.Run != made.Run || e.State != ktrdr.RunGivenUp || e.Reason == "" || e.Outcomes["failed"] != e.Researches || e.Researches < 2 {
			t.Errorf("heard %+v, want two generations that failed", e)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("no webhook call reported the end")
	}
	if st := decode[serverStatus](t, l.must("status", "--json")).Research; len(st.Lasting) != 0 {
		t.Errorf("a run that is over is shown as lasting: %+v", st.Lasting)
	}
}
