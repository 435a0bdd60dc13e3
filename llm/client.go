package llm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// ClientConfig says how a server is reached.
type ClientConfig struct {
	Name    string       // of the provider, in prices, breakers and the journal; "" means anthropic or openai
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
	endpoint string
	http     *http.Client
	header   http.Header // with the key
}

const maxErrorBody = 64 << 10

var (
	errTotal   = errors.New("the answer was not whole in time")
	errSilent  = errors.New("the server fell silent")
	errTooLong = errors.New("the answer is longer than any answer may be")
)

func newClient(cfg ClientConfig, path string, header http.Header) (*client, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "base_url of %s is not an address like https://host/v1", cfg.Name)
	case base.User != nil, base.RawQuery != "":
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "base_url of %s holds a user or a query; put the key in its own setting", cfg.Name)
	}
	cfg.HeaderTimeout = cmp.Or(cfg.HeaderTimeout, 2*time.Minute)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, time.Minute)
	cfg.Total = cmp.Or(cfg.Total, 10*time.Minute)
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 4<<20)
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream, application/json")
	c := &client{cfg: cfg, endpoint: base.JoinPath(path).String(), header: header}
	c.http = ownHTTP()
	if cfg.HTTP != nil {
		given := *cfg.HTTP
		c.http = &given
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the key would follow
	return c, nil
}

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

	req, err := http.NewRequestWithContext(watched, http.MethodPost, c.endpoint, bytes.NewReader(text))
	if err != nil {
		return Answer{}, c.notSent(err)
	}
	req.Header = c.header.Clone()
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, c.broken(ctx, watched, err)
	}
	defer func() { _ = resp.Body.Close() }()
	heard := &bounded{r: resp.Body, left: c.cfg.MaxBody, heard: func() { silence.Reset(c.cfg.IdleTimeout) }}
	heard.heard()
	if resp.StatusCode != http.StatusOK {
		return Answer{}, c.turnedDown(resp, heard)
	}
	answer, err := read(resp.Header, heard)
	if err != nil {
		return Answer{}, c.broken(ctx, watched, err)
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
func (c *client) broken(asked, watched context.Context, err error) error {
	if _, known := errors.AsType[*resilience.Error](err); known {
		return err
	}
	switch cause := context.Cause(watched); {
	case errors.Is(asked.Err(), context.DeadlineExceeded):
		return c.fault(resilience.KindTimeout, "its caller's time is up: %w", context.Cause(asked))
	case asked.Err() != nil:
		return c.fault(resilience.KindCancelled, "its caller went away: %w", context.Cause(asked))
	case cause != nil:
		return c.fault(resilience.KindTimeout, "%w", cause)
	case errors.Is(err, errTooLong), errors.Is(err, errLine):
		return c.fault(resilience.KindGarbage, "%w", err)
	case resilience.KindOf(err) == resilience.KindUnknown:
		return c.fault(resilience.KindUnknown, "%w", err)
	}
	return c.fault(resilience.KindOf(err), "the connection broke: %w", err)
}

func (c *client) fault(k resilience.Kind, format string, args ...any) error {
	return &resilience.Error{Kind: k, Err: fmt.Errorf(c.cfg.Name+": "+format, args...)}
}

// garbage is an answer that cannot be read.
func (c *client) garbage(format string, args ...any) error {
	return c.fault(resilience.KindGarbage, format, args...)
}

// errNotSent marks errors that no server has seen.
var errNotSent = errors.New("the request was not sent")

func (c *client) notSent(err error) error {
	return c.fault(resilience.KindInvalid, "%w: %w", errNotSent, err)
}

// turnedDown reads an answer that is no success.
func (c *client) turnedDown(resp *http.Response, body io.Reader) error {
	text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what there is of it: the status says enough
	e := readComplaint(text)
	after, _ := resilience.ParseRetryAfter(resp.Header, time.Now())
	kind := resilience.Classify(resp.StatusCode, e.code)
	message := c.shown(e.message)
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && to != "" {
		kind, message = resilience.KindInvalid, "it sends us on to another address, and a key is not sent after; set base_url to "+c.shown(to)
	}
	return &resilience.Error{
		Kind: kind, Status: resp.StatusCode, ProviderCode: c.shown(cmp.Or(e.code, e.kind)), RetryAfter: after,
		Err: fmt.Errorf("%s: %s", c.cfg.Name, cmp.Or(message, "it gives no reason")),
	}
}

// complained is an error in the middle of an answer that began well.
func (c *client) complained(text []byte) error {
	e := readComplaint(text)
	return &resilience.Error{
		Kind: resilience.Classify(e.status, cmp.Or(e.code, e.kind)), ProviderCode: c.shown(cmp.Or(e.code, e.kind)),
		Err: fmt.Errorf("%s: within the answer: %s", c.cfg.Name, cmp.Or(c.shown(e.message), "it gives no reason")),
	}
}

const maxShown = 300

// shown makes a server's own words fit for an error: one line, short, and
// without our key.
func (c *client) shown(text string) string {
	text = strings.Join(strings.Fields(c.kept(text)), " ")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}

// kept is a text that a server sent as the journal may keep it: storable, and
// without our key.
func (c *client) kept(text string) string { return c.hide(ktrdr.CleanText(text)) }

// hide takes our key out of what a server says, wherever it will be kept. What
// is shorter than any key is a placeholder, and may be a word of the answer.
func (c *client) hide(text string) string {
	key := c.cfg.Key.Reveal()
	if len(key) < 8 {
		return text
	}
	return strings.ReplaceAll(text, key, c.cfg.Key.String())
}
