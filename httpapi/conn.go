package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// conn is a connection on which an answer can leave in one system call.
// net/http writes 4 KB at a time, and a checkpoint is often a little more: it
// would wake the client twice.
type conn struct {
	net.Conn
	gathered *bytes.Buffer // holds writes back; nil while they pass
	place    *place        // in the limiter
	release  func()        // gives the place back
}

func (c *conn) Write(p []byte) (int, error) {
	if c.gathered != nil {
		return c.gathered.Write(p)
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}

// inOneWrite sends everything that write writes at once. The connection must
// have no other writer meanwhile.
func (c *conn) inOneWrite(write func() error) error {
	gathered := buffers.Get().(*bytes.Buffer)
	c.gathered = gathered
	err := write()
	c.gathered = nil
	if err == nil {
		_, err = c.Conn.Write(gathered.Bytes())
	}
	recycle(gathered)
	if err != nil { // net/http does not know, and must not send another answer behind half of this one
		_ = c.Close()
	}
	return err
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf is the connection of a request when only its handler writes to it. Of
// one with TLS that cannot be said: reading from it may write too.
func connOf(r *http.Request) (c *conn, ok bool) {
	c, ok = r.Context().Value(connKey{}).(*conn)
	return c, ok
}

// placeOf is the place of a request's connection; nil in tests without one.
func placeOf(r *http.Request) *place {
	switch c := r.Context().Value(connKey{}).(type) {
	case *conn:
		return c.place
	case *tls.Conn:
		if under, ok := c.NetConn().(*conn); ok {
			return under.place
		}
	}
	return nil
}

// capped accepts connections. The limiter finds each a place; a connection that
// has none yet waits, and with it all later ones.
type capped struct {
	net.Listener
	limiter *limiter
	once    sync.Once
}

func (l *capped) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	p, err := l.limiter.enter(accepted)
	if err != nil {
		_ = accepted.Close()
		return nil, err
	}
	return &conn{Conn: accepted, place: p, release: func() { l.limiter.leave(p) }}, nil
}

func (l *capped) Close() error {
	l.once.Do(l.limiter.close)
	return l.Listener.Close()
}
