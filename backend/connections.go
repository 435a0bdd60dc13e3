package backend

import (
	"syscall"
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
