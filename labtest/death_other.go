//go:build !linux

package labtest

import "syscall"

// dieWithTest can ask for nothing here: a test that is killed leaves its
// processes behind.
func dieWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
