package httpapi

import (
	"net"
	"sync"
)

// capped accepts connections for a door, which finds each a place. One that
// the door has no place for yet waits, and with it all that come after.
type capped struct {
	net.Listener
	door *door
	once sync.Once
}

func (l *capped) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	v, err := l.door.enter(accepted)
	if err != nil {
		_ = accepted.Close()
		return nil, err
	}
	return &conn{Conn: accepted, visitor: v, release: func() { l.door.leave(v) }}, nil
}

func (l *capped) Close() error {
	l.once.Do(l.door.shut)
	return l.Listener.Close()
}
