package backend

import (
	"fmt"
	"strconv"
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

func setMaxConnections(c *Config, text string) error {
	n, err := strconv.Atoi(text)
	if most := ConnectionLimit(); err == nil && n > most {
		return fmt.Errorf("needs %d open files and this process may have %d: raise that limit (ulimit -n, LimitNOFILE= of a unit), "+
			"or choose at most %d", 2*n, 2*most, most)
	}
	if err != nil || n < leastConnections {
		return fmt.Errorf("must be a whole number of at least %d", leastConnections)
	}
	c.MaxConnections = n
	return nil
}
