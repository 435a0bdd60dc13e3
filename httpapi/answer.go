package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/fault"
)

// refusal is an error of HTTP itself, whose status its code alone does not
// tell: a malformed body and a refused value are both CodeInvalid.
type refusal struct {
	status int
	err    *ktrdr.Error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(status int, code ktrdr.Code, format string, args ...any) error {
	return &refusal{status, ktrdr.Errorf(code, format, args...)}
}

// malformed refuses a request that cannot even be understood.
func malformed(format string, args ...any) error {
	return refuse(http.StatusBadRequest, ktrdr.CodeInvalid, format, args...)
}

// statusOf is the one place where a code becomes an HTTP status.
func statusOf(err error) int {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status
	}
	switch ktrdr.CodeOf(err) {
	case ktrdr.CodeInvalid:
		return http.StatusUnprocessableEntity
	case ktrdr.CodeNotFound, ktrdr.CodeNoCheckpoint:
		return http.StatusNotFound
	case ktrdr.CodeConflict, ktrdr.CodeStaleEpoch, ktrdr.CodeKeyReused, ktrdr.CodeMismatch, ktrdr.CodeAtCapacity, ktrdr.CodeBudget:
		return http.StatusConflict
	case ktrdr.CodeProtocol:
		return http.StatusUpgradeRequired
	case ktrdr.CodeUnauthorized:
		return http.StatusUnauthorized
	case ktrdr.CodeForbidden:
		return http.StatusForbidden
	case ktrdr.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case ktrdr.CodeUnavailable, ktrdr.CodeUnknownResult:
		return http.StatusServiceUnavailable
	case ktrdr.CodeNoSpace:
		return http.StatusInsufficientStorage
	default: // internal, corrupt, and the codes of operations, which are no answers
		return http.StatusInternalServerError
	}
}

// failureOf describes err to a client. What went wrong inside stays inside.
func failureOf(err error) *api.Failure {
	code := ktrdr.CodeOf(err)
	f := &api.Failure{
		Code: code, Message: ktrdr.CleanText(err.Error()),
		Class: code.Class(), Severity: code.Severity(), Retryable: code.Retryable(),
	}
	f.Capacity, _ = errors.AsType[*ktrdr.Capacity](err)
	_, typed := errors.AsType[*ktrdr.Error](err)
	te, transition := errors.AsType[*ktrdr.TransitionError](err)
	switch {
	case transition:
		f.Details = &api.Details{Operation: te.ID, Status: te.From, Epoch: te.Epoch, GivenEpoch: te.Given}
	case code == ktrdr.CodeInternal:
		f.Message = "something went wrong in the server; its log has the details"
	case !typed: // a deadline or a cancelled wait, in the standard library's words
		f.Message = "the server did not get to an answer in time; repeat the request"
	}
	return f
}

// fail answers with err, and ends its journey: this is where it is logged.
func (s *Server) fail(ctx context.Context, c *call, err error) {
	status := statusOf(err)
	level := slog.LevelDebug
	switch {
	case ctx.Err() != nil: // the client is gone; that explains the rest
	case status == http.StatusInternalServerError:
		level = slog.LevelError
	case status > http.StatusInternalServerError:
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "request refused", "method", c.Method, "route", c.spec.Key(), "status", status, "err", err)
	c.answerError(err)
}

func (c *call) answerError(err error) {
	status := statusOf(err)
	if c.sent != 0 { // too late for an envelope; a broken connection shows that the answer is incomplete
		panic(http.ErrAbortHandler)
	}
	c.turnAway()
	switch status {
	case http.StatusUnauthorized:
		c.Header().Set("WWW-Authenticate", `Bearer realm="ktrdr"`)
	case http.StatusServiceUnavailable:
		c.Header().Set("Retry-After", "1")
	case http.StatusUpgradeRequired:
		c.Header().Set("Upgrade", fmt.Sprintf("ktrdr-worker/%d", ktrdr.Protocol))
	}
	_ = c.send(status, api.Envelope{Error: failureOf(err)}) // fails only when the client is gone
}

// send writes v as JSON. The whole answer exists before its first byte is
// written, so that a value JSON cannot hold (NaN) becomes a proper failure.
func (c *call) send(status int, v any) error {
	buffer := buffers.Get().(*bytes.Buffer)
	defer recycle(buffer)
	if err := json.NewEncoder(buffer).Encode(v); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	body := buffer.Bytes()
	c.Header().Set("Content-Type", "application/json")
	c.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if c.spec.Changes() {
		fault.Hit(fault.Answering)
		defer fault.Hit(fault.Answered)
	}
	// A page asks several questions at once on behalf of one connection; their answers do not go to it.
	if to, ok := connOf(c.Request); ok && !c.inside && len(body) <= largestKept {
		return gone(to.inOneWrite(func() error { return c.write(status, body) }))
	}
	return gone(c.write(status, body))
}

// write writes a whole answer and does not wait with it.
func (c *call) write(status int, body []byte) error {
	c.WriteHeader(status)
	if _, err := c.Write(body); err != nil {
		return err
	}
	err := http.NewResponseController(c).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// buffers holds what bodies were read into and answers were gathered in, for
// the next.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// largestKept is the largest of them that is kept.
const largestKept = 64 << 10

func recycle(b *bytes.Buffer) {
	if b.Cap() <= largestKept {
		b.Reset()
		buffers.Put(b)
	}
}

// gone turns a failed write into CodeUnavailable: the client went away, which is
// no failure of the server.
func gone(err error) error {
	if err == nil {
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeUnavailable, "the client is gone: %w", err)
}
