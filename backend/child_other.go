//go:build !linux

package backend

import "syscall"

// dieFirst does nothing: only Linux asks.
func dieFirst() {}

// OwnGroup keeps the terminal's Ctrl-C from a child, which its parent stops
// itself.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
