package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/resilience"
)

const degradationHelp = `Show the degradation level: FULL, DEGRADED, MINIMAL or OFFLINE. It follows from
the health of the services that the server needs. A worse level switches features
off; a better one is entered after the services have been healthy for a while.`

func newDegradation(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "degradation", Short: "Degradation level, health of services, features switched off", Long: degradationHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			d, err := c.Degradation(ctx)
			if err != nil {
				return err
			}
			return a.print(d, func(w io.Writer) { printDegradation(w, d) })
		}),
	}
}

func printDegradation(w io.Writer, d resilience.DegradationStatus) {
	fmt.Fprintf(w, "level %s since %s, %.0f%% healthy\n", d.Level, d.Since.Local().Format(time.DateTime), 100*d.Score)
	table(w, "SERVICE\tHEALTH\tWEIGHT\tCRITICAL", func(row func(...any)) {
		for _, s := range d.Services {
			critical := "no"
			if s.Critical {
				critical = "yes"
			}
			row(s.Name, s.Health, s.Weight, critical)
		}
	})
	fmt.Fprintf(w, "switched off: %s\n", dash(strings.Join(names(d.Shed), ", ")))
	if len(d.History) == 0 {
		return
	}
	table(w, "AT\tFROM\tTO\tREASON", func(row func(...any)) {
		for _, c := range d.History {
			row(c.At.Local().Format(time.DateTime), c.From, c.To, dash(plain(c.Reason)))
		}
	})
}
