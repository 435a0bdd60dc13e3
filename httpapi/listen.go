package httpapi

import (
	"net"
	"sync"
)

// capConnections accepts no more than most connections at a time; the next one
// waits in the kernel until one is closed.
func capConnections(l net.Listener, most int) net.Listener {
	return &capped{Listener: l, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

type capped struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *capped) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	accepted, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &conn{Conn: accepted, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *capped) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
