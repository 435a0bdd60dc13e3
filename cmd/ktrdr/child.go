package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr/backend"
)

type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	log  *lastLines
}

// startChild runs this binary with the given arguments and waits until it has
// printed its first JSON document, which is decoded into ready.
func startChild(ctx context.Context, name string, env []string, ready any, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{name: name, done: make(chan struct{}), log: &lastLines{}}
	c.cmd = exec.CommandContext(ctx, self, append(args, "--json")...) //nolint:gosec // our own binary
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGTERM) }
	c.cmd.WaitDelay = 30 * time.Second
	c.cmd.Env = env
	c.cmd.SysProcAttr = backend.OwnGroup()
	c.cmd.Stderr = c.log
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	said := bufio.NewReader(stdout)
	readyErr := json.NewDecoder(said).Decode(ready)
	go func() {
		defer close(c.done)
		_, _ = io.Copy(io.Discard, said)
		_ = c.cmd.Wait() // how it ended is told by its log
	}()
	if readyErr != nil {
		c.kill()
		return nil, fmt.Errorf("%s did not start: %s", name, c.log)
	}
	return c, nil
}

// kill is kill -9, and waits until the process is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// stop asks the process to stop, and kills it after a while.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(30*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	<-c.done
}

func (c *child) pid() int { return c.cmd.Process.Pid }

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
