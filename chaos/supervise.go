package chaos

import (
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/ktrdr/ktrdr/httpapi"
)

// This file is the lab's side of supervisors and of power cuts.

// Boot starts a backend with workers of its own and does not wait, as a
// supervisor does: it may be killed while it starts.
func (l *Lab) Boot(workers int) *Proc {
	l.t.Helper()
	return start(l.t, "serve", l.bin, l.env, "serve", "--addr", l.addr, "--workers", fmt.Sprint(workers))
}

// WorkerNamed starts a worker of some types in a folder of that name, in which
// an earlier one may have left something.
func (l *Lab) WorkerNamed(name, types string) *Proc {
	l.t.Helper()
	return start(l.t, name, l.bin, l.env, "worker", "--types", types, "--data", filepath.Join(l.dir, name))
}

// PowerCut kills everybody at the same moment: nobody has the time to notice
// that another is gone.
func PowerCut(all ...*Proc) {
	for _, p := range all {
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
	}
	for _, p := range all {
		<-p.done
	}
}

// Hashes waits for the researches of a run and returns their result hashes in
// the order of the run.
func (l *Lab) Hashes(run httpapi.Triggered) []string {
	l.t.Helper()
	hashes := make([]string, len(run.Operations))
	for i, r := range run.Operations {
		hashes[i] = l.ResultHash(r.Operation)
	}
	return hashes
}
