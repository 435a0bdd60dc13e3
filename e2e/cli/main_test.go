package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backend"

	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// binary is the real thing, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ktrdr-cli-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "ktrdr")
	code := 1
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "../../cmd/ktrdr").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
	} else {
		code = pgtest.Main(m)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// lab is a data folder and the environment of the processes that use it.
type lab struct {
	t    *testing.T
	data string
	env  []string
	url  string

	program string // that starts the binary; empty means the binary itself
}

// newLab makes a lab whose environment holds nothing
// of the person who runs the tests, and in which nobody is given up only because
// the machine is busy.
func newLab(t *testing.T, env ...string) *lab {
	t.Helper()
	l := &lab{t: t, data: filepath.Join(t.TempDir(), "data")}
	l.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "KTRDR_DATA=" + l.data,
		"ORPHAN_TIMEOUT_SECONDS=20", "ORPHAN_CHECK_INTERVAL_SECONDS=0.5", "HEARTBEAT_INTERVAL_SECONDS=0.25",
	}, env...)
	return l
}

// answer is what a finished command said.
type answer struct {
	out, err string
	code     int
}

func (a answer) String() string { return fmt.Sprintf("exit %d\n%s%s", a.code, a.out, a.err) }

// run runs a command to its end.
func (l *lab) run(args ...string) answer {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = l.env
	if l.url != "" {
		cmd.Env = append(cmd.Env, "KTRDR_URL="+l.url)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || ctx.Err() != nil) {
		l.t.Fatalf("ktrdr %s: %v (%v)\n%s%s", strings.Join(args, " "), err, exit, stdout.String(), stderr.String())
	}
	return answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// must runs a command that has to succeed and returns what it printed.
func (l *lab) must(args ...string) string {
	l.t.Helper()
	a := l.run(args...)
	if a.code != 0 {
		l.t.Fatalf("ktrdr %s: %v", strings.Join(args, " "), a)
	}
	return a.out
}

// refused runs a command that has to fail with a code and a sentence.
func (l *lab) refused(code int, says string, args ...string) {
	l.t.Helper()
	a := l.run(args...)
	if a.code != code || !strings.Contains(a.err+a.out, says) {
		l.t.Errorf("ktrdr %s: %v\nwant exit %d and %q", strings.Join(args, " "), a, code, says)
	}
}

// process is one that runs beside the test.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
	log  *lastLines
}

// begin starts a command and waits for the JSON it prints when it is ready.
func (l *lab) begin(ready any, args ...string) *process {
	l.t.Helper()
	p := &process{t: l.t, done: make(chan struct{}), log: &lastLines{}}
	p.cmd = exec.CommandContext(l.t.Context(), cmp.Or(l.program, binary), append(args, "--json")...)
	p.cmd.Env = append(l.env, "KTRDR_URL="+l.url)
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = backend.OwnGroup()
	p.cmd.Cancel = func() error { return p.cmd.Process.Kill() }
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	err = json.NewDecoder(stdout).Decode(ready)
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	l.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if l.t.Failed() {
			l.t.Logf("%s said:\n%s", args[0], p.log)
		}
	})
	if err != nil {
		l.t.Fatalf("ktrdr %s did not start: %v\n%s", strings.Join(args, " "), err, p.log)
	}
	return p
}

// stop sends a signal and returns the exit code.
func (p *process) stop(s syscall.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("did not stop within 30 s:\n%s", p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

// serve starts a backend on a free port and makes it the lab's server.
func (l *lab) serve(args ...string) (*process, backend.Announcement) {
	l.t.Helper()
	var said backend.Announcement
	p := l.begin(&said, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	l.url = said.URL
	return p, said
}

// worker starts a worker process.
func (l *lab) worker(args ...string) *process {
	l.t.Helper()
	var said workerSaid
	return l.begin(&said, append([]string{"worker", "--data", filepath.Join(l.t.TempDir(), "worker")}, args...)...)
}

// decode reads JSON that a command printed.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// lastLines keeps the end of what a process said, for the case that it must be
// quoted.
type lastLines struct {
	mu  sync.Mutex
	buf []byte
}

func (l *lastLines) Write(b []byte) (int, error) {
	const most = 4 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, b...)
	if over := len(l.buf) - most; over > 0 {
		l.buf = append(l.buf[:0], l.buf[over:]...)
	}
	return len(b), nil
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.buf))
}
