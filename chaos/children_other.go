//go:build !linux

package chaos

// Children is known on Linux only.
func (p *Proc) Children() (pids []int) { return nil }
