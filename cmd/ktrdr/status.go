package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status [RUN|OPERATION]", Short: "Show the state of the server, of a run or of an operation",
		ValidArgsFunction: a.completeRunsAndIDs,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly(1, "at most one RUN or OPERATION")(cmd, args)
			}
			return nil
		},
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			if len(args) == 0 {
				return a.health(ctx, c)
			}
			if isRunID(args[0]) {
				run, err := resolveRun(ctx, c, args[0])
				if err != nil {
					return err
				}
				return a.print(run, func(w io.Writer) { describeRun(w, run) })
			}
			id, err := resolve(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.operation(ctx, c, id)
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
		status := p.good(h.Status)
		if h.Status != "ok" {
			status = p.bad(h.Status)
		}
		fmt.Fprintf(w, "%s  version %s, up %s, store %s %s\n", status, h.Version, brief(time.Duration(h.UptimeSeconds*float64(time.Second))),
			h.Store.Kind, h.Store.Version)
		fmt.Fprintf(w, "degradation level: %s, switched off: %s\n", h.Degradation.Level, dash(strings.Join(h.Degradation.Shed, ", ")))
		if h.Paused {
			fmt.Fprintln(w, "paused: no operation is started; go on with `ktrdr unpause`")
		}
		printSlots(w, workers)
		d := h.OrphanDetector
		fmt.Fprintf(w, "orphan detector: running %v, last check %s, %d potential, %d orphaned since start\n", d.Running, ago(d.LastCheck),
			d.PotentialOrphans, d.OrphanedTotal)
		for _, n := range h.Operations {
			fmt.Fprintf(w, "%8d %s %s\n", n.N, n.Type, n.Status)
		}
		printResearches(w, st)
		for _, problem := range h.Problems {
			fmt.Fprintln(w, p.bad("✗"), plain(problem))
		}
	})
	if err == nil && h.Status != "ok" {
		return &exitError{code: exitFailed}
	}
	return err
}

// printSlots prints how busy the live workers are, each slot once: health counts
// it for every type that it can run.
func printSlots(w io.Writer, workers []ktrdr.Worker) {
	live, shared := 0, map[string]ktrdr.WorkerSlots{} // by the types that share them
	for _, wk := range workers {
		if !wk.Live {
			continue
		}
		live++
		var types []string
		for _, t := range slices.Sorted(slices.Values(wk.Types)) {
			types = append(types, string(t))
		}
		name := strings.Join(types, ", ")
		s := shared[name]
		s.Busy += wk.Running
		s.Total += wk.Slots
		shared[name] = s
	}
	fmt.Fprintf(w, "workers: %d live", live)
	for _, types := range slices.Sorted(maps.Keys(shared)) {
		fmt.Fprintf(w, "; %s: %d of %d slots busy", types, shared[types].Busy, shared[types].Total)
	}
	fmt.Fprintln(w)
}

// serverStatus is how the server is, and how research stands.
type serverStatus struct {
	ktrdr.Health
	Research research.Status `json:"research"`
}

// shownWaiting bounds how many researches that wait are listed.
const shownWaiting = 5

// printResearches prints what is being researched, and how the last one ended.
func printResearches(w io.Writer, st research.Status) {
	fmt.Fprintf(w, "researches: %d of at most %d active, %d waiting\n", st.Capacity.Active, st.Capacity.Limit, st.Capacity.Waiting)
	if len(st.Active) > 0 {
		waiting := 0
		table(w, "  SESSION\tRESEARCH\tPHASE\tPROGRESS\tFOR\tSTRATEGY\tGOAL", func(row func(...any)) {
			for _, r := range st.Active {
				if r.Status == ktrdr.Pending {
					if waiting++; waiting > shownWaiting {
						continue
					}
				}
				row(fmt.Sprintf("  %d", r.Session), tail(r.Operation), r.Phase, fmt.Sprintf("%.0f%%", 100*partOf(r)),
					brief(time.Duration(r.Seconds*float64(time.Second))), dash(r.Strategy), text.Fit(plain(r.Brief), 40))
			}
		})
		if more := st.Capacity.Waiting - shownWaiting; more > 0 {
			fmt.Fprintf(w, "  … and %d more wait\n", more)
		}
	}
	for _, r := range st.Lasting {
		fmt.Fprintf(w, "%s lasts until %s: generation %d, %d open; end it with `ktrdr cancel %s`\n",
			plain(r.Run), r.Until.Local().Format("Mon 15:04 MST"), r.Generation, r.Open, plain(r.Run))
	}
	if l := st.Last; l != nil {
		said := l.Summary
		if said == "" {
			said = l.Error
		}
		fmt.Fprintf(w, "last research: %s %s %s: %s\n", tail(l.Operation), ofMadeUp(string(l.Outcome), l.MadeUp), ago(l.CompletedAt), plain(said))
	}
}

// operation prints everything worth knowing about one operation.
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
		a.describe(w, op)
		for _, part := range parts {
			if !part.NotBefore.IsZero() {
				fmt.Fprintf(w, "Its part %s %s; `ktrdr events %s` says why.\n", part.ID, plain(note(part)), part.ID)
			}
		}
	})
}

func (a *app) describe(w io.Writer, op ktrdr.Operation) {
	line := func(name string, value any) { fmt.Fprintf(w, "  %-12s %s\n", name, plain(fmt.Sprint(value))) }
	fmt.Fprintf(w, "%s  %s  %.0f%%\n", op.ID, a.palette().status(op.Status), percent(op))
	if op.Parent != "" {
		line("parent", op.Parent)
	}
	if op.RetryOf != "" {
		line("retry of", op.RetryOf)
	}
	if n := note(op); n != "" {
		line("note", n)
	}
	line("epoch", fmt.Sprintf("%d after %s, worker %s", op.Epoch, text.Counted(op.Attempts, "attempt"), dash(string(op.Worker))))
	line("created", when(op.CreatedAt))
	line("started", when(op.StartedAt))
	if !op.Status.Terminal() {
		line("heartbeat", when(op.HeartbeatAt))
	} else {
		line("ended", when(op.CompletedAt))
	}
	if c := op.Checkpoint; c != nil {
		line("checkpoint", fmt.Sprintf("%s %s at step %d, %s, %s", c.ID, c.Type, c.Step, bytesText(c.Size), ago(c.CreatedAt)))
	}
	if op.Error != nil {
		line("error", fmt.Sprintf("%s (%s, %s)", op.Error.Code, op.Error.Class, op.Error.Severity))
		for _, cause := range op.Error.Chain {
			line("", cause)
		}
	}
	if said := summary(op.Result); said != "" {
		line("result", said)
	} else if said := resultWords(op.Result); said != "" {
		line("result", said)
	}
	if madeUp, known := madeUpOf(op); known {
		line("prices", pricesText(madeUp))
	}
	switch {
	case summary(op.Result) != "":
		fmt.Fprintf(w, "See `ktrdr results %s`.\n", op.ID)
	case (op.Status == ktrdr.Failed || op.Status == ktrdr.Cancelled) && op.Checkpoint != nil:
		fmt.Fprintf(w, "Continue it with `ktrdr resume %s`.\n", op.ID)
	case op.Status == ktrdr.Failed || op.Status == ktrdr.Cancelled:
		fmt.Fprintf(w, "Start it over with `ktrdr retry %s`.\n", op.ID)
	case !op.Status.Terminal():
		fmt.Fprintf(w, "Watch it with `ktrdr follow %s`.\n", op.ID)
	}
}

func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime) + " (" + ago(t) + ")"
}
