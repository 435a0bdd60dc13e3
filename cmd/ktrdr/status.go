package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/research"
)

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status [RUN|OPERATION]", Short: "Show the state of the server, of a run or of an operation",
		ValidArgsFunction: a.completeRunsAndIDs,
		Args:              atMostOne("RUN or OPERATION"),
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			if len(args) == 0 {
				return a.health(ctx, c)
			}
			return runOrOperation(ctx, c, args[0], func(_ context.Context, _ *client.Client, run ktrdr.Run) error {
				return a.print(run, func(w io.Writer) { view.Run(w, run) })
			}, a.operation)
		}),
	}
}

// health prints how the server is; a degraded one makes the exit code 1.
func (a *app) health(ctx context.Context, c *client.Client) error {
	st, err := c.ResearchStatus(ctx) // before health, which then is no older
	if err != nil {
		return err
	}
	workers, err := c.Workers(ctx)
	if err != nil {
		return err
	}
	h, err := c.Health(ctx)
	if err != nil {
		return err
	}
	err = a.print(serverStatus{h, st}, func(w io.Writer) {
		p := a.palette()
		status := p.Good(h.Status)
		if h.Status != "ok" {
			status = p.Bad(h.Status)
		}
		fmt.Fprintf(w, "%s  version %s, up %s, store %s %s\n", status, h.Version, term.Brief(time.Duration(h.UptimeSeconds*float64(time.Second))),
			h.Store.Kind, h.Store.Version)
		fmt.Fprintf(w, "degradation level: %s, switched off: %s\n", h.Degradation.Level, term.Dash(strings.Join(h.Degradation.Shed, ", ")))
		if h.Paused {
			fmt.Fprintln(w, "paused: no new operation starts; end the pause with `ktrdr unpause`")
		}
		view.Slots(w, workers)
		d := h.OrphanDetector
		fmt.Fprintf(w, "orphan detector: running %v, last check %s, %d potential, %d orphaned since start\n", d.Running, term.Ago(d.LastCheck),
			d.PotentialOrphans, d.OrphanedTotal)
		for _, n := range h.Operations {
			fmt.Fprintf(w, "%8d %s %s\n", n.N, n.Type, n.Status)
		}
		view.Researches(w, st)
		for _, problem := range h.Problems {
			fmt.Fprintln(w, p.Bad("✗"), term.Plain(problem))
		}
	})
	return failedIf(err, h.Status != "ok")
}

type serverStatus struct {
	ktrdr.Health
	Research research.Status `json:"research"`
}

func (a *app) operation(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
	op, err := c.Operation(ctx, id)
	if err != nil {
		return err
	}
	var parts []ktrdr.Operation
	if !op.Status.Terminal() && op.Parent == "" {
		page, err := c.List(ctx, ktrdr.OperationQuery{Parent: id, ActiveOnly: true, Limit: 100})
		if err != nil {
			return err
		}
		parts = page.Operations
	}
	return a.print(op, func(w io.Writer) {
		view.Operation(w, a.palette(), op)
		for _, part := range parts {
			if !part.NotBefore.IsZero() {
				fmt.Fprintf(w, "Its part %s %s; `ktrdr events %s` says why.\n", part.ID, term.Plain(view.Note(part)), part.ID)
			}
		}
	})
}
