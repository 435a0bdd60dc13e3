package labtest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// This file is the lab's side of supervisors and of power cuts.

// Boot starts a backend with workers of its own and does not wait, as a
// supervisor does: it may be killed while it starts.
func (l *Lab) Boot(workers int) *Process {
	l.t.Helper()
	return l.start(nil, "serve", "--addr", l.addr, "--workers", fmt.Sprint(workers))
}

// BootLimited is Boot with a limit on the memory of each process, in KiB.
func (l *Lab) BootLimited(kib, workers int, env ...string) *Process {
	l.t.Helper()
	return Start(l.t, Program{Path: "/bin/sh", Env: WithEnv(l.env, env...), Args: []string{
		"-c", `ulimit -d "$0" && exec "$@"`,
		fmt.Sprint(kib), Binary(l.t), "serve", "--addr", l.addr, "--workers", fmt.Sprint(workers),
	}})
}

// Load starts an import.
func (l *Lab) Load(r jobs.DataLoadRequest) ktrdr.OperationID {
	l.t.Helper()
	return l.begin("/api/v1/data/load", r)
}

// Set adds to the environment of what is started from now on.
func (l *Lab) Set(env ...string) { l.env = WithEnv(l.env, env...) }

// Fetch starts a fetch of prices.
func (l *Lab) Fetch(r jobs.DataFetchRequest) ktrdr.OperationID {
	l.t.Helper()
	return l.begin("/api/v1/data/fetch", r)
}

// Series lists the current series by the API. It costs no process, as a command does.
func (l *Lab) Series() []jobs.LibrarySeries {
	l.t.Helper()
	status, out, err := call[[]jobs.LibrarySeries](l, http.MethodGet, "/api/v1/data", nil)
	if err != nil || status != http.StatusOK {
		l.t.Fatalf("series: %d %+v %v", status, out.Error, err)
	}
	return out.Data
}

// TryFetch is Fetch of a backend that may die; "" when it did not accept the fetch.
func (l *Lab) TryFetch(r jobs.DataFetchRequest) ktrdr.OperationID {
	status, out, err := call[api.Started](l, http.MethodPost, "/api/v1/data/fetch", r)
	if err != nil || status != http.StatusAccepted {
		return ""
	}
	return out.Data.Operation
}

// Died waits until a backend is dead or ok is true, and says which.
func (l *Lab) Died(p *Process, ok func() bool) (died bool) {
	l.t.Helper()
	Eventually(l.t, time.Minute, "the backend to die or to do its work", func() bool {
		died = !p.Alive()
		return died || ok()
	})
	return died
}

// Is says whether an operation has a status; false when the backend does not answer.
func (l *Lab) Is(id ktrdr.OperationID, want ktrdr.Status) bool {
	status, out, err := call[ktrdr.Operation](l, http.MethodGet, "/api/v1/operations/"+string(id), nil)
	return err == nil && status == http.StatusOK && out.Data.Status == want
}

// Only returns the one operation of a type; "" when it does not exist yet, or the
// backend does not answer.
func (l *Lab) Only(t ktrdr.Type) ktrdr.OperationID {
	l.t.Helper()
	status, out, err := call[[]ktrdr.Operation](l, http.MethodGet, "/api/v1/operations?limit=2&type="+string(t), nil)
	if err != nil || status != http.StatusOK || len(out.Data) == 0 {
		return ""
	}
	if len(out.Data) > 1 {
		l.t.Fatalf("there is more than one operation of type %s", t)
	}
	return out.Data[0].ID
}

// WorkerNamed starts a worker of some types in a folder of that name, in which
// an earlier one may have left something.
func (l *Lab) WorkerNamed(name, types string) *Process {
	l.t.Helper()
	return l.start(nil, "worker", "--types", types, "--data", filepath.Join(l.dir, name))
}

// PowerCut kills all processes at the same moment: none has the time to notice
// that another is dead.
func PowerCut(all ...*Process) {
	for _, p := range all {
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
	}
	for _, p := range all {
		<-p.done
	}
}

// Hashes waits for the researches of a run and returns their result hashes in
// the order of the run.
func (l *Lab) Hashes(run research.Triggered) []string {
	l.t.Helper()
	hashes := make([]string, len(run.Operations))
	for i, r := range run.Operations {
		hashes[i] = l.ResultHash(r.Operation)
	}
	return hashes
}

// Gone waits until a process is no more.
func (l *Lab) Gone(pid int) {
	l.t.Helper()
	Eventually(l.t, 10*time.Second, fmt.Sprintf("process %d to be gone", pid), func() bool { return syscall.Kill(pid, 0) != nil })
}
