package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/httpapi"
)

const demoHelp = `See it work: a real backend and two real workers run a tree of operations. On the
way one worker is killed with kill -9, then the backend. What they held is
recovered, the tree completes, and its result is compared with the one that
nothing had disturbed. It takes about twenty seconds and leaves nothing behind.`

// The demo's times: the product's own, scaled down so that a recovery that
// takes a minute by default takes two seconds.
var demoEnv = []string{
	"ORPHAN_TIMEOUT_SECONDS=2", "ORPHAN_CHECK_INTERVAL_SECONDS=0.5", "HEARTBEAT_INTERVAL_SECONDS=0.3",
	"KTRDR_TLS_CERT=", "KTRDR_TLS_KEY=", "KTRDR_AUTH=", "KTRDR_DB=", "KTRDR_CONFIG=", "KTRDR_HOSTS=", "CHECKPOINT_DIR=",
}

func newDemo(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "See a worker and a backend killed, and their work recovered", Long: demoHelp, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := a.demo(cmd.Context())
			if cause := context.Cause(cmd.Context()); cause != nil {
				return cause
			}
			return err
		},
	}
}

// demoTree is what the demo runs: three branches at once, each of leaves one
// after another.
func demoTree() dummy.Spec {
	tree := dummy.Spec{Parallel: true}
	for branch := range 3 {
		var b dummy.Spec
		for leaf := range 2 {
			b.Children = append(b.Children, dummy.Spec{
				Steps: 50, StepMS: 60, CheckpointEvery: 5, ArtifactBytes: 100_000, Seed: int64(10*branch + leaf + 1),
			})
		}
		tree.Children = append(tree.Children, b)
	}
	return tree
}

// demo is one performance.
type demo struct {
	a      *app
	dir    string
	env    []string
	screen *screen // nil when nothing can be redrawn

	server  *child
	workers []*child
	url     string
	client  *httpapi.Client
	root    ktrdr.OperationID

	ops      []ktrdr.Operation
	orphaned int
	act      int // how much of the story has been played
}

func (a *app) demo(ctx context.Context) error {
	dir := a.data
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "ktrdr-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	} else if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return usagef("%s is not empty: give the demo a new folder, or none", dir)
	}
	d := &demo{a: a, dir: dir, env: append(append(os.Environ(), "KTRDR_DATA="+filepath.Join(dir, "data")), demoEnv...)}
	if terminal(a.out) && !a.json {
		d.screen = &screen{w: a.out}
	}
	defer d.end()
	return d.perform(ctx)
}

func (d *demo) perform(ctx context.Context) error {
	if err := d.serve(ctx, "127.0.0.1:0"); err != nil {
		return err
	}
	for range 2 {
		if err := d.hire(ctx); err != nil {
			return err
		}
	}
	events, stopEvents := d.listen(ctx)
	defer stopEvents()
	tree := demoTree()
	started, err := d.client.StartDummy(ctx, tree, "")
	if err != nil {
		return err
	}
	d.root = started.Operation
	d.say("a tree of operations is started: %s", d.root)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			return fmt.Errorf("the tree has not completed within two minutes; the backend said: %s", d.server.log)
		case e := <-events:
			d.tell(e)
		case <-tick.C:
			if err := d.look(ctx); err != nil {
				return err
			}
			if err := d.play(ctx); err != nil {
				return err
			}
			if root := d.find(d.root); root != nil && root.Status.Terminal() {
				return d.verdict(*root, tree)
			}
		}
	}
}

// serve starts the backend and makes a client of it.
func (d *demo) serve(ctx context.Context, addr string) error {
	var said announcement
	var err error
	d.server, err = startChild(ctx, "backend", d.env, &said, "serve", "--workers", "0", "--addr", addr)
	if err != nil {
		return err
	}
	d.url = said.URL
	u, err := url.Parse(said.URL)
	if err != nil {
		return err
	}
	token, err := readToken(said.Token)
	if err != nil {
		return err
	}
	d.say("backend pid %d at %s, data in %s", d.server.pid(), d.url, d.dir)
	d.client, err = d.a.clientFor(u, token)
	return err
}

// hire starts another worker.
func (d *demo) hire(ctx context.Context) error {
	n := len(d.workers) + 1
	var said workerSaid
	w, err := startChild(ctx, fmt.Sprintf("worker %d", n), d.env, &said,
		"worker", "--url", d.url, "--slots", "2", "--name", fmt.Sprintf("worker-%d", n), "--data", filepath.Join(d.dir, fmt.Sprintf("worker%d", n)))
	if err != nil {
		return err
	}
	d.workers = append(d.workers, w)
	d.say("worker %d is pid %d, id %s", n, w.pid(), said.ID)
	return nil
}

// listen passes the events on until it is told to stop.
func (d *demo) listen(ctx context.Context) (<-chan ktrdr.Event, func()) {
	ctx, cancel := context.WithCancel(ctx)
	events, done := make(chan ktrdr.Event), make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range d.client.FollowEvents(ctx, "", ktrdr.Cursor{}) {
			if err != nil {
				continue // the backend is being killed; it reconnects
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, func() { cancel(); <-done }
}

// play does the next cruel thing when its time has come.
func (d *demo) play(ctx context.Context) error {
	done, running := 0, 0
	for _, op := range d.ops {
		if op.Status == ktrdr.Completed && !op.HasPlan {
			done++
		}
		if op.Status == ktrdr.Running && !op.HasPlan && op.Checkpoint != nil && op.Checkpoint.Step >= 10 {
			running++
		}
	}
	switch {
	case d.act == 0 && running >= 3:
		d.act++
		d.say("✗ kill -9 of worker 1, pid %d: nobody is told", d.workers[0].pid())
		d.workers[0].kill()
	case d.act == 1 && d.orphaned > 0:
		d.act++
		return d.hire(ctx)
	case d.act == 2 && done >= 2:
		d.act++
		addr := strings.TrimPrefix(d.url, "http://")
		d.say("✗ kill -9 of the backend, pid %d, and start it again", d.server.pid())
		d.server.kill()
		return d.serve(ctx, addr)
	}
	return nil
}

// end stops everybody: workers first, who have something to give back.
func (d *demo) end() {
	for _, w := range d.workers {
		w.stop()
	}
	if d.server != nil {
		d.server.stop()
	}
}
