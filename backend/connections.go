package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// usualConnections is the default where descriptors are plenty. An idle
	// connection costs about 20 kB; 2,000 workers have about 6,000.
	usualConnections = 16384
	leastConnections = 16
)

// ConnectionLimit is half of the files that this process may have open, so that
// the database and the blobs never lack one.
func ConnectionLimit() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return leastConnections
	}
	return int(max(leastConnections, min(1<<30, files.Cur/2))) //nolint:gosec // at most 2^30
}

// ListenOn listens on an address, or says what is wrong with it.
func ListenOn(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program: stop it, or choose another address, "+
			"for example --addr 127.0.0.1:0 for any free port", addr)
	case errors.Is(err, unix.EACCES):
		return nil, fmt.Errorf("%s needs more rights than this user has: choose a port above 1023 with --addr", addr)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w; choose another address with --addr", addr, err)
	}
	return l, nil
}
