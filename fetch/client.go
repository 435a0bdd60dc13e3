package fetch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
	"github.com/ktrdr/ktrdr/internal/text"
)

// What a client keeps to.
const (
	maxTries     = 6                // of one request
	maxWait      = 10 * time.Minute // that a server may ask for; a longer wait is told to the user
	maxRedirects = 5
	maxAnswer    = 64 << 20  // bytes of one answer
	maxUnpacked  = 512 << 20 // bytes of one archive
	oneTry       = 2 * time.Minute
)

// errMissing says that a source has nothing under an address.
var errMissing = errors.New("the source has nothing there")

// Client asks sources. It keeps a pace for each source, waits when it is told to,
// continues downloads that broke off, and reads no more than it must. It is safe for
// concurrent use.
type Client struct {
	http  *http.Client
	retry backoff.Policy

	mu   sync.Mutex
	next map[string]time.Time // by source: when the next request may start
}

// NewClient makes a client that dials public addresses, and those of the networks given.
func NewClient(allow []netip.Prefix) *Client {
	return newClient(&http.Transport{
		DialContext:       (&Guard{Allow: allow}).Dial,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		DisableCompression: true, // an answer is as large as it says, and no environment names a proxy that would dial for it
	})
}

func newClient(via http.RoundTripper) *Client {
	return &Client{
		http: &http.Client{Transport: via, CheckRedirect: func(r *http.Request, before []*http.Request) error {
			if len(before) >= maxRedirects {
				return ktrdr.Errorf(ktrdr.CodeFailed, "it redirects more than %d times", maxRedirects)
			}
			r.Header.Del("Referer") // it is the address before, which may hold a key
			return checkURL(r.URL)
		}},
		retry: backoff.Policy{First: 2 * time.Second, Most: time.Minute, Jitter: 0.25},
		next:  map[string]time.Time{},
	}
}

// Close closes the connections that wait for another request.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "https":
		return ktrdr.Errorf(ktrdr.CodeForbidden, "an address begins with %q: prices are fetched by https only", cut(u.Scheme)+":")
	case u.Hostname() == "":
		return ktrdr.Errorf(ktrdr.CodeInvalid, "an address has no host: write https://HOST/…")
	}
	return nil
}

// ask is one request to a source.
type ask struct {
	source string        // of whose pace it takes a share
	pace   time.Duration // between the starts of two requests to the source
	url    string
	what   string // what errors call it: never the address, which may hold a key
	most   int64  // bytes of the answer; 0 means 64 MiB
}

// again is an error after which the same request may succeed.
type again struct {
	err  error
	wait time.Duration // that the server asked for; 0: it did not
}

func (e *again) Error() string { return e.err.Error() }
func (e *again) Unwrap() error { return e.err }

// get returns the answer to a request. errMissing: there is no such file.
func (c *Client) get(ctx context.Context, a ask) ([]byte, error) {
	u, err := url.Parse(a.url)
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%s: the address cannot be read: write https://HOST/…", a.what)
	}
	if err := checkURL(u); err != nil {
		return nil, fmt.Errorf("%s: %w", a.what, err)
	}
	d := download{most: cmp.Or(a.most, maxAnswer)}
	for try := 0; ; try++ {
		if !c.turn(ctx, a) {
			return nil, context.Cause(ctx)
		}
		err := c.try(ctx, u, &d)
		retry, more := errors.AsType[*again](err)
		switch {
		case err == nil:
			return d.body.Bytes(), nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !more:
			return nil, fmt.Errorf("%s: %w", a.what, err)
		case retry.wait > maxWait:
			return nil, ktrdr.Errorf(ktrdr.CodeUnavailable, "%s: %w: the source asks to wait %s: try again then", a.what, err,
				text.Duration(retry.wait))
		case try+1 == maxTries:
			return nil, ktrdr.Errorf(ktrdr.CodeUnavailable, "%s: %w (%d tries): try again later", a.what, err, maxTries)
		}
		c.postpone(a.source, max(retry.wait, c.retry.Delay(try)))
	}
}

// turn waits until a source may be asked again.
func (c *Client) turn(ctx context.Context, a ask) bool {
	c.mu.Lock()
	now := time.Now()
	start := c.next[a.source]
	if start.Before(now) {
		start = now
	}
	c.next[a.source] = start.Add(a.pace)
	c.mu.Unlock()
	return backoff.Sleep(ctx, start.Sub(now))
}

