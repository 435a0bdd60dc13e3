package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestBack_SaysWhatEndedRunsAndWaits(t *testing.T) {
	at := time.Date(2026, 11, 15, 18, 55, 33, 0, time.UTC)
	open := []ktrdr.Operation{
		{Type: ktrdr.AgentResearch, Status: ktrdr.Running},
		{Type: ktrdr.AgentResearch, Status: ktrdr.Running},
		{Type: ktrdr.AgentResearch, Status: ktrdr.Pending},
		{Type: ktrdr.Training, Status: ktrdr.Running},
		{Type: ktrdr.Training, Status: ktrdr.Reconciling, Deadline: at.Add(-time.Second)},
		{Type: ktrdr.Backtesting, Status: ktrdr.Reconciling, Deadline: at},
	}
	p := pagesWith(t, npm())
	say := func(b back) string {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/back", nil)
		r.Header.Set("Ktrdr-Fragment", "1")
		p.render(w, r, http.StatusOK, "", "back", b)
		return strings.TrimSpace(w.Body.String())
	}
	want := `3 researches ended meanwhile. 2 researches are running. 2 operations wait for their workers. ` +
		`Without them, work resumes from checkpoints at <time datetime="2026-11-15T18:55:33Z" data-show="clock">18:55:33 UTC</time>.`
	if got := say(backOf(3, open)); got != want {
		t.Errorf("the banner says\n%s, want\n%s", got, want)
	}
	want = "0 researches ended meanwhile. 1 research is running."
	if got := say(backOf(0, open[:1])); got != want {
		t.Errorf("the banner says\n%s, want\n%s", got, want)
	}
}
