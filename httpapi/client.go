package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// ClientOptions is what most clients do without.
type ClientOptions struct {
	CAFile  string        // PEM of the authority that signed the server's certificate, when it is not a public one
	Timeout time.Duration // of an ordinary call; 0 means 30 s
	Version string        // sent as User-Agent
}

// Client speaks to a Server. Its worker methods are the same as the engine's
// own, so that a worker does not know whether it runs inside a backend or far
// away. It is safe for concurrent use.
//
// Errors are *ktrdr.Error with the server's code. CodeUnavailable stands for
// everything that keeps an answer away: the call may be repeated, and every
// call may be, because the server recognises a repetition.
type Client struct {
	base    *url.URL
	token   ktrdr.Secret
	agent   string
	timeout time.Duration
	http    *http.Client
}

// NewClient makes a client of the server at base.
func NewClient(base string, token ktrdr.Secret, o ClientOptions) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a server's address; give one like http://127.0.0.1:8000", base)
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: 2 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	if o.CAFile != "" {
		if transport.TLSClientConfig, err = trusting(o.CAFile); err != nil {
			return nil, err
		}
	}
	return &Client{
		base:    u.JoinPath("/"),
		token:   token,
		agent:   strings.TrimSuffix("ktrdr/"+o.Version, "/"),
		timeout: cmp.Or(o.Timeout, 30*time.Second),
		http: &http.Client{
			Transport: transport,
			// A redirect would carry the token to wherever it points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func trusting(caFile string) (*tls.Config, error) {
	pem, err := os.ReadFile(caFile) //nolint:gosec // the user names the file whose authority to trust
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%s holds no certificate in PEM form", caFile)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// Close lets idle connections go.
func (cl *Client) Close() { cl.http.CloseIdleConnections() }

// URL is the server's address.
func (cl *Client) URL() string { return strings.TrimSuffix(cl.base.String(), "/") }

// request is one call.
type request struct {
	method string
	path   string // below /api/v1/, each part escaped
	query  url.Values
	header map[string]string
	body   io.Reader
	size   int64 // of the body; -1 when it is not known
}

// do sends a request and returns the answer of a server that is willing.
func (cl *Client) do(ctx context.Context, q request) (*http.Response, error) {
	u := cl.base.JoinPath("api", "v1", q.path)
	u.RawQuery = q.query.Encode()
	req, err := http.NewRequestWithContext(ctx, q.method, u.String(), q.body)
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%s: %w", q.path, err)
	}
	if q.body != nil {
		req.ContentLength = q.size
	}
	if cl.token != "" {
		req.Header.Set("Authorization", "Bearer "+cl.token.Reveal())
	}
	req.Header.Set("User-Agent", cl.agent)
	for name, value := range q.header {
		req.Header.Set(name, value)
	}
	res, err := cl.http.Do(req)
	if err != nil {
		return nil, cl.away(ctx, err)
	}
	if res.StatusCode >= http.StatusBadRequest || res.StatusCode < http.StatusOK || res.StatusCode/100 == 3 {
		defer func() { _ = res.Body.Close() }()
		return nil, cl.refused(res)
	}
	return res, nil
}

// away says that no answer came. The caller's own cancellation stays visible
// to errors.Is.
func (cl *Client) away(ctx context.Context, err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // the rest of its text is the URL, which the sentence has
	}
	if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
		return ktrdr.Errorf(ktrdr.CodeUnavailable, "no answer from %s: %w", cl.URL(), cause)
	}
	return ktrdr.Errorf(ktrdr.CodeUnavailable, "no answer from %s: %w", cl.URL(), err)
}

// maxAnswer bounds what is read of a JSON answer.
const maxAnswer = 256 << 20

// refused turns a refusal back into the error it was on the other side.
func (cl *Client) refused(res *http.Response) error {
	var e envelope
	err := json.NewDecoder(io.LimitReader(res.Body, bodyLimit)).Decode(&e)
	if err == nil && e.Error != nil && e.Error.Code != "" {
		return &ktrdr.Error{Code: e.Error.Code, Message: e.Error.Message}
	}
	return ktrdr.Errorf(ktrdr.CodeUnavailable, "%s answered %s, but not in ktrdr's way; is the address right, and is nothing else between?",
		cl.URL(), res.Status)
}

// call sends in as JSON and reads the answer's data into out; either may be
// nil. It returns the next page's cursor, if there is one.
func (cl *Client) call(ctx context.Context, q request, in, out any) (next string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cl.timeout, errTimeout)
	defer cancel()
	return cl.roundTrip(ctx, q, in, out)
}

var errTimeout = errors.New("it took too long")

func (cl *Client) roundTrip(ctx context.Context, q request, in, out any) (next string, err error) {
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return "", ktrdr.Errorf(ktrdr.CodeInvalid, "%s: %w", q.path, err)
		}
		q.body, q.size = bytes.NewReader(body), int64(len(body))
		if q.header == nil {
			q.header = make(map[string]string)
		}
		q.header["Content-Type"] = contentJSON
	}
	res, err := cl.do(ctx, q)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	if out == nil {
		out = &none{}
	}
	e := struct {
		Data any    `json:"data"`
		Next string `json:"next_cursor"`
	}{Data: out}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&e); err != nil {
		return "", cl.away(ctx, fmt.Errorf("the answer cannot be read: %w", err))
	}
	return e.Next, nil
}

func (cl *Client) get(ctx context.Context, path string, query url.Values, out any) (next string, err error) {
	return cl.call(ctx, request{method: http.MethodGet, path: path, query: query}, nil, out)
}

func (cl *Client) post(ctx context.Context, path string, in, out any) error {
	_, err := cl.call(ctx, request{method: http.MethodPost, path: path}, in, out)
	return err
}

func (cl *Client) delete(ctx context.Context, path string, query url.Values, out any) error {
	_, err := cl.call(ctx, request{method: http.MethodDelete, path: path, query: query}, nil, out)
	return err
}
