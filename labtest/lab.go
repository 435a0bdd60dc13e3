package labtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/dummy"
)

// StoreKind is the database a lab runs on.
type StoreKind string

// The two.
const (
	SQLite   StoreKind = "sqlite"
	Postgres StoreKind = "postgres"
)

// Lab is one installation: a data folder, a database, and the processes that
// a test starts on them.
type Lab struct {
	t    testing.TB
	kind StoreKind
	dir  string
	data string // the backend's folder
	db   string // URL; empty for SQLite
	addr string
	env  []string

	workers int
	acked   []submitted // every submit that was answered
}

type submitted struct {
	id   ktrdr.OperationID
	spec dummy.Spec
}

// New makes a lab on the given kind of store. Its backend asks for no token.
func New(t testing.TB, kind StoreKind, times Times) *Lab {
	t.Helper()
	l := &Lab{t: t, kind: kind, dir: t.TempDir(), addr: Address(t)}
	l.data = filepath.Join(l.dir, "data")
	l.env = Environment(t, l.data, times, "KTRDR_AUTH=none", "KTRDR_URL=http://"+l.addr, dummy.WitnessEnv+"="+l.steps())
	if kind == Postgres {
		l.db = Database(t)
		l.env = append(l.env, "KTRDR_DB="+l.db)
	} else {
		databaseFile(t, l.data)
	}
	return l
}

// start starts the product with the lab's environment and some variables more.
func (l *Lab) start(env []string, args ...string) *Process {
	l.t.Helper()
	return Start(l.t, Program{Args: args, Env: WithEnv(l.env, env...)})
}

// Serve starts the backend and waits until it is healthy. Without options it
// runs no work itself.
func (l *Lab) Serve(env ...string) *Process {
	l.t.Helper()
	return l.ServeWith(0, env...)
}

// ServeWith starts the backend with workers of its own.
func (l *Lab) ServeWith(workers int, env ...string) *Process {
	l.t.Helper()
	p := l.start(env, "serve", "--addr", l.addr, "--workers", fmt.Sprint(workers))
	l.Healthy(p)
	return p
}

// Accepted asks a backend that runs no work for an operation, and ends that backend. The
// next backend runs the operation. One backend that does both, and is killed by the
// operation, may be dead before it has answered.
func (l *Lab) Accepted(ask func() ktrdr.OperationID) ktrdr.OperationID {
	l.t.Helper()
	backend := l.Serve()
	id := ask()
	backend.End(syscall.SIGTERM)
	return id
}

// Start starts the backend and does not wait: it may die while starting.
func (l *Lab) Start(env ...string) *Process {
	l.t.Helper()
	return l.start(env, "serve", "--addr", l.addr, "--workers", "0")
}

// Killed starts the backend with workers of its own and a failpoint, and waits until that
// has killed it. It may be dead before it is healthy.
func (l *Lab) Killed(workers int, point string, env ...string) {
	l.t.Helper()
	p := l.start(append(env, "KTRDR_FAILPOINT="+point), "serve", "--addr", l.addr, "--workers", fmt.Sprint(workers))
	if code := p.Exit(3 * time.Minute); code != -1 {
		l.t.Fatalf("the backend ended with %d instead of being killed at %s\n%s", code, point, p.Log())
	}
}

// KilledCommand runs the binary with a failpoint, which must kill it.
func (l *Lab) KilledCommand(point string, args ...string) {
	l.t.Helper()
	p := l.start([]string{"KTRDR_FAILPOINT=" + point}, args...)
	if code := p.Exit(time.Minute); code != -1 {
		l.t.Fatalf("%v ended with %d instead of being killed at %s\n%s", args, code, point, p.Log())
	}
}

