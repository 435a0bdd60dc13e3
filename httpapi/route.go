package httpapi

import (
	"bytes"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// A row of the table: what the route is, and what answers it. serve writes the
// answer itself; a refusal is returned and answered in one place.
type row interface {
	about() *spec
	types() (in, out reflect.Type) // nil where there is no JSON
	serve(s *Server, c *call) error
}

// spec is all that the guard, the decoder and the OpenAPI document need to
// know of a route. The zero value is the strictest: admin only, no query, no
// body.
type spec struct {
	method, path string
	summary      string

	public bool          // needs no token
	scopes []ktrdr.Scope // who may call it besides admin

	query   []param
	headers []param
	limit   int64  // of the body in bytes; 0 means that there is none
	accepts string // the body's content type; empty means application/json

	status   int           // of a success; 0 means 200
	produces string        // the answer's content type; empty means the envelope
	bare     bool          // JSON, but without the envelope
	reads    bool          // changes nothing although its method could
	stream   bool          // the answer does not end
	creates  bool          // takes an Idempotency-Key
	wait     time.Duration // how long the work may take; 0 means defaultWait

	// precheck sees the body before the strict decoder does.
	precheck func(body []byte) error
}

const (
	bodyLimit   = 1 << 20
	threadLimit = 32 << 20
	stateLimit  = ktrdr.MaxState + bodyLimit // a checkpoint's state and what goes with it
	blobLimit   = 2 << 30

	defaultWait = time.Minute
)

func (sp *spec) about() *spec { return sp }

// changes says whether a call of the route may change something.
func (sp *spec) changes() bool {
	return sp.method != http.MethodGet && sp.method != http.MethodHead && !sp.reads
}

// get is a route that anybody with any reading token may call.
func get(path, summary string, query ...param) spec {
	return spec{method: http.MethodGet, path: path, summary: summary, query: query, scopes: readers}
}

// post and del are routes for admins.
func post(path, summary string, query ...param) spec {
	return spec{method: http.MethodPost, path: path, summary: summary, query: query, limit: bodyLimit}
}

func del(path, summary string, query ...param) spec {
	return spec{method: http.MethodDelete, path: path, summary: summary, query: query}
}

var (
	readers = []ktrdr.Scope{ktrdr.ScopeRead}
	workers = []ktrdr.Scope{ktrdr.ScopeWorker}
)

func (sp spec) allow(scopes ...ktrdr.Scope) spec {
	sp.scopes = slices.Concat(sp.scopes, scopes)
	return sp
}

func (sp spec) body(limit int64) spec {
	sp.limit = limit
	return sp
}

func (sp spec) answers(status int) spec {
	sp.status = status
	return sp
}

// makes marks a route that creates something: its caller may send an
// Idempotency-Key.
func (sp spec) makes(status int) spec {
	sp.creates, sp.status = true, status
	sp.headers = append(sp.headers, param{
		name: headerKey, kind: kindString, doc: "makes the request repeatable: 1 to 200 visible ASCII characters",
	})
	return sp
}

// asks marks a POST that only reads: its question is too large for a URL.
func (sp spec) asks() spec {
	sp.reads, sp.scopes = true, readers
	return sp
}

// route is a row whose input and output are JSON.
type route[In, Out any] struct {
	spec
	do func(*Server, *call, In) (Out, error)
}

// none is the input of routes without a body and the output of routes that
// have nothing to say.
type none struct{}

// on makes a row of a handler that takes and returns JSON.
func on[In, Out any](sp spec, do func(*Server, *call, In) (Out, error)) row {
	return &route[In, Out]{sp, do}
}

func (rt *route[In, Out]) types() (in, out reflect.Type) {
	return reflect.TypeFor[In](), reflect.TypeFor[Out]()
}

func (rt *route[In, Out]) serve(s *Server, c *call) error {
	defer c.forgetBody()
	var in In
	if err := c.decode(&in); err != nil {
		return err
	}
	out, err := rt.do(s, c, in)
	if err != nil {
		return err
	}
	if rt.bare {
		return c.send(c.status(), out)
	}
	return c.send(c.status(), envelope{Success: true, Data: out, Next: c.next})
}

// plain is a row that writes its own answer: streams, blobs, metrics.
type plain struct {
	spec
	do func(*Server, *call) error
}

func (p *plain) types() (in, out reflect.Type) { return nil, nil }

func (p *plain) serve(s *Server, c *call) error { return p.do(s, c) }

// call is one request on its way to its answer. It is also the
// http.ResponseWriter, so that what was written is known afterwards.
type call struct {
	*http.Request
	w http.ResponseWriter

	spec  *spec
	token ktrdr.Token // whose call it is
	query values
	body  []byte // as it came, once decode has read it
	whole bool   // all of the body was read

	buffer *bytes.Buffer // holds the body

	answer int    // the status of the answer, overriding the spec's; 0 when it does not
	next   string // the next page's cursor, shown beside the data
	sent   int    // the status that was written; 0 when nothing was
}

// Header returns the answer's headers; the question's are in Request.Header.
func (c *call) Header() http.Header { return c.w.Header() }

// WriteHeader notes the status and passes it on.
func (c *call) WriteHeader(status int) {
	if c.sent == 0 && status >= http.StatusOK {
		c.sent = status
	}
	c.w.WriteHeader(status)
}

// Write hides Request.Write, which is for clients.
func (c *call) Write(p []byte) (int, error) {
	if c.sent == 0 {
		c.sent = http.StatusOK
	}
	return c.w.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *call) Unwrap() http.ResponseWriter { return c.w }

func (c *call) status() int {
	switch {
	case c.answer != 0:
		return c.answer
	case c.spec.status != 0:
		return c.spec.status
	}
	return http.StatusOK
}

// operationID returns the path's operation. One that could never have been
// made is simply not there.
func (c *call) operationID() (ktrdr.OperationID, error) {
	id := ktrdr.OperationID(c.PathValue("id"))
	if !id.Valid() {
		return "", ktrdr.Errorf(ktrdr.CodeNotFound, "no such operation; `ktrdr ops` lists them")
	}
	return id, nil
}

// table is every route there is.
func table() []row {
	return slices.Concat(
		operationRoutes(), labRoutes(), libraryRoutes(), agentRoutes(), runRoutes(), reportRoutes(), checkpointRoutes(), threadRoutes(),
		workerRoutes(),
		blobRoutes(), fileRoutes(), eventRoutes(), tokenRoutes(), resilienceRoutes(), systemRoutes(),
	)
}

// pattern is the route in http.ServeMux's words.
func (sp *spec) pattern() string { return sp.method + " " + sp.path }

// key names the route in metrics and logs.
func (sp *spec) key() string { return strings.TrimPrefix(sp.path, "/api/v1") }
