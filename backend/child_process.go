package backend

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/ktrdr/ktrdr/dummy"
)

// childProcess is a child process of a backend. It dies with it: the kernel
// kills it, and its standard input ends.
type childProcess struct {
	cmd  *exec.Cmd
	last *lastWords
}

// startProcess starts this binary as a child process and tells it where the
// backend is. It is killed when ctx ends.
func (b *Backend) startProcess(ctx context.Context, at childAddress) (*childProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &childProcess{last: &lastWords{}}
	p.cmd = exec.CommandContext(ctx, self, ChildCommand) //nolint:gosec // our own binary
	p.cmd.WaitDelay = childPatience
	p.cmd.Env = childEnv(os.Environ(), b.cfg.Kernel)
	p.cmd.SysProcAttr = OwnGroup()
	p.cmd.Stderr = io.MultiWriter(b.Stderr, p.last)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := json.Marshal(map[string]string{"url": at.URL, "token": at.Token.Reveal()})
	if err == nil {
		_, err = in.Write(append(line, '\n')) // a process that has died meanwhile is told of by wait
	}
	if err != nil {
		b.Log.WarnContext(ctx, "child process was not told where its backend is", "err", err)
	}
	return p, nil
}

// stop asks the process to stop.
func (p *childProcess) stop() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// wait waits until the process is gone and says how it ended.
func (p *childProcess) wait() error {
	err := cmp.Or(p.cmd.Wait(), errEnded)
	if why := p.last.String(); why != "" {
		return fmt.Errorf("%w: %s", err, why)
	}
	return err
}

// childEnv is the environment of a child process: of ours only what computing
// needs. Keys, tokens and the database's password stay here.
func childEnv(ours []string, kernel string) []string {
	keep := []string{"PATH", "HOME", "TMPDIR", "TZ", "ZONEINFO", "KTRDR_FAILPOINT", "KTRDR_FAILPOINT_ARMED_BY", dummy.WitnessEnv}
	env := []string{"KTRDR_KERNEL=" + kernel}
	for _, kv := range ours {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(keep, name) || strings.HasPrefix(name, "GO") {
			env = append(env, kv)
		}
	}
	return env
}

// listenLoopback listens on any free port that only this machine reaches.
func listenLoopback(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return lc.Listen(ctx, "tcp", "[::1]:0")
	}
	return l, nil
}

// lastWords keeps the line in which the Go runtime says why it ends a process.
type lastWords struct {
	mu   sync.Mutex
	line []byte // that is being written; lines come in pieces
	said string
}

func (l *lastWords) Write(b []byte) (int, error) {
	const most = 200
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range b {
		switch {
		case c != '\n' && len(l.line) < most:
			l.line = append(l.line, c)
		case c == '\n':
			l.end()
		}
	}
	return len(b), nil
}

// end looks at a line that is complete.
func (l *lastWords) end() {
	if l.said == "" && (bytes.HasPrefix(l.line, []byte("fatal error: ")) || bytes.HasPrefix(l.line, []byte("panic: "))) {
		l.said = string(l.line)
	}
	l.line = l.line[:0]
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said
}
