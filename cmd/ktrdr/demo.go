package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/internal/term"
)

const demoHelp = `Run eight researches on a made-up market that has a known edge. A real backend
designs, trains, backtests and judges strategies, and a table shows the results. The
first line is the link to the page, the last lines are the commands for your own
prices. On a terminal the backend then keeps running until Ctrl-C. With --exit, or in a pipe, the
demo ends after the result. It leaves no files unless --data names a folder.

--kill shows crash recovery instead: a backend and two workers run a tree of
operations. One worker is killed with kill -9, then the backend. The work is
recovered, and the result is compared with that of a run without crashes.`

// What the environment of the demo's processes is besides the user's: nothing
// that would make it another demo, and times scaled down so that a recovery that
// takes a minute by default takes two seconds.
var demoEnv = []string{
	"ORPHAN_TIMEOUT_SECONDS=2", "ORPHAN_CHECK_INTERVAL_SECONDS=0.5", "HEARTBEAT_INTERVAL_SECONDS=0.3",
	"KTRDR_TLS_CERT=", "KTRDR_TLS_KEY=", "KTRDR_AUTH=", "KTRDR_DB=", "KTRDR_CONFIG=", "KTRDR_HOSTS=", "CHECKPOINT_DIR=",
	"KTRDR_WORKERS=", "KTRDR_AGENTS=", "KTRDR_MAX_RESEARCHES=", "KTRDR_WEBHOOK=", "KTRDR_INJECT=",
	"KTRDR_HOLDOUT=", "KTRDR_GENERATION=", "KTRDR_COSTS=" + demoCosts,
}

func newDemo(a *app) *cobra.Command {
	var (
		f    researchDemo
		kill bool
	)
	cmd := &cobra.Command{
		Use: "demo", Short: "Run eight researches on a made-up market, or show crash recovery with --kill", Long: demoHelp, Args: noArgs,
	}
	cmd.Flags().IntVar(&f.researches, "researches", 8, "number of researches")
	bounded(cmd, "researches", &f.researches, 1, maxDemo)
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "another seed is another market")
	cmd.Flags().Float64Var(&f.edge, "edge", demoEdge, "how strong the planted rule is, 0 to 1; 0 plants none")
	cmd.Flags().StringVar(&f.costs, "costs", "", "cost floors in basis points, `SYMBOL=COMMISSION/SLIPPAGE/SPREAD` (default "+demoCosts+")")
	cmd.Flags().BoolVar(&f.exit, "exit", false, "end after the result, also on a terminal")
	addOpen(cmd, &f.open)
	cmd.Flags().BoolVar(&kill, "kill", false, "kill a worker and the backend, and show how their work is recovered")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if kill && slices.ContainsFunc([]string{"researches", "seed", "edge", "costs", "open"}, cmd.Flags().Changed) {
			return usagef("--kill has no researches: leave out --researches, --seed, --edge, --costs and --open")
		}
		if !(f.edge >= 0 && f.edge <= 1) { // so that NaN is refused too
			return usagef("--edge must be 0 to 1, not %v", f.edge)
		}
		show := f.show
		if kill {
			show = killDemo
		}
		return a.demo(cmd.Context(), show)
	}
	return cmd
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

type demo struct {
	a      *app
	dir    string
	env    []string
	screen *term.Screen // nil when nothing can be redrawn

	server  *child
	workers []*child
	url     string
	link    string // to the page
	client  *client.Client
	root    ktrdr.OperationID

	ops      []ktrdr.Operation
	orphaned int
	act      int // how much of the story has been played
}

// demo gives a show a folder of its own, and cleans up after it.
func (a *app) demo(ctx context.Context, show func(context.Context, *demo) error) (err error) {
	dir := a.data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "ktrdr-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	} else if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return usagef("%s is not empty: give the demo a new folder, or none", dir)
	}
	ctx, stop := whileRead(ctx)
	defer stop()
	d := &demo{a: a, dir: dir}
	d.env = append(append(os.Environ(), "KTRDR_DATA="+d.data()), demoEnv...)
	if term.IsTerminal(a.out) && !a.json {
		d.screen = term.NewScreen(a.out)
	}
	defer d.end()
	err = show(ctx, d)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return cause
	}
	return err
}

