package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// A row of the table: a route, and what answers it. serve writes the answer
// itself; a refusal is returned and answered in one place.
type row interface {
	about() *api.Spec
	types() (in, out reflect.Type) // out is nil where the answer is no JSON
	serve(s *Server, c *call) error
}

// input reads the requests of a route.
type input[In any] struct {
	spec     api.Spec
	params   []api.Parameter
	body     bool // a body is needed
	precheck func(body []byte) error
}

func inputOf[In any](sp api.Spec) input[In] {
	t := reflect.TypeFor[In]()
	return input[In]{spec: sp, params: api.Params(t), body: api.HasBody(sp, t)}
}

func (i *input[In]) about() *api.Spec { return &i.spec }

// jsonRow is a row whose request and answer are JSON.
type jsonRow[In, Out any] struct {
	input[In]
	do func(*Server, *call, In) (Out, error)
}

// on makes a row of a handler that takes and returns JSON.
func on[In, Out any](rt api.Route[In, Out], do func(*Server, *call, In) (Out, error)) row {
	return &jsonRow[In, Out]{inputOf[In](rt.Spec), do}
}

func (r *jsonRow[In, Out]) types() (in, out reflect.Type) {
	return reflect.TypeFor[In](), reflect.TypeFor[Out]()
}

func (r *jsonRow[In, Out]) serve(s *Server, c *call) error {
	defer c.forgetBody()
	var in In
	if err := c.readParams(r.params, s.types, reflect.ValueOf(&in).Elem()); err != nil {
		return err
	}
	if err := c.decode(&in, r.body, r.precheck); err != nil {
		return err
	}
	if c.assistant != "" {
		if err := s.checkAssistant(c, in); err != nil {
			return err
		}
	}
	out, err := r.do(s, c, in)
	if err == nil && c.assistant != "" {
		err = s.seal(c, &out)
	}
	if err != nil {
		return err
	}
	if r.spec.Bare {
		return c.send(c.status(), out)
	}
	return c.send(c.status(), api.Envelope{Success: true, Data: listed(out), Next: c.next})
}

// listed makes an empty list [] on the wire, never null.
func listed(data any) any {
	if v := reflect.ValueOf(data); v.Kind() == reflect.Slice && v.IsNil() {
		return []any{}
	}
	return data
}

// rawRow is a row that writes its own answer: streams, blobs, metrics.
type rawRow[In any] struct {
	input[In]
	do func(*Server, *call, In) error
}

func raw[In any](rt api.Route[In, api.Raw], do func(*Server, *call, In) error) row {
	return &rawRow[In]{inputOf[In](rt.Spec), do}
}

func (r *rawRow[In]) types() (in, out reflect.Type) { return reflect.TypeFor[In](), nil }

func (r *rawRow[In]) serve(s *Server, c *call) error {
	var in In
	if err := c.readParams(r.params, s.types, reflect.ValueOf(&in).Elem()); err != nil {
		return err
	}
	return r.do(s, c, in)
}

// A part is what a row asks: the engine, a desk. The following make rows of its
// methods.
type part[P any] func(*Server) P

func toEngine(s *Server) Engine     { return s.engine }
func toDesk(s *Server) Desk         { return s.desk }
func toResearch(s *Server) Research { return s.research }

func forward[P, In, Out any](rt api.Route[In, Out], to part[P], do func(P, context.Context, In) (Out, error)) row {
	return on(rt, func(s *Server, c *call, in In) (Out, error) { return do(to(s), c.Context(), in) })
}

func ask[P, Out any](rt api.Route[api.None, Out], to part[P], do func(P, context.Context) (Out, error)) row {
	return on(rt, func(s *Server, c *call, _ api.None) (Out, error) { return do(to(s), c.Context()) })
}

func tell[P, In any](rt api.Route[In, api.None], to part[P], do func(P, context.Context, In) error) row {
	return on(rt, func(s *Server, c *call, in In) (api.None, error) { return api.None{}, do(to(s), c.Context(), in) })
}

func byID[P, Out any](rt api.Route[api.ByID, Out], to part[P], do func(P, context.Context, ktrdr.OperationID) (Out, error)) row {
	return on(rt, func(s *Server, c *call, in api.ByID) (Out, error) { return do(to(s), c.Context(), in.ID) })
}

// call is one request on its way to its answer. It is also the
// http.ResponseWriter, so that what was written is known afterwards.
type call struct {
	*http.Request
	w    http.ResponseWriter
	came time.Time // when it arrived

	spec   *api.Spec
	token  ktrdr.Token // whose call it is
	inside bool        // it comes from this process
	query  url.Values
	body   []byte // as it came, once decode has read it
	read   bool   // all of the body was read

	assistant api.Assistant // makes the call; empty: a person or a program does

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

func (c *call) status() int { return cmp.Or(c.answer, c.spec.Status, http.StatusOK) }
