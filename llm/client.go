package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// ClientConfig says how a server is reached.
type ClientConfig struct {
	Name    string       // of the provider, in prices, breakers and the journal; "" means that of the format
	BaseURL string       // "" means the maker's own server
	Key     ktrdr.Secret // "" for a server that asks for none
	HTTP    *http.Client // nil means one of its own; redirects are not followed in either case

	HeaderTimeout time.Duration // until the answer begins; 0 means 2 min, since some servers answer all at once
	IdleTimeout   time.Duration // between two pieces of an answer; 0 means 60 s
	Total         time.Duration // of a call, however steadily it drips; 0 means 10 min
	MaxBody       int64         // bytes of an answer on the wire; 0 means 4 MB
}

// client makes one exchange with a server: a request as JSON, an answer that is
// read as it comes. A server that says nothing for too long, or too much, or
// nothing but drops for ever, is left.
type client struct {
	cfg      ClientConfig
	endpoint *url.URL
	http     *http.Client
	traced   bool        // http tells when it has a connection
	header   http.Header // with the key
	secret   secret
}

const maxErrorBody = 64 << 10

var (
	errTotal   = errors.New("the answer was not whole in time")
	errSilent  = errors.New("the server fell silent")
	errTooLong = errors.New("the answer is longer than any answer may be")
)

// newClient checks cfg. Its header is still without the key, which is there
// fit to be sent.
func newClient(cfg ClientConfig, path string) (*client, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "base_url of %s is not an address like https://host/v1", cfg.Name)
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid,
			"base_url of %s holds a user, a query or a fragment; put the key in its own setting", cfg.Name)
	}
	endpoint := base.JoinPath(path)
	if cfg.Key, err = usable(cfg.Key); err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "the key of %s %w", cfg.Name, err)
	}
	cfg.HeaderTimeout = cmp.Or(cfg.HeaderTimeout, 2*time.Minute)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, time.Minute)
	cfg.Total = cmp.Or(cfg.Total, 10*time.Minute)
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 4<<20)
	c := &client{cfg: cfg, endpoint: endpoint, secret: newSecret(cfg.Key, endpoint.Path), header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"text/event-stream, application/json"},
	}}
	c.http = ownHTTP()
	if cfg.HTTP != nil {
		given := *cfg.HTTP
		c.http = &given
	}
	_, c.traced = c.http.Transport.(*http.Transport)
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the key would follow
	return c, nil
}

// Name is the provider's.
func (c *client) Name() string { return c.cfg.Name }

func ownHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           16,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

// ask sends body and has the answer read, which gets the headers as well.
func (c *client) ask(ctx context.Context, body any, read func(http.Header, io.Reader) (Answer, error)) (Answer, error) {
	text, err := encode(body)
	if err != nil {
		return Answer{}, c.notSent(err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.cfg.Total, fmt.Errorf("%w: %v have passed", errTotal, c.cfg.Total))
	defer cancel()
	watched, stop := context.WithCancelCause(limited)
	defer stop(nil)
	silence := time.AfterFunc(c.cfg.HeaderTimeout, func() { stop(errSilent) })
	defer silence.Stop()

	var connected atomic.Bool // else not a byte has left
	traced := httptrace.WithClientTrace(watched, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, c.endpoint.String(), bytes.NewReader(text))
	if err != nil {
		return Answer{}, c.notSent(err)
	}
	req.Header = c.header.Clone()
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, c.broken(ctx, watched, err, connected.Load() || !c.traced)
	}
	defer func() { _ = resp.Body.Close() }()
	heard := &bounded{r: resp.Body, left: c.cfg.MaxBody, heard: func() { silence.Reset(c.cfg.IdleTimeout) }}
	heard.heard()
	if resp.StatusCode != http.StatusOK {
		return Answer{}, c.turnedDown(resp, heard)
	}
	answer, err := read(resp.Header, heard)
	if err != nil {
		return Answer{}, c.broken(ctx, watched, err, true)
	}
	return answer, nil
}

