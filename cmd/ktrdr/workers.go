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
	"github.com/ktrdr/ktrdr/internal/text"
)

func newWorkers(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "workers", Short: "List the workers that are alive", Args: noArgs,
		Long: "List the workers that are alive. --all also lists the dead workers of the last day.",
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			known, err := c.Workers(ctx)
			if err != nil {
				return err
			}
			workers := known
			if !all {
				workers = slices.DeleteFunc(slices.Clone(known), func(w ktrdr.Worker) bool { return !w.Live })
			}
			return a.print(workers, func(w io.Writer) { printWorkers(w, workers, len(known)-len(workers)) })
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also workers that are not alive")
	return cmd
}

// printWorkers lists workers, and says how many that are not alive it left out.
func printWorkers(w io.Writer, workers []ktrdr.Worker, gone int) {
	if len(workers) == 0 {
		fmt.Fprintln(w, "No live workers. Start one with `ktrdr worker`, or a backend with `ktrdr serve --workers 2`.")
	} else {
		listedWorkers(w, workers)
	}
	if gone > 0 {
		fmt.Fprintf(w, "%s not alive; `ktrdr workers --all` lists them too.\n", text.Counted(gone, "more is", "more are"))
	}
}

func listedWorkers(w io.Writer, workers []ktrdr.Worker) {
	table(w, "WORKER\tNAME\tLIVE\tBUSY\tTYPES\tWHERE\tSEEN", func(row func(...any)) {
		for _, wk := range workers {
			live, where := "yes", fmt.Sprintf("%s pid %d", dash(wk.Host), wk.PID)
			if !wk.Live {
				live = "no"
			}
			if wk.HeldBy != "" {
				where = "in a backend"
			}
			types := make([]string, len(wk.Types))
			for i, t := range wk.Types {
				types[i] = string(t)
			}
			row(wk.ID, dash(wk.Name), live, fmt.Sprintf("%d/%d", wk.Running, wk.Slots), strings.Join(types, ","), where, ago(wk.SeenAt))
		}
	})
}
