package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// reader reads an event stream one event at a time.
type reader struct {
	t     *testing.T
	res   *http.Response
	lines *bufio.Scanner
}

func (st *site) open(t *testing.T, path string, options ...func(*http.Request)) *reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, st.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	as(st, ktrdr.ScopeRead)(req)
	for _, o := range options {
		o(req)
	}
	res, err := st.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != api.ContentEvents {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("%s = %d %s: %s", path, res.StatusCode, res.Header.Get("Content-Type"), body)
	}
	return &reader{t, res, bufio.NewScanner(res.Body)}
}

// streamed is one event as it came.
type streamed struct{ id, kind, data string }

func (e *streamed) read(line string) {
	name, value, _ := strings.Cut(line, ": ")
	switch name {
	case "id":
		e.id = value
	case "event":
		e.kind = value
	case "data":
		e.data = value
	}
}

// next returns the next event that carries data; false when the stream ended.
func (r *reader) next() (streamed, bool) {
	r.t.Helper()
	var e streamed
	for r.lines.Scan() {
		switch line := r.lines.Text(); {
		case line != "":
			e.read(line)
		case e.data != "":
			return e, true
		default:
			e = streamed{}
		}
	}
	return e, false
}

// kinds reads n events and returns what they were.
func (r *reader) kinds(n int) (all []string, last streamed) {
	r.t.Helper()
	for range n {
		e, ok := r.next()
		if !ok {
			r.t.Fatalf("the stream ended after %v, want %d events", all, n)
		}
		all, last = append(all, e.kind), e
	}
	return all, last
}

func event(kind ktrdr.EventKind) ktrdr.Event { return ktrdr.Event{Operation: testOp, Kind: kind} }

func known(id ktrdr.OperationID) (ktrdr.Operation, error) {
	if id != testOp {
		return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no operation %s", id)
	}
	return ktrdr.Operation{ID: id}, nil
}

const opEvents = "/api/v1/operations/" + string(testOp) + "/events"

func TestEvents_ContinueAfterTheLastOneSeen(t *testing.T) {
	st := serve(t, &fakeEngine{operation: known})
	st.engine.happen(event(ktrdr.EventCreated), ktrdr.Event{Operation: testOp + "9", Kind: ktrdr.EventCreated}, event(ktrdr.EventClaimed))

	r := st.open(t, opEvents)
	got, last := r.kinds(2)
	if !slices.Equal(got, []string{"created", "claimed"}) {
		t.Fatalf("events = %v, want this operation's two", got)
	}
	_ = r.res.Body.Close() // the connection breaks
	st.engine.happen(event(ktrdr.EventCheckpoint), event(ktrdr.EventCompleted))

	for name, r := range map[string]*reader{
		"by header": st.open(t, opEvents, header(api.HeaderEventID, last.id)),
		"by query":  st.open(t, opEvents+"?after="+last.id),
		"by both":   st.open(t, opEvents+"?after=0-0", header(api.HeaderEventID, last.id)),
	} {
		if got, _ := r.kinds(2); !slices.Equal(got, []string{"checkpoint", "completed"}) {
			t.Errorf("%s: events = %v, want exactly those not seen", name, got)
		}
	}
}

func TestEvents_LiveOnesArriveInOrder(t *testing.T) {
	st := serve(t, &fakeEngine{operation: known})
	st.engine.happen(event(ktrdr.EventCreated))
	all := st.open(t, "/api/v1/events") // from now on
	one := st.open(t, opEvents)         // from the beginning
	one.kinds(1)
	const n = 2000 // more than a page
	for i := range n {
		st.engine.happen(ktrdr.Event{Operation: testOp, Kind: ktrdr.EventCheckpoint, Epoch: ktrdr.Epoch(i + 1)})
	}
	for name, r := range map[string]*reader{"all": all, "one": one} {
		for i := range n {
			e, ok := r.next()
			if want := fmt.Sprintf(`"epoch":%d}`, i+1); !ok || !strings.Contains(e.data, want) || e.id != fmt.Sprintf("1-%d", i+2) {
				t.Fatalf("%s: event %d = %+v, want %s", name, i, e, want)
			}
		}
	}
}

