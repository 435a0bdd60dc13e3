package labtest

import "syscall"

// dieWithTest has the kernel kill the process when the test's dies.
func dieWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
