//go:build failpoint

package fault

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var (
	target Point
	left   atomic.Int64
	armed  string
)

func init() {
	name, n, counted := strings.Cut(os.Getenv("KTRDR_FAILPOINT"), "@")
	target, armed = Point(name), os.Getenv("KTRDR_FAILPOINT_ARMED_BY")
	left.Store(1)
	if counted {
		if v, err := strconv.ParseInt(n, 10, 64); err == nil {
			left.Store(v)
		}
	}
}

// Hit ends the process when p is the chosen point and its turn has come.
func Hit(p Point) {
	if target == "" || p != target { // a step that no test kills at has no name
		return
	}
	if armed != "" {
		if _, err := os.Stat(armed); err != nil {
			return
		}
	}
	if left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; no statement after this point may run
	}
}
