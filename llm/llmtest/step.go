package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Step is how one request is answered. The zero value says "ok".
type Step struct {
	Text  string // "" and no tools means "ok"
	Tools []ToolCall
	Stop  string // in Anthropic's words; "" means what fits
	Usage *Usage // nil means 10 tokens in, 5 out
	Quiet bool   // about usage
	Plain bool   // all at once, as servers do that cannot stream; OpenAI's format only

	Status int               // of an answer that is no success; 0 means 200
	Code   string            // its type (Anthropic) or code (OpenAI)
	Header map[string]string // of any answer
	Body   string            // sent as it is; "" means one in the format's own form

	Fault Fault
	Every time.Duration // between two drops of a Drip; 0 means 10 ms
	Size  int64         // bytes of a Flood; 0 means 100 MB

	Wait <-chan struct{} // before anything is said; nil means at once
}

// ToolCall is a tool that the answer asks for. Input is sent as it is, in
// pieces.
type ToolCall struct{ ID, Name, Input string }

// Usage is what the answer says that it cost.
type Usage struct{ Input, Output, CacheRead, CacheWrite int64 }

// Fault is what goes wrong.
type Fault string

// The faults. What is not said otherwise happens in the middle of an answer
// that began well.
const (
	Silence   Fault = "silence"   // from the beginning: not even headers
	Hang      Fault = "hang"      // nothing more comes
	Drip      Fault = "drip"      // small signs of life, for ever
	Reset     Fault = "reset"     // of the connection
	Refuse    Fault = "refuse"    // the connection is reset before a word is said
	Truncate  Fault = "truncate"  // the stream ends within an event
	Garbage   Fault = "garbage"   // an event is no JSON
	Flood     Fault = "flood"     // more and more text
	OneLine   Fault = "one_line"  // the same, without an end of line
	Complaint Fault = "complaint" // an error event, named by Code
)

// format is a wire format.
type format interface {
	events(step Step, model string) []string // of the whole answer, in order
	plain(step Step, model string) string
	text(piece string) string // an event with a piece of text
	life() string             // a sign of life
	failure(status int, code, message string) string
}

// exchange is one request being answered.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	req    *http.Request
	format format
	model  string
	step   Step
}

func (e *exchange) run() {
	if e.step.Wait != nil {
		select {
		case <-e.step.Wait:
		case <-e.req.Context().Done():
		case <-e.server.closed:
		}
	}
	for name, value := range e.step.Header {
		e.w.Header().Set(name, value)
	}
	switch {
	case e.step.Fault == Silence:
		e.stay()
	case e.step.Fault == Refuse:
		e.reset()
	case e.step.Status != 0:
		e.w.Header().Set("Content-Type", "application/json")
		e.w.WriteHeader(e.step.Status)
		e.write(or(e.step.Body, e.format.failure(e.step.Status, e.step.Code, "the script says so")))
	case e.step.Body != "":
		e.write(e.step.Body)
	case e.step.Plain:
		e.w.Header().Set("Content-Type", "application/json")
		e.write(e.format.plain(e.step, e.model))
	default:
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.stream(e.format.events(e.step, e.model))
	}
}

// stream sends the events; a fault strikes after the first half of them.
func (e *exchange) stream(events []string) {
	half := len(events) / 2
	for i, event := range events {
		if i == half && e.step.Fault != "" {
			e.fail(event)
			return
		}
		if !e.write(event) {
			return
		}
	}
}

// fail does what the fault says in the place of event.
func (e *exchange) fail(event string) {
	switch e.step.Fault {
	case Hang:
		e.stay()
	case Drip:
		e.drip()
	case Reset:
		e.reset()
	case Truncate:
		e.write(event[:len(event)/2])
	case Garbage:
		e.write("data: {\"type\": \"message_delta\", \"delta\": {]}\n\n")
	case Flood:
		e.flood(e.format.text(strings.Repeat("flood ", 1000)))
	case OneLine:
		e.flood(strings.Repeat("data: ", 1000))
	case Complaint:
		e.write("data: " + e.format.failure(0, e.step.Code, "the script says so") + "\n\n")
	}
}

func (e *exchange) write(text string) bool {
	n, err := io.WriteString(e.w, text)
	e.server.written.Add(int64(n))
	return err == nil && http.NewResponseController(e.w).Flush() == nil
}

// stay keeps the connection until the client or the test is gone.
func (e *exchange) stay() {
	select {
	case <-e.req.Context().Done():
	case <-e.server.closed:
	}
}

func (e *exchange) drip() {
	every := e.step.Every
	if every == 0 {
		every = 10 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for e.write(e.format.life()) {
		select {
		case <-tick.C:
		case <-e.req.Context().Done():
			return
		case <-e.server.closed:
			return
		}
	}
}

func (e *exchange) reset() {
	conn, _, err := http.NewResponseController(e.w).Hijack()
	if err != nil {
		panic(fmt.Sprintf("llmtest: %v", err)) // the server speaks HTTP/1.1, which can
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a close that says RST
	}
	_ = conn.Close()
}

func (e *exchange) flood(piece string) {
	size := e.step.Size
	if size == 0 {
		size = 100 << 20
	}
	for sent := int64(0); sent < size; sent += int64(len(piece)) {
		if !e.write(piece) {
			return
		}
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// text says what the step says; "ok" where it says nothing.
func (s Step) text() string {
	if s.Text == "" && len(s.Tools) == 0 {
		return "ok"
	}
	return s.Text
}

func (s Step) usage() Usage {
	if s.Usage == nil {
		return Usage{Input: 10, Output: 5}
	}
	return *s.Usage
}

// pieces cuts text in three, but for one with marks in it: a cut would spoil
// them.
func pieces(text string) []string {
	if strings.Contains(text, "[[") {
		return []string{text}
	}
	runes := []rune(text)
	a, b := len(runes)/3, 2*len(runes)/3
	return []string{string(runes[:a]), string(runes[a:b]), string(runes[b:])}
}

// What a Go string cannot hold, or JSON would hide: within a Step's text these
// are sent as the escapes of a NUL and of half a surrogate pair.
const (
	NUL  = "[[nul]]"
	Lone = "[[lone]]"
)

var escapes = strings.NewReplacer(NUL, `\u0000`, Lone, `\ud800`)

// event is one server-sent event.
func event(name string, data any) string {
	text, err := json.Marshal(data)
	if err != nil {
		panic("llmtest: " + err.Error()) // maps of strings and numbers have no such error
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	return name + "data: " + escapes.Replace(string(text)) + "\n\n"
}
