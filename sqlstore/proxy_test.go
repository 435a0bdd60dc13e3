package sqlstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
)

// cut is what a proxy does to the next COMMIT.
type cut int

const (
	passOn         cut = iota
	cutRequest         // close the connection instead of passing the COMMIT on
	cutAnswer          // pass it on, and close the connection instead of passing the answer on
	swallowRequest     // close the client's side only: the server waits for a COMMIT that never comes
)

// proxy stands between a store and PostgreSQL.
type proxy struct {
	url    string
	server string

	mu      sync.Mutex
	next    cut
	count   int
	opened  int
	swallow int // connections up to this one are half-open: whatever is said on them is lost
	ended   chan struct{}
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: u.Host, ended: make(chan struct{})}
	u.Host = l.Addr().String()
	p.url = u.String()
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(p.ended)
		conns.Wait()
	})
	return p
}

// atCommit says what to do to the next COMMIT.
func (p *proxy) atCommit(c cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = c
}

// loseTouch makes all connections that there are half-open; new ones work.
func (p *proxy) loseTouch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = p.opened
}

func (p *proxy) swallows(conn int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return conn <= p.swallow
}

func (p *proxy) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	return p.opened
}

func (p *proxy) cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// take returns what to do to this COMMIT and lets the following ones pass.
func (p *proxy) take() cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.next
	p.next = passOn
	if c != passOn {
		p.count++
	}
	return c
}

// endWith closes both sides with the proxy: the driver holds on to a half-open
// connection for as long as it might be heard. The caller calls over.
func (p *proxy) endWith(client, server net.Conn) (over func()) {
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-p.ended:
			_, _ = client.Close(), server.Close()
		case <-done:
		}
	})
	return func() {
		close(done)
		watch.Wait()
	}
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	number := p.number()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	over := p.endWith(client, server)
	defer over()
	var answers sync.WaitGroup
	defer answers.Wait()
	defer server.Close()

	var mu sync.Mutex
	muted := false // answers are no longer passed on
	answers.Go(func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			mu.Lock()
			quiet := muted
			mu.Unlock()
			if quiet {
				return
			}
			if p.swallows(number) {
				continue
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	})

	// A Bind message names its portal, which has no name here, and then its
	// statement, to which pgx gives a name that is made from the text.
	digest := sha256.Sum256([]byte("COMMIT"))
	commit := fmt.Appendf(nil, "\x00stmtcache_%s\x00", hex.EncodeToString(digest[:24]))
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if p.swallows(number) {
			continue
		}
		if bytes.Contains(buf[:n], commit) {
			switch p.take() {
			case cutRequest:
				return
			case swallowRequest:
				_ = client.Close()
				answers.Wait() // ends when the server closes the connection
				return
			case cutAnswer:
				mu.Lock()
				muted = true
				mu.Unlock()
				_, _ = server.Write(buf[:n])
				answers.Wait()
				return
			case passOn:
			}
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}
