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

	mu    sync.Mutex
	next  cut
	count int
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
	p := &proxy{server: u.Host}
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

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
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
