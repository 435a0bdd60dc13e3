package labtest

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Proc is one real process of the product.
type Proc struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	done chan struct{}
	log  *tail
	err  error // of Wait; read after done
}

// start runs the binary. The kernel kills it should the test die first.
func start(t testing.TB, name, bin string, env []string, args ...string) *Proc {
	t.Helper()
	p := &Proc{t: t, name: name, done: make(chan struct{}), log: &tail{}}
	p.cmd = exec.CommandContext(t.Context(), bin, args...) //nolint:gosec // the binary that the test built
	p.cmd.Cancel = func() error { return p.cmd.Process.Kill() }
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = dieWithTest()
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Cont()
		p.Kill()
		if t.Failed() {
			t.Logf("---- %s\n%s", name, p.log)
		}
	})
	return p
}

// PID is the process id.
func (p *Proc) PID() int { return p.cmd.Process.Pid }

// Kill is kill -9, and waits until the kernel has taken the process away.
func (p *Proc) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Term asks the process to stop and returns its exit code.
func (p *Proc) Term(within time.Duration) int {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.Exit(within)
}

// Exit waits for the process to end by itself and returns its exit code; -1
// for a signal.
func (p *Proc) Exit(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		p.t.Fatalf("%s did not stop within %v\n%s", p.name, within, p.log)
	}
	if p.err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return exit.ExitCode()
	}
	p.t.Fatalf("%s: %v", p.name, p.err)
	return -1
}

// Alive says whether the process has not ended.
func (p *Proc) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Stop freezes the process, as a laptop lid does; Cont thaws it.
func (p *Proc) Stop() { _ = p.cmd.Process.Signal(syscall.SIGSTOP) }

// Cont lets a frozen process go on.
func (p *Proc) Cont() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// Log returns what the process has printed lately.
func (p *Proc) Log() string { return p.log.String() }

// tail keeps the last part of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 256 << 10

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, b...)
	if over := len(w.buf) - tailBytes; over > 0 {
		w.buf = slices.Delete(w.buf, 0, over)
	}
	return len(b), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(bytes.Clone(w.buf))
}

// eventually polls until ok returns true, or fails the test with what it was
// waiting for.
func eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still waiting for %s", within, what)
		}
		pace()
	}
}

// pace is between two looks at something in another process, which sends no
// signal.
func pace() { <-time.After(20 * time.Millisecond) }

func join(env []string, more ...string) []string {
	out := slices.Clone(env)
	for _, kv := range more {
		key, _, _ := strings.Cut(kv, "=")
		out = slices.DeleteFunc(out, func(have string) bool { return strings.HasPrefix(have, key+"=") })
		out = append(out, kv)
	}
	return out
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g", d.Seconds()) }
