//go:build !linux

package labtest

// Children is known on Linux only.
func (p *Process) Children() (pids []int) { return nil }
