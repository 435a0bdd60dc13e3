package backend

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/worker"
)

// ChildCommand is the command that a backend starts as its child process.
const ChildCommand = "child"

// childAddress is where a child process finds the backend that started it. It
// is the first line of its standard input.
type childAddress struct {
	URL   string       `json:"url"`
	Token ktrdr.Secret `json:"token"`
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
		os.Exit(1) // the parent is gone: there is no one to report to
	}()
	kernel, err := KernelNamed(p.Getenv("KTRDR_KERNEL"))
	if err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "KTRDR_KERNEL: %w", err)
	}
	c, err := client.New(at.URL, at.Token, client.Options{Version: p.Version})
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := worker.New(worker.Config{
		Name: "child", Runners: childRunners(kernel), Version: p.Version, Log: p.Log, StopWithin: stopChildWithin,
	}, c)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// stopChildWithin is less than what its backend has for all its workers.
const stopChildWithin = StopWorkersWithin * 3 / 4

// childRunners are all that a backend hands to child processes.
func childRunners(k neural.Kernel) map[ktrdr.Type]worker.Runner {
	all := Runners(k)
	all[ktrdr.DataLoad] = jobs.ReadRunner()
	all[ktrdr.AgentConfirm] = agent.Inject(agent.ConfirmationRunner())
	return all
}

// runChild implements worker.Child: it serves b to a process of this binary,
// on a port of its own that asks for a token which only that process has.
func (b *Backend) runChild(ctx context.Context, stop <-chan struct{}, w worker.Backend) (err error) {
	notStarted := func(err error) error { return fmt.Errorf("%w: %w", worker.ErrNotStarted, err) }
	l, err := listenLoopback(ctx)
	if err != nil {
		return notStarted(err)
	}
	secret, token := httpapi.NewToken("child process", ktrdr.ScopeWorker)
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

	p, err := b.startProcess(ctx, childAddress{URL: "http://" + l.Addr().String(), Token: secret})
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
