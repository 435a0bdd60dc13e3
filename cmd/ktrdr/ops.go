package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
)

// opsFlags selects operations; see ktrdr.OperationQuery.
type opsFlags struct {
	status, types                 []string
	active, resumable, roots, all bool
	parent, run                   string
	limit                         int
	sort                          ktrdr.Sort
}

// addSort adds the flag of the order of a list.
func addSort(cmd *cobra.Command, to *ktrdr.Sort) {
	cmd.Flags().StringVar((*string)(to), "sort", string(ktrdr.Newest), "`ORDER`: newest, oldest, or ended (ended last first)")
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
	addSort(cmd, &f.sort)
	cmd.Flags().IntVar(&f.limit, "limit", 50, "largest number of rows")
	cmd.Flags().BoolVar(&f.all, "all", false, "all of them, page by page")
	_ = cmd.RegisterFlagCompletionFunc("parent", a.completeIDs)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, _ []string) error { return a.listOps(ctx, c, f) })
	return cmd
}

func (f opsFlags) query(ctx context.Context, c *client.Client) (ktrdr.OperationQuery, error) {
	q := ktrdr.OperationQuery{ActiveOnly: f.active, Resumable: f.resumable, Roots: f.roots, Sort: f.sort, Limit: f.limit}
	if err := checkSort(f.sort); err != nil {
		return q, err
	}
	if f.all {
		q.Limit = 1000
	}
	if q.Limit < 1 || q.Limit > 1000 {
		return q, usagef("--limit must be 1 to 1000, not %d; use --all for everything", f.limit)
	}
	for _, s := range f.status {
		status := ktrdr.Status(strings.ToUpper(s))
		if !status.Known() {
			return q, noneSuch("--status", s, names(ktrdr.Statuses))
		}
		q.Status = append(q.Status, status)
	}
	for _, s := range f.types {
		t := ktrdr.Type(strings.ToLower(s))
		if !t.Known() {
			return q, noneSuch("--type", s, names(ktrdr.Types))
		}
		q.Type = append(q.Type, t)
	}
	var err error
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
	var ops []ktrdr.Operation
	for {
		page, err := c.List(ctx, q)
		if err != nil {
			return err
		}
		ops = append(ops, page.Operations...)
		q.Cursor = page.Next
		if !f.all || q.Cursor == "" {
			break
		}
	}
	if ops == nil {
		ops = []ktrdr.Operation{} // an empty list in JSON, not null
	}
	return a.print(ops, func(w io.Writer) {
		if len(ops) == 0 {
			fmt.Fprintln(w, "No operations. Start one with `ktrdr dummy`.")
			return
		}
		listed(w, ops)
		if q.Cursor != "" {
			fmt.Fprintln(w, "There are more: use --all, or a larger --limit.")
		}
	})
}
