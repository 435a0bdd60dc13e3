package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
)

func newCheckpoints(a *app) *cobra.Command {
	return group("checkpoints", "Checkpoints of operations: list, show, delete, clean up",
		newCheckpointsList(a), newCheckpointsShow(a), newCheckpointsDelete(a), newCheckpointsStats(a), newCheckpointsCleanup(a))
}

func newCheckpointsList(a *app) *cobra.Command {
	var q ktrdr.CheckpointQuery
	cmd := &cobra.Command{
		Use: "list", Short: "List the newest checkpoint of each operation", Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.ListCheckpoints(ctx, q)
			return a.show(page, err, func(w io.Writer) {
				if len(page.Checkpoints) == 0 {
					fmt.Fprintln(w, "No checkpoints yet.")
					return
				}
				term.Table(w, "OPERATION\tCHECKPOINT\tTYPE\tSTEP\tSIZE\tCREATED", page.Checkpoints, func(k ktrdr.Checkpoint) []any {
					return []any{k.Operation, k.ID, k.Type, k.Step, term.Bytes(k.Size), term.Ago(k.CreatedAt)}
				})
				if page.Next != "" {
					fmt.Fprintf(w, "There are more: --cursor %s\n", page.Next)
				}
			})
		}),
	}
	cmd.Flags().IntVar(&q.Limit, "limit", 50, "largest number of rows")
	notZero(cmd.Flags(), "limit")
	cursorFlag(cmd, &q.Cursor)
	return cmd
}

func newCheckpointsShow(a *app) *cobra.Command {
	var (
		id      string
		history bool
	)
	cmd := a.onOperation("show", "Show an operation's newest checkpoint, or its history",
		func(ctx context.Context, c *client.Client, op ktrdr.OperationID) error {
			if history {
				return a.checkpointHistory(ctx, c, op)
			}
			k, err := c.CheckpointAt(ctx, op, id)
			return a.show(k, err, func(w io.Writer) { describeCheckpoint(w, k) })
		})
	cmd.Flags().StringVar(&id, "id", "", "this `CHECKPOINT` instead of the newest")
	cmd.Flags().BoolVar(&history, "history", false, "list all checkpoints of the operation")
	return cmd
}

func (a *app) checkpointHistory(ctx context.Context, c *client.Client, op ktrdr.OperationID) error {
	all, err := c.History(ctx, op)
	return a.show(all, err, func(w io.Writer) {
		term.Table(w, "CHECKPOINT\tTYPE\tEPOCH\tSTEP\tSIZE\tCREATED", all, func(k ktrdr.CheckpointInfo) []any {
			return []any{k.ID, k.Type, k.Epoch, k.Step, term.Bytes(k.Size), term.Ago(k.CreatedAt)}
		})
	})
}

func describeCheckpoint(w io.Writer, k ktrdr.Checkpoint) {
	fmt.Fprintf(w, "%s of %s: %s at step %d, epoch %d, %s, %s\n", k.ID, k.Operation, k.Type, k.Step, k.Epoch,
		term.Bytes(k.Size), term.When(k.CreatedAt))
	for name, value := range k.Fingerprint {
		fmt.Fprintf(w, "  made from %s %s\n", term.Plain(name), term.Plain(value))
	}
	for _, art := range k.Artifacts {
		fmt.Fprintf(w, "  artifact %s %s %s\n", term.Plain(art.Name), term.Bytes(art.Size), art.SHA256)
	}
	state, err := json.MarshalIndent(k.State, "  ", "  ")
	if err != nil {
		state = k.State
	}
	fmt.Fprintf(w, "  state %s\n", term.JSONPlain(string(state)))
}

func newCheckpointsDelete(a *app) *cobra.Command {
	return a.onOperation("delete", "Delete an ended operation's checkpoints",
		func(ctx context.Context, c *client.Client, op ktrdr.OperationID) error {
			n, err := c.DeleteCheckpoints(ctx, op)
			return a.show(api.DeletedCheckpoints{Operation: op, Deleted: n}, err, func(w io.Writer) {
				fmt.Fprintf(w, "%d checkpoints of %s deleted; it can no longer be resumed.\n", n, op)
			})
		})
}

func newCheckpointsStats(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Count all checkpoints and their size", Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			s, err := c.CheckpointStats(ctx)
			return a.show(s, err, func(w io.Writer) {
				fmt.Fprintf(w, "%d checkpoints, %s, the oldest %s\n", s.Total, term.Bytes(s.Bytes), term.Ago(s.Oldest))
			})
		}),
	}
}

func newCheckpointsCleanup(a *app) *cobra.Command {
	var days float64
	cmd := &cobra.Command{
		Use: "cleanup", Short: "Delete old checkpoints and unused blobs now", Args: noArgs,
		Long: `Delete checkpoints older than --days, and blobs that are no longer used. Final
checkpoints are kept, and the newest two of each operation that has not ended. The
backend does the same automatically once an hour.`,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			age, err := backend.Days(fmt.Sprint(days))
			if err != nil {
				return usagef("--days %v: %w", days, err)
			}
			done, err := c.Cleanup(ctx, age)
			return a.show(done, err, func(w io.Writer) {
				fmt.Fprintf(w, "%d checkpoints and %d blobs deleted.\n", done.Checkpoints, done.Blobs)
			})
		}),
	}
	cmd.Flags().Float64Var(&days, "days", 30, "age in days")
	return cmd
}
