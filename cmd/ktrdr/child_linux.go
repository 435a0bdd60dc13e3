package main

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from a child, which its parent stops
// itself, and lets the kernel kill it should the parent die first.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
