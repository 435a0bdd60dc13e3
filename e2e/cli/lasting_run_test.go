package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// post asks the API for what no command does, and returns the data of the answer.
func (l *lab) post(path string, status int, body any) json.RawMessage {
	l.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.send(http.MethodPost, path, status, bytes.NewReader(text))
}

// send is a request with the token of the lab. It must be answered with a status.
func (l *lab) send(method, path string, status int, body io.Reader) json.RawMessage {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, body)
	if err != nil {
		l.t.Fatal(err)
	}
	token, err := backend.ReadToken(filepath.Join(l.data, backend.TokenFile))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var reply struct {
		Data  json.RawMessage `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&reply); err != nil || res.StatusCode != status {
		l.t.Fatalf("%s: %d %s, %v", path, res.StatusCode, reply.Error, err)
	}
	return reply.Data
}

// generations maps the places of a run's researches to how they stand.
func (l *lab) generations(run string) map[string]ktrdr.Operation {
	l.t.Helper()
	all := map[string]ktrdr.Operation{}
	for _, op := range l.ops("--type", "agent_research", "--limit", "200") {
		if op.Queue.Run != run {
			continue
		}
		place := fmt.Sprintf("%d/%d", op.Queue.Generation, op.Queue.Index)
		if _, twice := all[place]; twice {
			l.t.Fatalf("there are two researches at %s", place)
		}
		all[place] = op
	}
	return all
}

func TestRun_LastsThroughAKillAndUntilItIsCancelled(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7")
	p, said := l.serve("--workers", "2")
	made := decode[research.Triggered](t,
		string(l.post("/api/v1/agent/trigger", http.StatusAccepted, research.Request{
			Strategy: "rsi_mean_reversion", Count: 2, Until: time.Now().Add(time.Hour),
		})))
	if len(made.Operations) != 2 {
		t.Fatalf("made %+v, want a generation of 2", made)
	}
	reach := func(place string) {
		t.Helper()
		labtest.Eventually(t, time.Minute, "a research at "+place, func() bool {
			_, there := l.generations(made.Run)[place]
			return there
		})
	}
	reach("1/1")
	p.End(syscall.SIGKILL)
	var again backend.Announcement
	l.begin(&again, "serve", "--workers", "2", "--addr", strings.TrimPrefix(said.URL, "http://"))
	reach("3/1")

	if out := l.must("cancel", made.Run, "--reason", "morning", "--follow"); !strings.Contains(out, "it starts nothing more") {
		t.Errorf("cancelled:\n%s", out)
	}
	run := decode[ktrdr.Run](t, l.must("cancel", made.Run, "--json")) // again changes nothing
	if run.State != ktrdr.RunCancelled || run.EndedAt.IsZero() || run.CancelReason != "morning" || run.Open != 0 {
		t.Errorf("the run is %+v, want it cancelled and ended", run)
	}
	all := l.generations(made.Run)
	cancelled := 0
	for place, op := range all {
		if !op.Status.Terminal() {
			t.Errorf("%s is %s", place, op.Status)
		}
		if op.Status == ktrdr.Cancelled {
			cancelled++
		}
		if op.StartedAt.After(run.CancelledAt) {
			t.Errorf("%s started at %s, after the run was cancelled at %s", place, op.StartedAt, run.CancelledAt)
		}
	}
	if len(all)%2 != 0 || run.Cancelled != cancelled {
		t.Errorf("%d researches, %d of them cancelled, and the run counts %d; want reply generations and one number", len(all),
			cancelled, run.Cancelled)
	}
}
