package backend

import (
	"os"
	"syscall"
)

// dieFirst has the kernel choose this process before its backend when memory
// runs out. Where that is not allowed the kernel chooses by size.
func dieFirst() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

// OwnGroup keeps the terminal's Ctrl-C from a child, which its parent stops
// itself, and lets the kernel kill it should the parent die first.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
