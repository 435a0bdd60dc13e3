package httpapi

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// openapiPath is named in refusals.
var openapiPath = api.OpenAPI.Path

// decode reads the body into the struct that v points to. One that is there is
// always checked.
func (c *call) decode(v any, needed bool, precheck func(body []byte) error) (err error) {
	c.body, err = c.readBody()
	switch {
	case err != nil:
		return err
	case len(c.body) == 0 && needed:
		return malformed("the body is empty; send a JSON object as %s describes it", openapiPath)
	case len(c.body) == 0:
		return nil
	}
	if precheck != nil {
		if err := precheck(c.body); err != nil {
			return err
		}
	}
	if err := readJSON(c.body, v); err != nil {
		return err
	}
	return checkFields(c.body, reflect.ValueOf(v).Elem())
}

// checkFields refuses a missing operation_id, and a 0 in the fields tagged
// `zero:"refused"`: if it is absent, such a field has a default, and a 0 would
// silently become that.
func checkFields(body []byte, v reflect.Value) error {
	var given map[string]json.RawMessage
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type == reflect.TypeFor[ktrdr.OperationID]() && name == "operation_id" && v.Field(i).IsZero() {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "operation_id is missing")
		}
		if f.Tag.Get("zero") != "refused" {
			continue
		}
		if given == nil {
			if err := json.Unmarshal(body, &given); err != nil {
				return malformed("%w", err)
			}
		}
		var x float64
		if text, ok := given[name]; ok && json.Unmarshal(text, &x) == nil && x == 0 && string(text) != "null" {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "%s is 0; it must be above 0: leave it out for the default", name)
		}
	}
	return nil
}

// readBody returns the body, having checked its type and its size. The content
// type matters only where there is content: `curl -X POST` sends neither.
func (c *call) readBody() ([]byte, error) {
	if c.Request.ContentLength == 0 {
		return nil, nil
	}
	r, err := c.openBody()
	if err != nil || r == nil {
		return nil, err
	}
	c.buffer = buffers.Get().(*bytes.Buffer)
	if err := readAll(c.buffer, r, c.Request.ContentLength); err != nil {
		return nil, c.readError(err)
	}
	c.bodyRead()
	return c.buffer.Bytes(), nil
}

// forgetBody lets another request have the memory of this one's body: decode
// has left nothing that is a part of it.
func (c *call) forgetBody() {
	if c.buffer != nil {
		recycle(c.buffer)
		c.buffer, c.body = nil, nil
	}
}

// readAll reads a body of n bytes, or when n is negative of any length. What is
// announced is not believed before it comes: memory is taken for a part of it
// at a time.
func readAll(into *bytes.Buffer, r io.Reader, n int64) error {
	into.Grow(int(min(max(n, 0), believed)) + bytes.MinRead)
	_, err := into.ReadFrom(r)
	return err
}

// believed is how much memory one announced length may take at once.
const believed = 32 << 10

// openBody returns the checked and limited body, or nil when there is no body.
func (c *call) openBody() (io.Reader, error) {
	c.bodyDeadline()
	if n := c.Request.ContentLength; n > c.spec.Limit {
		return nil, c.tooLarge()
	}
	var limited io.Reader = http.MaxBytesReader(c, c.Request.Body, c.spec.Limit)
	if c.Request.ContentLength <= 0 { // whether there is a body shows only when it is read
		peeked := bufio.NewReader(limited)
		if _, err := peeked.Peek(1); err != nil {
			if errors.Is(err, io.EOF) {
				c.bodyRead()
				return nil, nil
			}
			return nil, c.readError(err)
		}
		limited = peeked
	}
	want := cmp.Or(c.spec.Accepts, api.ContentJSON)
	given, params, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if err != nil || given != want || len(c.Request.Header.Values("Content-Type")) != 1 || !utf8Charset(params) {
		return nil, refuse(http.StatusUnsupportedMediaType, ktrdr.CodeInvalid, "send the body with the header Content-Type: %s", want)
	}
	if c.Request.Header.Get("Content-Encoding") != "" {
		return nil, refuse(http.StatusUnsupportedMediaType, ktrdr.CodeInvalid, "send the body without a Content-Encoding")
	}
	return limited, nil
}

func utf8Charset(params map[string]string) bool {
	charset, given := params["charset"]
	return !given || charset == "utf-8" || charset == "UTF-8"
}

func (c *call) tooLarge() error {
	if c.spec.Limit == 0 {
		return ktrdr.Errorf(ktrdr.CodeTooLarge, "this route takes no body")
	}
	return ktrdr.Errorf(ktrdr.CodeTooLarge, "the body is over this route's limit of %d bytes: send less", c.spec.Limit)
}

func (c *call) readError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return c.tooLarge()
	}
	return refuse(http.StatusBadRequest, ktrdr.CodeInvalid, "the body did not arrive completely: %w", err)
}

// bodyGrace is how long the slowest body may take to begin.
const bodyGrace = 30 * time.Second

// bodyDeadline gives the body so long to arrive. Connections that cannot have
// deadlines (in tests) go without.
func (c *call) bodyDeadline() {
	if c.spec.Limit == 0 {
		c.unwantedDeadline()
		return
	}
	n := c.Request.ContentLength
	if n < 0 || n > c.spec.Limit {
		n = c.spec.Limit
	}
	_ = http.NewResponseController(c).SetReadDeadline(time.Now().Add(bodyGrace + api.TransferTime(n)))
}

// unwantedTime is how long the rest of a refused body may take.
const unwantedTime = 5 * time.Second

// unwantedDeadline bounds how long net/http waits, after a request was
// answered, for what is still to come of its body.
func (c *call) unwantedDeadline() {
	_ = http.NewResponseController(c).SetReadDeadline(time.Now().Add(unwantedTime))
}

// turnAway lets a request be answered before its body has arrived: net/http
// would read it first, for as long as its sender likes. The connection cannot
// be used again.
func (c *call) turnAway() {
	if c.ContentLength == 0 || c.read {
		return
	}
	c.unwantedDeadline()
	if c.ProtoMajor == 1 { // in HTTP/2 a stream ends alone
		c.Header().Set("Connection", "close")
	}
}

// bodyRead notes that the body has come whole, and lifts the deadline: it would
// end the request's context while the handler still works.
func (c *call) bodyRead() {
	c.read = true
	_ = http.NewResponseController(c).SetReadDeadline(time.Time{})
}

const maxKey = 200

// idempotencyKey returns the request's key, which counts only for this route,
// this path and this token: no client gets the answer of another.
func (c *call) idempotencyKey() (ktrdr.IdempotencyKey, error) {
	given := c.Request.Header.Values(api.HeaderKey)
	if len(given) == 0 {
		return ktrdr.IdempotencyKey{}, nil
	}
	if len(given) > 1 || len(given[0]) == 0 || len(given[0]) > maxKey {
		return ktrdr.IdempotencyKey{}, malformed("%s is given once and has 1 to %d visible ASCII characters", api.HeaderKey, maxKey)
	}
	for _, b := range []byte(given[0]) {
		if b <= ' ' || b > '~' {
			return ktrdr.IdempotencyKey{}, malformed("%s has only visible ASCII characters", api.HeaderKey)
		}
	}
	return ktrdr.IdempotencyKey{
		Key:  c.token.ID + " " + c.Method + " " + c.URL.Path + " " + given[0],
		Body: sha256.Sum256(c.body),
	}, nil
}