// postpone keeps all requests to a source back for a time.
func (c *Client) postpone(source string, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(wait); c.next[source].Before(until) {
		c.next[source] = until
	}
}

// download is an answer that may arrive in parts.
type download struct {
	body bytes.Buffer
	most int64
	mark string // entity tag, which tells whether the rest is of the same file
}

func (c *Client) try(ctx context.Context, u *url.URL, d *download) error {
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return errors.New("the address cannot be used")
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (compatible; ktrdr)")
	req.Header.Set("Accept", "*/*")
	if d.mark == "" {
		d.body.Reset()
	}
	if have := d.body.Len(); have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		req.Header.Set("If-Range", d.mark)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return asked(err)
	}
	defer res.Body.Close()
	if err := d.begin(res); err != nil {
		return err
	}
	_, err = io.Copy(&d.body, io.LimitReader(res.Body, d.most+1-int64(d.body.Len())))
	switch {
	case int64(d.body.Len()) > d.most:
		return tooLarge(d.most)
	case err != nil:
		return &again{err: fmt.Errorf("the answer broke off after %d bytes", d.body.Len())}
	}
	return nil
}

// refusal is an answer that says that the request cannot be served.
type refusal struct {
	code int
	text string // the beginning of what it says
}

func (r *refusal) Error() string { return "it answered " + status(r.code) + saidBy([]byte(r.text)) }

func tooLarge(most int64) error {
	return ktrdr.Errorf(ktrdr.CodeTooLarge, "the answer has more than %d MiB: ask for a shorter span", most>>20)
}

// asked is the error of a request without its address.
func asked(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return ktrdr.Errorf(ktrdr.CodeFailed, "its certificate is not valid: %w", e.Err)
	}
	switch ktrdr.CodeOf(err) {
	case ktrdr.CodeForbidden, ktrdr.CodeInvalid, ktrdr.CodeFailed:
		return err
	}
	return &again{err: err}
}

// begin reads the head of an answer.
func (d *download) begin(res *http.Response) error {
	code := res.StatusCode
	switch {
	case code == http.StatusPartialContent && d.body.Len() > 0:
		var from int64
		if _, err := fmt.Sscanf(res.Header.Get("Content-Range"), "bytes %d-", &from); err != nil || from != int64(d.body.Len()) {
			d.mark = ""
			return &again{err: errors.New("it continued the download at another place")}
		}
	case code == http.StatusOK:
		d.body.Reset()
		d.mark = ""
		if tag := res.Header.Get("ETag"); strings.HasPrefix(tag, `"`) {
			d.mark = tag
		}
	case code == http.StatusNotFound, code == http.StatusGone:
		return errMissing
	case code == http.StatusRequestedRangeNotSatisfiable:
		d.mark = ""
		return &again{err: errors.New("it did not continue the download")}
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return &again{err: fmt.Errorf("it answered %s", status(code)), wait: retryAfter(res.Header.Get("Retry-After"))}
	default:
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return &refusal{code, string(text)}
	}
	if res.ContentLength > d.most-int64(d.body.Len()) {
		return tooLarge(d.most)
	}
	if packing := res.Header.Get("Content-Encoding"); packing != "" && packing != "identity" {
		return ktrdr.Errorf(ktrdr.CodeFailed, "the answer is packed as %q, which was not asked for", cut(packing))
	}
	return nil
}

func status(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// saidBy is the beginning of what a server said about an error.
func saidBy(text []byte) string {
	if said := cut(strings.Join(strings.Fields(ktrdr.CleanText(string(text))), " ")); said != "" && said[0] != '<' {
		return ": " + said
	}
	return ""
}

func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1<<30)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at).Round(time.Second), 0)
	}
	return 0
}

// notData refuses a page or a message where prices were asked for.
func notData(b []byte, want string) error {
	head := bytes.TrimSpace(bytes.TrimPrefix(b[:min(len(b), 512)], []byte("\xef\xbb\xbf")))
	if len(head) > 0 && head[0] == '<' {
		return ktrdr.Errorf(ktrdr.CodeFailed, "it answered a web page instead of %s: "+
			"the address has changed, or the source wants a person: see `ktrdr data fetch --check`", want)
	}
	return nil
}

func cut(s string) string {
	const most = 160
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