// errUnread ends a demo whose output is not read any more.
var errUnread = &exitError{code: exitUnread}

// whileRead ends the context when the output is not read any more, as by head.
// Else the process would end in a write, and leave its folder behind.
func whileRead(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-broken:
			cancel(errUnread)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
		signal.Stop(broken)
	}
}

func (d *demo) data() string { return filepath.Join(d.dir, "data") }

func killDemo(ctx context.Context, d *demo) error {
	if err := d.serve(ctx, "127.0.0.1:0", 0); err != nil {
		return err
	}
	d.sayBackend()
	for range 2 {
		if err := d.hire(ctx); err != nil {
			return err
		}
	}
	tree := demoTree()
	started, err := d.client.StartDummy(ctx, tree, "")
	if err != nil {
		return err
	}
	d.root = started.Operation
	d.say("a tree of operations is started: %s", d.root)
	begun := time.Now()
	var full ktrdr.Operation
	err = watch(ctx, 200*time.Millisecond, eventsOf(d.client, "", client.FromBeginning), d.tell, func() (bool, error) {
		if time.Since(begun) > 2*time.Minute {
			return false, fmt.Errorf("the tree has not completed within two minutes; the backend said: %s", d.server.log)
		}
		if err := d.look(ctx); err != nil {
			return false, err
		}
		if err := d.play(ctx); err != nil {
			return false, err
		}
		root := d.find(d.root)
		if root == nil || !root.Status.Terminal() {
			return false, nil
		}
		full, err = d.client.Operation(ctx, d.root) // a list has no results
		return true, err
	})
	if err != nil {
		return err
	}
	return d.verdict(full, tree)
}

// serve starts the backend and makes a client of it.
func (d *demo) serve(ctx context.Context, addr string, workers int) error {
	var said backend.Announcement
	var err error
	d.server, err = startChild(ctx, "backend", d.env, &said, "serve", "--workers", strconv.Itoa(workers), "--addr", addr)
	if err != nil {
		return err
	}
	d.url, d.link = said.URL, said.Link
	u, err := url.Parse(said.URL)
	if err != nil {
		return err
	}
	token, err := backend.ReadToken(said.Token)
	if err != nil {
		return err
	}
	d.client, err = d.a.clientFor(u, token)
	return err
}

// sayBackend says where the backend is.
func (d *demo) sayBackend() { d.say("backend pid %d at %s, data in %s", d.server.pid(), d.url, d.dir) }

func (d *demo) hire(ctx context.Context) error {
	n := len(d.workers) + 1
	var said workerSaid
	w, err := startChild(ctx, fmt.Sprintf("worker %d", n), d.env, &said,
		"worker", "--url", d.url, "--slots", "2", "--name", fmt.Sprintf("worker-%d", n), "--data",
		filepath.Join(d.dir, fmt.Sprintf("worker%d", n)))
	if err != nil {
		return err
	}
	d.workers = append(d.workers, w)
	d.say("worker %d is pid %d, id %s", n, w.pid(), said.ID)
	return nil
}

// play kills the next process when its time has come.
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
		d.say("✗ kill -9 of worker 1, pid %d, without a word to the backend", d.workers[0].pid())
		d.workers[0].kill()
	case d.act == 1 && d.orphaned > 0:
		d.act++
		return d.hire(ctx)
	case d.act == 2 && done >= 2:
		d.act++
		addr := strings.TrimPrefix(d.url, "http://")
		d.say("✗ kill -9 of the backend, pid %d, and start it again", d.server.pid())
		d.server.kill()
		if err := d.serve(ctx, addr, 0); err != nil {
			return err
		}
		d.sayBackend()
	}
	return nil
}

// end stops all processes: workers first, which give their operations back.
func (d *demo) end() {
	for _, w := range d.workers {
		w.stop()
	}
	if d.server != nil {
		d.server.stop()
	}
}
