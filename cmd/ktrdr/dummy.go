package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/internal/term"
)

const dummyHelp = `Start a test operation that counts steps and sleeps between them. Its result is a hash
over the steps, so that a lost or repeated step is visible. Kill the process that runs
it and watch the recovery.`

func newDummy(a *app) *cobra.Command {
	var (
		spec     dummy.Spec
		children int
		start    startFlags
	)
	cmd := &cobra.Command{
		Use: "dummy", Short: "Start a dummy operation", Long: dummyHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			if children < 0 {
				return usagef("--children must be 0 or more, not %d", children)
			}
			s := family(spec, children)
			if err := s.Validate(); err != nil {
				return usagef("%w", err)
			}
			started, err := c.StartDummy(ctx, s, start.key)
			return a.started(ctx, c, started, err, start.follow)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&spec.Steps, "steps", 100, "number of steps")
	f.Float64Var(&spec.StepMS, "step-ms", 50, "duration of a step in `MILLISECONDS`")
	f.IntVar(&spec.CheckpointEvery, "checkpoint-every", 10, "steps between checkpoints; 0 means by time only")
	f.IntVar(&spec.FailAt, "fail-at", 0, "fail at this step")
	f.IntVar(&spec.PanicAt, "panic-at", 0, "panic at this step")
	f.IntVar(&spec.CrashAt, "crash-at", 0,
		"kill the worker's process at this step; a worker inside the backend kills the backend, once; then the operation runs in a child process")
	notZero(f, "fail-at", "panic-at", "crash-at")
	f.BoolVar(&spec.Hang, "hang", false, "run until cancelled")
	f.BoolVar(&spec.BackendLocal, "backend-local", false, "run only inside a backend")
	f.IntVar(&spec.ArtifactBytes, "artifact-bytes", 0, "size of a blob that each checkpoint carries")
	f.Int64Var(&spec.Seed, "seed", 0, "another seed gives another result")
	f.IntVar(&spec.Priority, "priority", 0, "higher is started first")
	f.IntVar(&children, "children", 0, "start a parent with `N` such operations below it")
	f.BoolVar(&spec.Parallel, "parallel", false, "run the children all at once instead of one after another")
	start.add(cmd, "follow it to its end")
	return cmd
}

// family makes a parent of n children like spec, or spec itself when n is 0.
func family(spec dummy.Spec, n int) dummy.Spec {
	if n == 0 {
		return spec
	}
	parent := dummy.Spec{Parallel: spec.Parallel, Priority: spec.Priority}
	spec.Parallel, spec.Priority = false, 0
	for range n {
		parent.Children = append(parent.Children, spec)
	}
	return parent
}

// warn prints warnings on standard error; JSON has them.
func (a *app) warn(warnings []string) {
	for _, x := range warnings {
		if !a.json {
			fmt.Fprintln(term.Words(a.err), "warning:", term.Plain(x))
		}
	}
}

// started tells that an operation was started, or follows it.
func (a *app) started(ctx context.Context, c *client.Client, s api.Started, err error, follow bool) error {
	if err != nil {
		return err
	}
	a.warn(s.Warnings)
	if follow {
		return a.follow(ctx, c, s.Operation)
	}
	return a.print(s, func(w io.Writer) {
		fmt.Fprintf(w, "%s is %s.\nWatch it with `ktrdr follow %s`.\n", s.Operation, s.Status, s.Operation)
	})
}
