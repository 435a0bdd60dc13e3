package labtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Program says what to start. Output that goes to no file is kept by the Process.
type Program struct {
	Path           string // empty: the product
	Args           []string
	Env            []string
	Dir            string
	Stdin          io.Reader
	Stdout, Stderr *os.File
	User           *syscall.Credential // nil: the user of the test

	keep     bool // all that it prints, not only the end
	terminal bool // its standard input is to be its controlling terminal
}

// Process is a real process that a test has started. The kernel kills it should
// the test die first.
type Process struct {
	t              testing.TB
	name           string
	cmd            *exec.Cmd
	done           chan struct{}
	out, err, both tail
}

// Start starts a program. It is killed when the test ends, and its log is printed
// when the test has failed.
func Start(t testing.TB, program Program) *Process {
	t.Helper()
	path := program.Path
	if path == "" {
		path = Binary(t)
	}
	p := &Process{t: t, name: strings.Join(append([]string{filepath.Base(path)}, program.Args...), " "), done: make(chan struct{})}
	p.out.all, p.err.all = program.keep, program.keep
	p.cmd = exec.CommandContext(t.Context(), path, program.Args...) //nolint:gosec // the binary that the test built
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdin = program.Env, program.Dir, program.Stdin
	p.cmd.Stdout, p.cmd.Stderr = io.MultiWriter(&p.out, &p.both), io.MultiWriter(&p.err, &p.both)
	if program.Stdout != nil {
		p.cmd.Stdout = program.Stdout
	}
	if program.Stderr != nil {
		p.cmd.Stderr = program.Stderr
	}
	p.cmd.SysProcAttr = dieWithTest()
	p.cmd.SysProcAttr.Credential = program.User
	p.cmd.SysProcAttr.Setsid, p.cmd.SysProcAttr.Setctty = program.terminal, program.terminal
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // its exit code is asked for where it matters
	}()
	t.Cleanup(func() {
		p.Cont()
		p.Kill()
		if t.Failed() {
			t.Logf("---- %s\n%s", p.name, p.Log())
		}
	})
	return p
}

// Answer is the result of a program that has ended.
type Answer struct {
	Out, Err string
	Code     int // -1: a signal ended it
}

// Run runs a program to its end, which must come within 90 seconds.
func Run(t testing.TB, program Program) Answer {
	t.Helper()
	program.keep = true
	p := Start(t, program)
	code := p.Exit(90 * time.Second)
	return Answer{p.Out(), p.Err(), code}
}

// Ready waits for the JSON that the process prints when it is ready.
func (p *Process) Ready(v any) {
	p.t.Helper()
	Eventually(p.t, time.Minute, p.name+" to be ready", func() bool {
		alive := p.Alive()
		err := json.NewDecoder(strings.NewReader(p.out.String())).Decode(v)
		if err != nil && !alive {
			p.t.Fatalf("%s did not start: %v\n%s", p.name, err, p.Log())
		}
		return err == nil
	})
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// State is how the process has ended.
func (p *Process) State() *os.ProcessState {
	<-p.done
	return p.cmd.ProcessState
}

// Kill is kill -9, and waits until the kernel has taken the process away.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// End sends a signal and returns the exit code of the process, which has 30
// seconds to end.
func (p *Process) End(s syscall.Signal) int {
	p.t.Helper()
	p.Signal(s)
	return p.Exit(30 * time.Second)
}

// Exit waits for the process to end by itself and returns its exit code; -1
// for a signal.
func (p *Process) Exit(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		p.t.Fatalf("%s did not stop within %v\n%s", p.name, within, p.Log())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Alive says whether the process has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Signal sends a signal. A process that has ended needs none.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// Stop freezes the process, as a laptop lid does.
func (p *Process) Stop() { p.Signal(syscall.SIGSTOP) }

// Cont continues a stopped process.
func (p *Process) Cont() { p.Signal(syscall.SIGCONT) }

// Log returns the last 256 KiB that the process has printed.
func (p *Process) Log() string { return p.both.String() }

// Out is the part of the log that came from standard output.
func (p *Process) Out() string { return p.out.String() }

// Err is the part of the log that came from standard error.
func (p *Process) Err() string { return p.err.String() }

// tail keeps the last part of what is written to it.
type tail struct {
	all bool // keep the rest too
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 256 << 10

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, b...)
	if over := len(w.buf) - tailBytes; over > 0 && !w.all {
		w.buf = slices.Delete(w.buf, 0, over)
	}
	return len(b), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(bytes.Clone(w.buf))
}

// Eventually polls until ok returns true, or fails the test with what it was
// waiting for. What happens in another process sends no signal.
func Eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still waiting for %s", within, what)
		}
		pace()
	}
}

// pace is the time between two tries.
func pace() { <-time.After(20 * time.Millisecond) }
