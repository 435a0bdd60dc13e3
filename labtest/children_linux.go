package labtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Children lists the processes that p has started and that are alive.
func (p *Process) Children() (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name) //nolint:gosec // the kernel's
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		var state string
		var parent int
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil && parent == p.PID() && state != "Z" {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