// Client returns a client of the backend, for tests that are a worker
// themselves.
func (l *Lab) Client() *client.Client {
	l.t.Helper()
	c, err := client.New("http://"+l.addr, "", client.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// Healthy waits until p answers.
func (l *Lab) Healthy(p *Process) {
	l.t.Helper()
	Eventually(l.t, 30*time.Second, "the backend's health", func() bool {
		if !p.Alive() {
			l.t.Fatalf("%s ended while starting\n%s", p.name, p.Log())
		}
		_, err := l.Health()
		return err == nil
	})
}

// Second returns a lab that shares the database and the blobs but has its own
// data folder and address: another backend of the same installation.
func (l *Lab) Second() *Lab {
	l.t.Helper()
	other := *l
	other.addr, other.data = Address(l.t), filepath.Join(l.dir, "data2")
	other.env = WithEnv(l.env,
		"KTRDR_DATA="+other.data,
		"KTRDR_URL=http://"+other.addr,
		"CHECKPOINT_DIR="+filepath.Join(l.dir, "data", "blobs"))
	return &other
}

// CopyIdentity makes this lab's backend the same as the other's, as copying a
// data folder does.
func (l *Lab) CopyIdentity(other *Lab) {
	l.t.Helper()
	id, err := os.ReadFile(filepath.Join(other.data, "backend-id"))
	if err == nil {
		err = os.MkdirAll(l.data, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(l.data, "backend-id"), id, 0o600)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// Worker starts a worker process with its own folder.
func (l *Lab) Worker(env ...string) *Process {
	l.t.Helper()
	l.workers++
	return l.WorkerIn(filepath.Join(l.dir, fmt.Sprintf("worker%d", l.workers)), env...)
}

// WorkerIn starts a worker process in a folder that an earlier one may have
// used.
func (l *Lab) WorkerIn(dir string, env ...string) *Process {
	l.t.Helper()
	return l.start(env, "worker", "--types", "dummy", "--slots", "2", "--data", dir)
}

// WorkerOn starts a worker that reaches the backend over the given line.
func (l *Lab) WorkerOn(line *Line) *Process {
	l.t.Helper()
	return l.Worker("KTRDR_URL=" + line.URL)
}

// WorkerDir is the folder of the n-th worker that Worker started.
func (l *Lab) WorkerDir(n int) string { return filepath.Join(l.dir, fmt.Sprintf("worker%d", n)) }

// Command runs the binary to its end and returns what it printed.
func (l *Lab) Command(args ...string) (string, int) {
	l.t.Helper()
	p := l.start(nil, args...)
	code := p.Exit(time.Minute)
	return p.Log(), code
}

type envelope[T any] struct {
	Success bool `json:"success"`
	Data    T    `json:"data"`
	Error   *struct {
		Code    ktrdr.Code `json:"code"`
		Message string     `json:"message"`
	} `json:"error"`
	Next string `json:"next_cursor"`
}

// call makes one request. A transport error is returned: the backend may be
// dead, which is for the test to judge.
func call[T any](l *Lab, method, path string, body any, headers ...string) (int, envelope[T], error) {
	var out envelope[T]
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			l.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+l.addr+path, in)
	if err != nil {
		l.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, out, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, out, err
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return res.StatusCode, out, fmt.Errorf("%s %s: %w in %.200s", method, path, err, b)
	}
	return res.StatusCode, out, nil
}

// Health returns the backend's own account.
func (l *Lab) Health() (ktrdr.Health, error) {
	var h ktrdr.Health
	ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.addr+"/api/v1/health", nil)
	if err != nil {
		return h, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return h, err
	}
	defer func() { _ = res.Body.Close() }()
	return h, json.NewDecoder(res.Body).Decode(&h)
}

// Submit starts a dummy operation and remembers that it was acknowledged.
func (l *Lab) Submit(spec dummy.Spec) ktrdr.OperationID {
	l.t.Helper()
	id, err := l.TrySubmit(spec, "")
	if err != nil {
		l.t.Fatal(err)
	}
	return id
}

// TrySubmit submits under an idempotency key; the backend may be dying.
func (l *Lab) TrySubmit(spec dummy.Spec, key string) (ktrdr.OperationID, error) {
	var headers []string
	if key != "" {
		headers = []string{"Idempotency-Key", key}
	}
	status, out, err := call[struct {
		ID ktrdr.OperationID `json:"operation_id"`
	}](l, http.MethodPost, "/api/v1/dummy/start", spec, headers...)
	if err != nil {
		return "", err
	}
	if status != http.StatusAccepted {
		return "", fmt.Errorf("submit: %d %+v", status, out.Error)
	}
	l.acked = append(l.acked, submitted{out.Data.ID, spec})
	return out.Data.ID, nil
}

// Op returns an operation; the backend must answer.
func (l *Lab) Op(id ktrdr.OperationID) ktrdr.Operation {
	l.t.Helper()
	status, out, err := call[ktrdr.Operation](l, http.MethodGet, "/api/v1/operations/"+string(id), nil)
	if err != nil || status != http.StatusOK {
		l.t.Fatalf("get %s: %d %+v %v", id, status, out.Error, err)
	}
	return out.Data
}

// Children returns an operation's children, in their order.
func (l *Lab) Children(id ktrdr.OperationID) []ktrdr.Operation {
	l.t.Helper()
	status, out, err := call[[]ktrdr.Operation](l, http.MethodGet, "/api/v1/operations/"+string(id)+"/children", nil)
	if err != nil || status != http.StatusOK {
		l.t.Fatalf("children of %s: %d %+v %v", id, status, out.Error, err)
	}
	all := make([]ktrdr.Operation, len(out.Data)) // a list has only rows
	for i, row := range out.Data {
		all[i] = l.Op(row.ID)
	}
	slices.SortFunc(all, func(a, b ktrdr.Operation) int { return a.Ordinal - b.Ordinal })
	return all
}

// Until waits for an operation to satisfy ok.
func (l *Lab) Until(id ktrdr.OperationID, within time.Duration, what string, ok func(ktrdr.Operation) bool) ktrdr.Operation {
	l.t.Helper()
	var op ktrdr.Operation
	deadline := time.Now().Add(within)
	for {
		status, out, err := call[ktrdr.Operation](l, http.MethodGet, "/api/v1/operations/"+string(id), nil)
		if op = out.Data; err == nil && status == http.StatusOK && ok(op) {
			return op
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("after %v %s is not %s: it is %s at step %d, epoch %d (%s); last answer %d %v", within, id, what, op.Status,
				op.Progress.StepsCompleted, op.Epoch, op.ErrorMessage, status, err)
		}
		pace()
	}
}

// Ends waits for an operation to end as it should.
func (l *Lab) Ends(id ktrdr.OperationID, want ktrdr.Status) ktrdr.Operation {
	l.t.Helper()
	op := l.Until(id, time.Minute, "ended", func(op ktrdr.Operation) bool { return op.Status.Terminal() })
	if op.Status != want {
		l.t.Fatalf("%s ended %s (%s), want %s", id, op.Status, op.ErrorMessage, want)
	}
	return op
}

// Step waits until an operation runs and has passed a step.
func (l *Lab) Step(id ktrdr.OperationID, step int64) ktrdr.Operation {
	l.t.Helper()
	return l.Until(id, time.Minute, fmt.Sprintf("running past step %d", step), func(op ktrdr.Operation) bool {
		return op.Status == ktrdr.Running && op.MaxStep >= step
	})
}

// Resume resumes an operation.
func (l *Lab) Resume(id ktrdr.OperationID) {
	l.t.Helper()
	status, out, err := call[json.RawMessage](l, http.MethodPost, "/api/v1/operations/"+string(id)+"/resume", nil)
	if err != nil || status != http.StatusOK {
		l.t.Fatalf("resume %s: %d %+v %v", id, status, out.Error, err)
	}
}

// Cancel cancels an operation and returns the status of the answer.
func (l *Lab) Cancel(id ktrdr.OperationID) int {
	l.t.Helper()
	status := l.TryCancel(id)
	if status == 0 {
		l.t.Fatalf("cancel %s: no answer", id)
	}
	return status
}
