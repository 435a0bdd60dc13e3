package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
)

func newWorkers(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "workers", Short: "List workers", Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *httpapi.Client, _ []string) error {
			workers, err := c.Workers(ctx)
			if err != nil {
				return err
			}
			return a.print(workers, func(w io.Writer) {
				if len(workers) == 0 {
					fmt.Fprintln(w, "No workers. Start one with `ktrdr worker`, or a backend with `ktrdr serve --workers 2`.")
					return
				}
				listedWorkers(w, workers)
			})
		}),
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