func TestEvents_EndWithTheOperation(t *testing.T) {
	st := serve(t, &fakeEngine{operation: known})
	st.engine.happen(event(ktrdr.EventCreated), event(ktrdr.EventFailed), event(ktrdr.EventResumed), event(ktrdr.EventClaimed))
	r := st.open(t, opEvents+"?until_terminal=1")
	r.kinds(4) // an end that was followed by a resume does not count
	st.engine.happen(event(ktrdr.EventCompleted))
	got, _ := r.kinds(2)
	if !slices.Equal(got, []string{"completed", "end"}) {
		t.Errorf("events = %v, want completed, end", got)
	}
	if e, more := r.next(); more {
		t.Errorf("after the end came %+v", e)
	}
	// Who has seen the end already is told so, and not left waiting.
	again := st.open(t, opEvents+"?until_terminal=1&after=1-5")
	if got, last := again.kinds(1); got[0] != "end" || !strings.Contains(last.data, `"completed"`) {
		t.Errorf("events = %v %s, want the end", got, last.data)
	}
	// Who has seen only the failure gets the rest.
	rest := st.open(t, opEvents+"?until_terminal=1&after=1-2")
	if got, _ := rest.kinds(4); !slices.Equal(got, []string{"resumed", "claimed", "completed", "end"}) {
		t.Errorf("events = %v, want the rest and the end", got)
	}
}

func TestEvents_AnEndAtAPagesEndIsNotTheEnd(t *testing.T) {
	st := serve(t, &fakeEngine{operation: known})
	for range streamPage - 1 {
		st.engine.happen(event(ktrdr.EventCheckpoint))
	}
	st.engine.happen(event(ktrdr.EventFailed)) // the page's last
	st.engine.happen(event(ktrdr.EventResumed), event(ktrdr.EventCompleted))
	r := st.open(t, opEvents+"?until_terminal=1")
	if got, _ := r.kinds(streamPage + 3); !slices.Equal(got[streamPage-1:], []string{"failed", "resumed", "completed", "end"}) {
		t.Errorf("the last events = %v, want failed, resumed, completed, end", got[streamPage-1:])
	}
}

func TestEvents_RefusalsComeAsEnvelopes(t *testing.T) {
	st := serve(t, &fakeEngine{operation: known}, func(c *Config) { c.MaxStreams = 1 })
	refusedWith(t, "unknown", st.send(t, http.MethodGet, "/api/v1/operations/op_x/events", ""), "", http.StatusNotFound, ktrdr.CodeNotFound)
	for _, bad := range []string{"nonsense", "1", "-1-2", "1-2-3x"} {
		refusedWith(t, bad, st.send(t, http.MethodGet, opEvents, "", header(api.HeaderEventID, bad)), "", http.StatusBadRequest,
			ktrdr.CodeInvalid)
	}
	first := st.open(t, "/api/v1/events")
	full := st.send(t, http.MethodGet, "/api/v1/events", "")
	refusedWith(t, "one too many", full, "", http.StatusServiceUnavailable, ktrdr.CodeUnavailable)
	_ = first.res.Body.Close()
	eventually(t, "the place is free again", func() bool { return st.server.streams.Load() == 0 })
	st.open(t, "/api/v1/events")
}

func TestEvents_StreamsEndWhenTheServerStops(t *testing.T) {
	st := serve(t, &fakeEngine{operation: known}, func(c *Config) { c.Grace = time.Minute })
	r := st.open(t, opEvents)
	start := time.Now()
	st.stop()
	if e, more := r.next(); more {
		t.Errorf("event = %+v, want the end of the stream", e)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the stop waited %v for a stream", took)
	}
}

// eventually polls until what is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-deadline.C:
			t.Fatalf("it never became true that %s", what)
		case <-tick.C:
		}
	}
}
