package backend

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/worker"
)

// ChildCommand is the command that a backend starts as its child process.
const ChildCommand = "child"

// childAddress is where a child process finds the backend that started it. It
// is the first line of its standard input.
type childAddress struct {
	URL   string       `json:"url"`
	Token ktrdr.Secret `json:"token"`

	// What a fetch needs. Addresses may hold keys, so they are not in the environment.
	Networks []string                `json:"fetch_networks,omitempty"`
	Sources  map[string]ktrdr.Secret `json:"fetch_sources,omitempty"`
}

// RunChild is the whole life of a child process: a worker with one slot until ctx
// ends or its parent kills it. When its parent dies the standard input ends, and
// the process at once with it.
func RunChild(ctx context.Context, in io.Reader, p Process) error {
	Private()
	dieFirst()
	said := bufio.NewReader(in)
	line, err := said.ReadBytes('\n')
	var at childAddress
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid,
			"`ktrdr %s` is started by `ktrdr serve` only: its standard input must say where the backend is: %w", ChildCommand, err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, said)
		os.Exit(1) // the parent is gone: no process takes the result
	}()
	kernel, err := KernelNamed(p.Getenv("KTRDR_KERNEL"))
	if err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "KTRDR_KERNEL: %w", err)
	}
	fetcher, err := Fetch{at.Networks, at.Sources}.Open()
	if err != nil {
		return err
	}
	defer fetcher.Close()
	c, err := client.New(at.URL, at.Token, client.Options{Version: p.Version})
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := worker.New(worker.Config{
		Name: "child", Runners: (&Backend{kernel: kernel, fetcher: fetcher}).runners(inChild), Version: p.Version, Log: p.Log,
		StopWithin: stopChildWithin,
	}, c)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// stopChildWithin is less than what its backend has for all its workers.
const stopChildWithin = StopWorkersWithin * 3 / 4

// runChild implements worker.Child: it serves b to a process of this binary,
// on a port of its own that asks for a token which only that process has.
func (b *Backend) runChild(ctx context.Context, stop <-chan struct{}, w worker.Backend) (err error) {
	notStarted := func(err error) error { return fmt.Errorf("%w: %w", worker.ErrNotStarted, err) }
	l, err := listenLoopback(ctx)
	if err != nil {
		return notStarted(err)
	}
	secret, token := httpapi.NewToken("child process", ktrdr.ScopeWorker)
	//nolint:contextcheck // a row has the context of its request
	server := httpapi.NewChild(childWork{w}, childBlobs{b.engine}, token, b.Log)
	serving, endServing := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, l) }()
	defer func() {
		endServing()
		if bad := <-served; bad != nil {
			b.Log.WarnContext(ctx, "child process was not served", "err", bad)
		}
	}()

	p, err := b.startProcess(ctx, childAddress{
		URL: "http://" + l.Addr().String(), Token: secret, Networks: b.cfg.Fetch.Networks, Sources: b.cfg.Fetch.Sources,
	})
	if err != nil {
		return notStarted(err)
	}
	gone := make(chan struct{})
	defer close(gone)
	go func() {
		select {
		case <-stop:
			p.stop()
		case <-gone:
		}
	}()
	return p.wait()
}

// childWork is a worker.Backend as the API needs it.
type childWork struct{ worker.Backend }

// Workers implements httpapi.Work.
func (childWork) Workers(context.Context) ([]ktrdr.Worker, error) { return nil, nil }

// childBlobs lets a child process read what its operation was given, also what
// is kept from workers elsewhere: a holdout.
type childBlobs struct{ httpapi.Blobs }

// MayRead implements httpapi.Blobs. Which of them an operation may read is
// decided where it opens them: it must be named by its spec.
func (childBlobs) MayRead(context.Context, ktrdr.Hash) error { return nil }

// errEnded is how a child process ends that was not killed and that did not say
// why.
var errEnded = errors.New("the process ended before its operation did")

// childPatience is how long a killed process may take to be gone.
const childPatience = 10 * time.Second

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
	sources := map[string]string{}
	for name, address := range at.Sources {
		sources[name] = address.Reveal()
	}
	line, err := json.Marshal(map[string]any{
		"url": at.URL, "token": at.Token.Reveal(), "fetch_networks": at.Networks, "fetch_sources": sources,
	})
	if err == nil {
		_, err = in.Write(append(line, '\n')) // wait reports a process that has died meanwhile
	}
	if err != nil {
		b.Log.WarnContext(ctx, "child process was not told where its backend is", "err", err)
	}
	return p, nil
}

func (p *childProcess) stop() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

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
	keep := []string{
		"PATH", "HOME", "TMPDIR", "TZ", "ZONEINFO", "SSL_CERT_FILE", "SSL_CERT_DIR", "KTRDR_FAILPOINT",
		"KTRDR_FAILPOINT_ARMED_BY", dummy.WitnessEnv,
	}
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
