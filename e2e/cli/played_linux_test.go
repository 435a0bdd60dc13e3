package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// played is a server whose answers a test decides: what a terminal shows of them is
// the same in every run.
type played struct {
	t   *testing.T
	url string

	mu       sync.Mutex
	changed  chan struct{} // closed by the next change
	run      ktrdr.Run
	ops      []ktrdr.Operation
	events   []ktrdr.Event
	status   research.Status
	workers  []ktrdr.Worker
	breakers []resilience.Status
	history  []ktrdr.BreakerChange
}

func play(t *testing.T) *played {
	t.Helper()
	p := &played{t: t, changed: make(chan struct{})}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	p.url = s.URL
	return p
}

// change changes the answers, and tells the streams.
func (p *played) change(how func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how()
	close(p.changed)
	p.changed = make(chan struct{})
}

// ServeHTTP implements http.Handler.
func (p *played) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, api.Base)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[len(parts)-1] == "events" && r.Header.Get("Accept") != api.ContentJSON {
		p.stream(w, r, parts)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := any(nil)
	switch {
	case path == "/health":
		_ = json.NewEncoder(w).Encode(ktrdr.Health{Status: "ok", Version: "1.2.3", UptimeSeconds: 7200})
		return
	case path == "/agent/status":
		answer = p.status
	case path == "/workers":
		answer = p.workers
	case path == "/breakers":
		answer = p.breakers
	case path == "/breakers/history":
		answer = p.history
	case path == "/leaderboard":
		answer = report.Leaderboard{Summary: "No claim.", Thresholds: "A claim needs p below 0.05."}
	case path == "/runs":
		answer = []ktrdr.Run{p.run}
	case parts[0] == "runs":
		answer = p.run
	case path == "/operations":
		answer = p.list(ktrdr.OperationID(r.URL.Query().Get("parent")), r.URL.Query().Get("run"))
	case parts[0] == "operations" && len(parts) == 3: // its events, as a page
		if answer = []ktrdr.Event{}; r.URL.Query().Get("after") == "" {
			answer = p.events
		}
	case parts[0] == "operations":
		for _, op := range p.ops {
			if string(op.ID) == parts[1] {
				answer = op
			}
		}
	}
	if answer == nil {
		w.WriteHeader(http.StatusNotFound)
		missing := &api.Failure{Code: ktrdr.CodeNotFound, Message: "nothing is played at " + r.URL.String()}
		_ = json.NewEncoder(w).Encode(api.Envelope{Error: missing})
		return
	}
	_ = json.NewEncoder(w).Encode(api.Envelope{Success: true, Data: answer})
}

func (p *played) list(parent ktrdr.OperationID, run string) []ktrdr.Operation {
	list := []ktrdr.Operation{}
	for _, op := range p.ops {
		if op.Parent == parent && (run == "" || op.Run == run) {
			list = append(list, op)
		}
	}
	return list
}

func (p *played) stream(w http.ResponseWriter, r *http.Request, parts []string) {
	w.Header().Set("Content-Type", api.ContentEvents)
	sent := 0
	for r.Context().Err() == nil {
		p.mu.Lock()
		var text strings.Builder
		ended := false
		if parts[0] == "runs" {
			row, _ := json.Marshal(p.run)
			fmt.Fprintf(&text, "event: %s\ndata: %s\n\n", api.EventRun, row)
			ended = !p.run.EndedAt.IsZero()
		} else {
			for ; sent < len(p.events); sent++ {
				e := p.events[sent]
				data, _ := json.Marshal(e)
				fmt.Fprintf(&text, "id: %s\nevent: %s\ndata: %s\n\n", e.Cursor, e.Kind, data)
				ended = ended || len(parts) == 3 && e.Kind.Terminal()
			}
		}
		changed := p.changed
		p.mu.Unlock()
		if ended {
			fmt.Fprintf(&text, "event: %s\ndata: {}\n\n", api.EventEnd)
		}
		_, _ = w.Write([]byte(text.String()))
		_ = http.NewResponseController(w).Flush()
		if ended {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
		}
	}
}

// on starts a command on a terminal, with the played server.
func (p *played) on(columns, rows int, args ...string) *labtest.Terminal {
	p.t.Helper()
	p.change(func() {}) // the server is started: its requests see the answers that were set until here
	l := newLab(p.t, "LANG=C.UTF-8", "TZ=UTC", "KTRDR_AUTH=none")
	l.url = p.url
	return labtest.OnTerminal(p.t, l.call(args...), columns, rows)
}

var clockTime, date = regexp.MustCompile(`\d\d:\d\d:\d\d`), regexp.MustCompile(`\d{4}-\d\d-\d\d`)

// transcript is what a terminal showed at some moments.
type transcript struct {
	t    *testing.T
	text strings.Builder
}

func (x *transcript) add(title, screen string) {
	fmt.Fprintf(&x.text, "==== %s\n%s", title, date.ReplaceAllString(clockTime.ReplaceAllString(screen, "hh:mm:ss"), "yyyy-mm-dd"))
}

// compare compares it with a golden file.
func (x *transcript) compare(name string) {
	x.t.Helper()
	file := filepath.Join("testdata", name+".golden.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			x.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(x.text.String()), 0o600); err != nil {
			x.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file) //nolint:gosec // named above
	if err != nil {
		x.t.Fatal(err)
	}
	if got := x.text.String(); got != string(want) {
		x.t.Errorf("%s differs (go test ./e2e/cli -run %s -update rewrites it):\n%s\nwant\n%s", file, x.t.Name(), got, want)
	}
}

// evil are texts as an attacker writes them: they clear the screen, name the window,
// fill the clipboard, add a link, turn the direction of text, and go back in the line.
const evil = "\x1b[2J\x1b]0;pwned\x07\x1b]52;c;cHduZWQ=\x07\x1b]8;;http://pwned\x1b\\x\u202eexe.txt\u2066\u009b31m\r\npwned\tx"

// leaves waits for a program to end with a code. The terminal is then as it was
// before, and nothing of an evil text has reached it.
func leaves(t *testing.T, x *labtest.Terminal, want int) {
	t.Helper()
	if code := x.Ended(30 * time.Second); code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
	if !x.Restored() {
		t.Error("the terminal is not as it was before")
	}
	inert(t, x.Raw())
}

// inert fails if something of an evil text reached the terminal.
func inert(t *testing.T, raw string) {
	t.Helper()
	for _, part := range []string{"\x1b]0;pwned", "\x1b]52;c;", "\x1b]8;;http", "\u009b", "\tx"} {
		if strings.Contains(raw, part) {
			t.Errorf("%q reached the terminal", part)
		}
	}
	if strings.ContainsAny(raw, turns) {
		t.Error("a character that turns the direction of text reached the terminal")
	}
}

func ago(d time.Duration) time.Time { return time.Now().Add(-d) }

func progress(percent float64, step, context string) ktrdr.Progress {
	p := ktrdr.Progress{Percentage: percent, CurrentStep: step}
	if context != "" {
		p.Context = json.RawMessage(context)
	}
	return p
}

func reasonOf(text string) json.RawMessage {
	data, _ := json.Marshal(map[string]string{"reason": text})
	return data
}
