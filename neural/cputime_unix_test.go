//go:build unix

package neural

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used of the CPUs so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
