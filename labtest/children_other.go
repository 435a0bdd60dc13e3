//go:build !linux

package labtest

// Children is known on Linux only.
func (p *Proc) Children() (pids []int) { return nil }
