// Package client is the Go client of a ktrdr server.
//
//	c, err := client.New("http://127.0.0.1:8000", token, client.Options{})
//	started, err := c.StartTraining(ctx, jobs.TrainingRequest{Strategy: "momentum"}, "my-key")
//	for event, err := range c.FollowEvents(ctx, started.Operation, ktrdr.Cursor{}) { … }
//
// Each method is one route of package api. A worker uses the same client: its
// methods for workers are those of worker.Backend.
//
// Errors are *ktrdr.Error with the server's code. CodeUnavailable means that no
// answer came. Every call may then be repeated: the server recognises a repeated
// call by its key or by its content.
package client

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
	"reflect"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/tracing"
)

// Options are settings that most clients leave out.
type Options struct {
	CAFile  string        // PEM of the authority that signed the server's certificate, when it is not a public one
	Timeout time.Duration // of an ordinary call; 0 means 30 s
	Version string        // sent as User-Agent

	// Assistant says that an AI assistant makes the requests: the server shows it no
	// holdout.
	Assistant api.Assistant

	// Transport sends the requests instead of a connection: that of a server in
	// the same process.
	Transport http.RoundTripper
}

// Client calls a server. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	token   ktrdr.Secret
	agent   string
	timeout time.Duration
	http    *http.Client

	assistant api.Assistant
}

// New makes a client of the server at base. It connects with the first call.
func New(base string, token ktrdr.Secret, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a server's address; give one like http://127.0.0.1:8000", base)
	}
	if o.Transport == nil {
		if o.Transport, err = connecting(o.CAFile); err != nil {
			return nil, err
		}
	}
	return &Client{
		base:    u.JoinPath("/"),
		token:   token,
		agent:   strings.TrimSuffix("ktrdr/"+o.Version, "/"),
		timeout: cmp.Or(o.Timeout, 30*time.Second),

		assistant: o.Assistant,
		http: &http.Client{
			Transport: o.Transport,
			// A redirect would carry the token to wherever it points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// connecting is a transport over the network.
func connecting(caFile string) (*http.Transport, error) {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: 2 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	if caFile == "" {
		return transport, nil
	}
	var err error
	transport.TLSClientConfig, err = trusting(caFile)
	return transport, err
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
func (c *Client) Close() { c.http.CloseIdleConnections() }

// URL is the server's address.
func (c *Client) URL() string { return strings.TrimSuffix(c.base.String(), "/") }

// request is one call.
type request struct {
	*api.Spec
	path   string
	query  url.Values
	header http.Header
	body   io.Reader
	size   int64 // of the body; -1 when it is not known
}

func requestOf[In, Out any](rt api.Route[In, Out], in In) request {
	q := request{Spec: &rt.Spec}
	q.path, q.query, q.header = rt.Request(in)
	return q
}

// do sends a request and returns the answer if it is a success.
func (c *Client) do(ctx context.Context, q request) (*http.Response, error) {
	res, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		defer func() { _ = res.Body.Close() }()
		return nil, c.refused(res)
	}
	return res, nil
}

func (c *Client) send(ctx context.Context, q request) (*http.Response, error) {
	u := c.URL() + q.path
	if len(q.query) > 0 {
		u += "?" + q.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, u, q.body)
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%s: %w", q.path, err)
	}
	if q.body != nil {
		req.ContentLength = q.size
		q.header.Set("Content-Type", cmp.Or(q.Accepts, api.ContentJSON))
	}
	req.Header = q.header
	if c.token != "" && !q.Public {
		req.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	req.Header.Set("User-Agent", c.agent)
	tracing.Inject(ctx, req.Header)
	if c.assistant != "" {
		req.Header.Set(api.HeaderAssistant, string(c.assistant))
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.away(ctx, err)
	}
	return res, nil
}

// away says that no answer came. The caller's own cancellation stays visible
// to errors.Is.
func (c *Client) away(ctx context.Context, err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // the rest of its text is the URL, which the sentence has
	}
	if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
		return ktrdr.Errorf(ktrdr.CodeUnavailable, "no answer from %s: %w", c.URL(), cause)
	}
	return ktrdr.Errorf(ktrdr.CodeUnavailable, "no answer from %s: %w", c.URL(), err)
}

// maxAnswer bounds what is read of a JSON answer.
const maxAnswer = 256 << 20

// refused turns a refusal back into the error it was on the other side.
func (c *Client) refused(res *http.Response) error {
	var e api.Envelope
	err := json.NewDecoder(io.LimitReader(res.Body, api.BodyLimit)).Decode(&e)
	if err == nil && e.Error != nil && e.Error.Code != "" {
		return &ktrdr.Error{Code: e.Error.Code, Message: e.Error.Message}
	}
	return ktrdr.Errorf(ktrdr.CodeUnavailable, "%s answered %s, but not in ktrdr's way; is the address right, and is nothing else between?",
		c.URL(), res.Status)
}

var errTimeout = errors.New("it took too long")

// Call calls a route of package api. Most have a method, which is shorter.
func Call[In, Out any](ctx context.Context, c *Client, rt api.Route[In, Out], in In) (Out, error) {
	out, _, err := call(ctx, c, rt, in, "")
	return out, err
}

// tell calls a route whose answer says nothing.
func tell[In any](ctx context.Context, c *Client, rt api.Route[In, api.None], in In) error {
	_, err := Call(ctx, c, rt, in)
	return err
}

// create calls a route that creates something. With a key the call can be
// repeated.
func create[In, Out any](ctx context.Context, c *Client, rt api.Route[In, Out], in In, key string) (Out, error) {
	out, _, err := call(ctx, c, rt, in, key)
	return out, err
}

// call calls a route and also returns the cursor of the next page.
func call[In, Out any](ctx context.Context, c *Client, rt api.Route[In, Out], in In, key string) (out Out, next string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(rt.Wait, c.timeout), errTimeout)
	defer cancel()
	q := requestOf(rt, in)
	if key != "" {
		q.header.Set(api.HeaderKey, key)
	}
	if api.HasBody(rt.Spec, reflect.TypeFor[In]()) {
		body, err := json.Marshal(in)
		if err != nil {
			return out, "", ktrdr.Errorf(ktrdr.CodeInvalid, "%s: %w", q.path, err)
		}
		q.body, q.size = bytes.NewReader(body), int64(len(body))
	}
	res, err := c.do(ctx, q)
	if err != nil {
		return out, "", err
	}
	defer func() { _ = res.Body.Close() }()
	e := struct {
		Data *Out   `json:"data"`
		Next string `json:"next_cursor"`
	}{Data: &out}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&e); err != nil {
		return out, "", c.away(ctx, fmt.Errorf("the answer cannot be read: %w", err))
	}
	return out, e.Next, nil
}
