//go:build !linux

package main

import "syscall"

// dieFirst does nothing: only Linux asks.
func dieFirst() {}

// ownGroup keeps the terminal's Ctrl-C from a child, which its parent stops
// itself.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
