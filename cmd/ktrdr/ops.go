package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/internal/view"
)

type opsFlags struct {
	status, types                 []string
	active, resumable, roots, all bool
	parent, run, search           string
	limit                         int
	sort                          ktrdr.Sort
}

func addSort(cmd *cobra.Command, to *ktrdr.Sort) {
	cmd.Flags().StringVar((*string)(to), "sort", string(ktrdr.Newest), "`ORDER`: newest, oldest, or ended (most recently ended first)")
}

func checkSort(s ktrdr.Sort) error {
	if !slices.Contains(ktrdr.Sorts, s) {
		return noneSuch("--sort", string(s), names(ktrdr.Sorts))
	}
	return nil
}

func newOps(a *app) *cobra.Command {
	list := newOpsList(a, "list")
	ops := newOpsList(a, "ops")
	ops.Short = "List operations"
	ops.Args = noArgs
	ops.AddCommand(list)
	return ops
}

func newOpsList(a *app, use string) *cobra.Command {
	var f opsFlags
	cmd := &cobra.Command{Use: use, Short: "List operations, newest first", Args: noArgs}
	cmd.Flags().StringSliceVar(&f.status, "status", nil, "only these `STATUSES`: pending, running, completed, failed, cancelled, …")
	cmd.Flags().StringSliceVar(&f.types, "type", nil, "only these `TYPES`")
	cmd.Flags().BoolVar(&f.active, "active", false, "only operations that have not ended")
	cmd.Flags().BoolVar(&f.resumable, "resumable", false, "only those that `ktrdr resume` can continue")
	cmd.Flags().BoolVar(&f.roots, "roots", false, "only operations without a parent")
	cmd.Flags().StringVar(&f.parent, "parent", "", "only children of this `OPERATION`")
	cmd.Flags().StringVar(&f.run, "run", "", "only the researches of this `RUN`")
	cmd.Flags().StringVar(&f.search, "search", "", "only operations with this `TEXT` in their id")
	addSort(cmd, &f.sort)
	cmd.Flags().IntVar(&f.limit, "limit", 50, "largest number of rows")
	cmd.Flags().BoolVar(&f.all, "all", false, "list all operations, page by page")
	_ = cmd.RegisterFlagCompletionFunc("parent", a.completeIDs)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, _ []string) error { return a.listOps(ctx, c, f) })
	return cmd
}

func (f opsFlags) query(ctx context.Context, c *client.Client) (ktrdr.OperationQuery, error) {
	q := ktrdr.OperationQuery{ActiveOnly: f.active, Resumable: f.resumable, Roots: f.roots, Search: f.search, Sort: f.sort, Limit: f.limit}
	if err := checkSort(f.sort); err != nil {
		return q, err
	}
	if f.all {
		q.Limit = 1000
	}
	if q.Limit < 1 || q.Limit > 1000 {
		return q, usagef("--limit must be 1 to 1000, not %d; use --all for everything", f.limit)
	}
	var err error
	if q.Status, err = chosen("--status", f.status, ktrdr.Statuses); err != nil {
		return q, err
	}
	if q.Type, err = chosen("--type", f.types, backend.Types().Names()); err != nil {
		return q, err
	}
	if q.Run, err = runID(ctx, c, f.run); err != nil || f.parent == "" {
		return q, err
	}
	q.Parent, err = resolve(ctx, c, f.parent)
	return q, err
}

func (a *app) listOps(ctx context.Context, c *client.Client, f opsFlags) error {
	q, err := f.query(ctx, c)
	if err != nil {
		return err
	}
	if a.json {
		rows, err := pagesOf(&q, f.all, func() ([]api.OperationRow, string, error) { return c.Rows(ctx, q) })
		return a.show(rows, err, nil)
	}
	ops, err := pagesOf(&q, f.all, func() ([]ktrdr.Operation, string, error) {
		page, err := c.List(ctx, q)
		return page.Operations, page.Next, err
	})
	return a.show(ops, err, func(w io.Writer) {
		if len(ops) == 0 {
			fmt.Fprintln(w, noOperations(q.Type...))
			return
		}
		view.Operations(w, ops)
		if q.Cursor != "" {
			fmt.Fprintln(w, "There are more: use --all, or a larger --limit.")
		}
	})
}

// pagesOf reads a page, or all of them. The query then has the cursor of the next.
func pagesOf[T any](q *ktrdr.OperationQuery, all bool, read func() ([]T, string, error)) ([]T, error) {
	list := []T{} // an empty list in JSON, not null
	for {
		page, next, err := read()
		if err != nil {
			return nil, err
		}
		list, q.Cursor = append(list, page...), next
		if !all || next == "" {
			return list, nil
		}
	}
}

// noOperations says how to start one of the wanted types.
func noOperations(wanted ...ktrdr.Type) string {
	if verb := backend.Types()[append(wanted, ktrdr.Dummy)[0]].Verb; verb != ktrdr.Inside {
		return fmt.Sprintf("No operations. Start one with `ktrdr %s`.", verb)
	}
	return "No operations."
}

const eventsHelp = `Print events as they happen, until Ctrl-C. With an OPERATION: all its events from its
creation to its end. --kind shows only some kinds, such as backend_started,
backend_died, worker_registered, worker_left and worker_lost.`

func newEvents(a *app) *cobra.Command {
	var (
		after string
		given []string
	)
	cmd := &cobra.Command{
		Use: "events [OPERATION]", Short: "Print events as they happen", Long: eventsHelp,
		ValidArgsFunction: a.completeIDs,
		Args:              atMostOne("OPERATION"),
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			cursor, err := ktrdr.ParseCursor(after)
			if err != nil {
				return usagef("--after: %w", err)
			}
			if after != "" && cursor == (ktrdr.Cursor{}) {
				cursor = client.FromBeginning
			}
			kinds, err := chosen("--kind", given, ktrdr.EventKinds)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.stream(ctx, c, "", cursor, kinds)
			}
			id, err := resolve(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.stream(ctx, c, id, cursor, kinds)
		}),
	}
	cmd.Flags().StringVar(&after, "after", "", "start after the event with this `ID`, as --json shows it; 0-0: start with the oldest event")
	cmd.Flags().StringSliceVar(&given, "kind", nil, "only events of these `KINDS`")
	kinds := cobra.FixedCompletions(text.Strings(ktrdr.EventKinds), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("kind", kinds)
	return cmd
}

// stream prints events until the context ends or, for one operation, until it
// has ended.
func (a *app) stream(ctx context.Context, c *client.Client, id ktrdr.OperationID, after ktrdr.Cursor, kinds []ktrdr.EventKind) error {
	for e, err := range c.FollowEvents(ctx, id, after, kinds...) {
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		if a.json {
			if err := a.line(eventLine{e.Cursor.String(), e}); err != nil {
				return err
			}
		} else {
			fmt.Fprintln(a.out, view.Stamped(e))
		}
	}
	return context.Cause(ctx)
}

type eventLine struct {
	ID string `json:"id"`
	ktrdr.Event
}
