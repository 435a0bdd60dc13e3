package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/research"
)

func newCancel(a *app) *cobra.Command {
	var (
		reason, run string
		follow      bool
	)
	cmd := a.onOperation("cancel", "Stop an operation and everything below it", func(ctx context.Context, c *httpapi.Client, id ktrdr.OperationID) error {
		done, err := c.Cancel(ctx, id, reason)
		if err != nil {
			return err
		}
		err = a.print(done, func(w io.Writer) {
			fmt.Fprintf(w, "%s is %s", id, done.Status)
			if !done.Status.Terminal() {
				fmt.Fprint(w, " and will stop at its worker's next word")
			}
			if n := len(done.Children); n > 0 {
				fmt.Fprintf(w, "; %d below it too", n)
			}
			fmt.Fprintln(w, ".")
		})
		if err != nil || !follow {
			return err
		}
		return a.cancelled(a.follow(ctx, c, id))
	})
	one, checkOne := cmd.RunE, cmd.Args
	cmd.Use = "cancel OPERATION | --run RUN"
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if run != "" {
			return exactly(0, "either an OPERATION or --run")(cmd, args)
		}
		return checkOne(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if run == "" {
			return one(cmd, args)
		}
		return a.asking(func(ctx context.Context, c *httpapi.Client, _ []string) error { return a.cancelRun(ctx, c, run) })(cmd, args)
	}
	cmd.Flags().StringVar(&run, "run", "", "cancel what is open of this `RUN` of researches, and let it begin no more")
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY`, for the record")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait until it has stopped")
	return cmd
}

// cancelRun cancels what is open of a run, and looks again until nothing is:
// between two generations of a run that lasts there is nothing for a moment, what
// it saw may have ended before it was cancelled, and the next generation may
// have been on its way.
func (a *app) cancelRun(ctx context.Context, c *httpapi.Client, run string) error {
	const (
		betweenGenerations = 5 * time.Second
		onItsWay           = 250 * time.Millisecond
	)
	gone := map[ktrdr.OperationID]bool{}
	for deadline := time.Now().Add(betweenGenerations); ; {
		before := len(gone)
		if err := cancelOpen(ctx, c, run, gone); err != nil {
			return err
		}
		pause := onItsWay
		switch {
		case len(gone) > 0 && len(gone) == before:
			return a.print(slices.Sorted(maps.Keys(gone)), func(w io.Writer) {
				fmt.Fprintf(w, "Cancelled %s of %s, which begins no more.\n", numbered(len(gone), "research", "researches"), run)
			})
		case len(gone) > 0:
		case time.Now().After(deadline):
			return fmt.Errorf("no research of a run %q is open; `ktrdr ops --type agent_research` lists what there was", run)
		default:
			pause = 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// cancelOpen cancels what it sees of a run and adds it to gone: those that wait
// first and the last of them before the others, so that hardly any begins
// meanwhile.
func cancelOpen(ctx context.Context, c *httpapi.Client, run string, gone map[ktrdr.OperationID]bool) error {
	st, err := c.ResearchStatus(ctx)
	if err != nil {
		return err
	}
	for _, waiting := range []bool{true, false} {
		var some []ktrdr.OperationID
		for _, r := range slices.Backward(st.Active) {
			if r.Run == run && (r.Status == ktrdr.Pending) == waiting && !gone[r.Operation] {
				some = append(some, r.Operation)
			}
		}
		if err := cancelAll(ctx, c, some, gone); err != nil {
			return err
		}
	}
	return nil
}

// cancelAll cancels researches of a run, some at a time: their commits are
// shared. One that has ended meanwhile was not cancelled: if all had, the run
// would go on.
func cancelAll(ctx context.Context, c *httpapi.Client, ids []ktrdr.OperationID, gone map[ktrdr.OperationID]bool) error {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, id := range ids {
		g.Go(func() error {
			_, err := c.Cancel(ctx, id, research.RunCancelled)
			if ktrdr.CodeOf(err) == ktrdr.CodeConflict {
				return nil
			}
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				gone[id] = true
			}
			return err
		})
	}
	return g.Wait()
}

// cancelled turns the exit code of a cancelled operation into success: here it
// is what was asked for.
func (a *app) cancelled(err error) error {
	if exitCode(err) == exitCancelled {
		return nil
	}
	return err
}
