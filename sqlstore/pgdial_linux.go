package sqlstore

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// boundUnanswered makes the kernel give up a connection whose bytes are not
// acknowledged, which would otherwise take it a quarter of an hour.
func boundUnanswered(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var refused error
	err := c.Control(func(fd uintptr) {
		refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unanswered.Milliseconds()))
	})
	return errors.Join(err, refused)
}
