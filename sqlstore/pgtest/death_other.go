//go:build !linux

package pgtest

import "syscall"

// dieWithParent has no equivalent here: a server outlives a test that is
// killed, though not one that ends.
func dieWithParent(*syscall.SysProcAttr) {}