// bounded reads at most left bytes, and says whenever some have come.
type bounded struct {
	r     io.Reader
	left  int64
	heard func()
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLong
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)]) // one more than allowed, to see that there is more
	if n > 0 {
		b.heard()
	}
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// broken says what ended an exchange: the caller, our patience, the connection
// or what came over it.
func (c *client) broken(asked, watched context.Context, err error, sent bool) error {
	if _, known := errors.AsType[*resilience.Error](err); known {
		return err
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = fmt.Errorf("%s://%s: %w", c.endpoint.Scheme, c.endpoint.Host, u.Err) // its path may be a secret
	}
	kind := resilience.KindOf(err)
	switch cause := context.Cause(watched); {
	case errors.Is(asked.Err(), context.DeadlineExceeded):
		kind, err = resilience.KindTimeout, fmt.Errorf("its caller's time is up: %w", context.Cause(asked))
	case asked.Err() != nil:
		kind, err = resilience.KindCancelled, fmt.Errorf("its caller went away: %w", context.Cause(asked))
	case cause != nil:
		kind, err = resilience.KindTimeout, cause
	case errors.Is(err, errTooLong), errors.Is(err, errLine):
		kind = resilience.KindGarbage
	case sent && kind != resilience.KindUnknown:
		err = fmt.Errorf("the connection broke: %w", err)
	}
	if !sent {
		err = fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return c.fault(kind, "%w", err)
}

// fault is every error of an exchange that the server did not put into words of
// its own; what others did, as those of a broken header, is in it all the same.
func (c *client) fault(k resilience.ErrorKind, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &resilience.Error{Kind: k, Err: &told{c.cfg.Name + ": " + c.shown(err.Error()), err}}
}

// garbage is an answer that cannot be read.
func (c *client) garbage(format string, args ...any) error {
	return c.fault(resilience.KindGarbage, format, args...)
}

// ErrNotSent marks the errors of providers whose request no server has seen, so
// that it cannot have cost anything.
var ErrNotSent = errors.New("the request was not sent")

func (c *client) notSent(err error) error {
	return c.fault(resilience.KindInvalid, "%w: %w", ErrNotSent, err)
}

// turnedDown reads an answer that is no success.
func (c *client) turnedDown(resp *http.Response, body io.Reader) error {
	text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what there is of it: the status says enough
	e := readComplaint(text)
	after, _ := resilience.ParseRetryAfter(resp.Header, time.Now())
	kind := resilience.Classify(resp.StatusCode, e.code)
	message := c.shown(e.message)
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && to != "" {
		kind, message = resilience.KindInvalid, "it sends us on to "+c.shown(place(to))+", and a key is not sent after; is base_url right?"
	}
	return &resilience.Error{
		Kind: kind, Status: resp.StatusCode, ProviderCode: c.shown(cmp.Or(e.code, e.kind)), RetryAfter: after,
		Err: fmt.Errorf("%s: %s", c.cfg.Name, cmp.Or(message, "it gives no reason")),
	}
}

// place is where an address leads, without what may be secret in it.
func place(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return "another path"
}

// complained is an error in the middle of an answer that began well.
func (c *client) complained(text []byte) error {
	e := readComplaint(text)
	return &resilience.Error{
		Kind: resilience.Classify(e.status, cmp.Or(e.code, e.kind)), ProviderCode: c.shown(cmp.Or(e.code, e.kind)),
		Err: fmt.Errorf("%s: within the answer: %s", c.cfg.Name, cmp.Or(c.shown(e.message), "it gives no reason")),
	}
}

// complaint is an error in a provider's own words.
type complaint struct {
	kind    string // its class of errors
	code    string // its name of this one
	status  int    // where the code is a number
	message string
}

// readComplaint finds what a body says of an error, in any of the forms in use:
// an object with type, code and message under "error", the same at the top, or
// a bare string. Any other body is the message.
func readComplaint(text []byte) complaint {
	type fields struct {
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
	}
	var body struct {
		fields
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(text, &body) != nil {
		return complaint{message: string(text)}
	}
	f := body.fields
	if len(body.Error) > 0 && json.Unmarshal(body.Error, &f) != nil {
		return complaint{message: word(body.Error)}
	}
	c := complaint{kind: word(f.Type), code: word(f.Code), message: word(f.Message)}
	if n, err := strconv.Atoi(c.code); err == nil {
		c.status, c.code = n, ""
	}
	c.message = cmp.Or(c.message, string(text))
	return c
}

// word is a JSON string or number as text; anything else is nothing.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}
