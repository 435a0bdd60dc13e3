package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// Pages answers browsers: *page.Pages.
type Pages interface {
	http.Handler
	// Token returns the token that a browser is signed in with; CodeUnauthorized.
	Token(r *http.Request) (ktrdr.Token, error)
}

// LinkLasts is how long a link can sign a browser in.
const LinkLasts = 10 * time.Minute

const livePath = "/live" // the stream of the pages

var (
	pageSpec   = &api.Spec{Path: "page", Limit: api.BodyLimit}
	liveSpec   = &api.Spec{Path: "page live", Stream: true}
	uploadSpec = &api.Spec{Path: "page upload", Limit: api.PutBlob.Limit + api.BodyLimit}
)

// isPage reports whether a path is one that people look at.
func isPage(path string) bool {
	return !strings.HasPrefix(path, "/api/") && path != "/metrics"
}

// servePage answers a browser. The pages get the browser's token by api.Caller;
// without one they show only how to sign in.
func (s *Server) servePage(c *call) {
	switch c.spec = pageSpec; c.URL.Path {
	case livePath:
		c.spec = liveSpec
	case api.UploadPath:
		c.spec = uploadSpec
	}
	s.setDeadline(c)
	if c.ContentLength != 0 && !c.spec.Stream {
		c.bodyDeadline()
		c.Request.Body = &formBody{c.Request.Body, c}
	}
	if err := s.checkHost(c.Request); err != nil {
		s.fail(c.Context(), c, err)
		return
	}
	ctx, cancel := context.WithCancel(c.Context()) // a stream ends when the server is asked to stop
	defer cancel()
	defer context.AfterFunc(stopping(ctx), cancel)()
	token, err := ktrdr.Token{ID: "none", Scope: ktrdr.ScopeAdmin}, error(nil)
	if s.auth {
		token, err = s.pages.Token(c.Request)
	}
	if err == nil {
		c.token = token
		ctx = api.As(ctx, token)
	} else if ktrdr.CodeOf(err) != ktrdr.CodeUnauthorized {
		s.fail(ctx, c, err)
		return
	}
	if err := s.identify(c, err); err != nil {
		s.fail(ctx, c, err)
		return
	}
	if c.spec.Stream {
		if err := s.openStream(); err != nil {
			s.fail(ctx, c, err)
			return
		}
		defer s.streams.Add(-1)
	}
	s.answerPage(c, c.WithContext(ctx)) //nolint:contextcheck // the request holds its context
}

// formBody lifts the deadline of a body that has come: else it would end the
// request while it is answered.
type formBody struct {
	io.ReadCloser
	call *call
}

func (b *formBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.call.bodyRead()
	}
	return n, err
}

// RoundTrip answers a request of the pages to the API, as the token of its
// context and without the network.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := api.Caller(r.Context()); !ok {
		return nil, errors.New("a request inside the process names no token: see api.As")
	}
	if r.Body == nil {
		r.Body = io.NopCloser(strings.NewReader(""))
	}
	a := &kept{header: http.Header{}}
	c := &call{Request: r, w: a, spec: unmatched, inside: true, came: time.Now()}
	func() { //nolint:contextcheck // the call holds the request with its context
		defer s.recoverPanic(r.Context(), c)
		s.serveAPI(c)
	}()
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: r.Proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}, nil
}

// kept holds an answer in memory.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *kept) Header() http.Header { return a.header }

func (a *kept) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *kept) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// createLink makes a link for the token of the request.
func (s *Server) createLink(c *call, _ api.None) (api.Link, error) {
	if !s.auth {
		return api.Link{Path: "/", ExpiresAt: time.Now().Add(LinkLasts)}, nil
	}
	return NewLink(c.Context(), s.engine, c.token.ID)
}

// Links keeps links that sign a browser in.
type Links interface {
	AddLink(ctx context.Context, link ktrdr.Hash, token string, lasts time.Duration) error
}

// NewLink makes a link that signs one browser in as a token.
func NewLink(ctx context.Context, links Links, token string) (api.Link, error) {
	code := rand.Text()
	err := links.AddLink(ctx, sha256.Sum256([]byte(code)), token, LinkLasts)
	return api.Link{Path: "/login?code=" + code, ExpiresAt: time.Now().Add(LinkLasts).UTC().Truncate(time.Second)}, err
}
