package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/page"
	"github.com/ktrdr/ktrdr/report"
)

const reportHelp = `Show on one screen what happened overnight: results and claims of the researches, the
best of them, failures with the command to continue, deaths of backends and workers,
and the money spent on models.

"Evidence of the whole run" judges the daily net returns of all trials of a run: SPA,
StepM, PBO and the effective number of trials. Without --run it shows the newest 3 runs.

--since says how far back: a duration (12h, 7d), a local time (22:00,
2026-11-14T22:00), or "last": since the start of the latest period of research.
--run shows one run from its start. --market judges the trials of all runs on one market
together, and shows nothing else; "ktrdr data list" shows the markets.

On a terminal it also draws the best Sharpe ratio after each trial, beside the best that
luck alone is expected to show. --curves draws it into a pipe too.

--html writes the same as one file that can be sent: with the charts of the page, at
most 1 MB, readable without a network and without a script.`

type reportFlags struct {
	since, run string
	market     string
	markdown   bool
	html       htmlFlags
	force      bool
	curves     curveFlag
}

func newReport(a *app) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use: "report", Short: "What happened overnight: results, failures, machines, money", Long: reportHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error { return a.report(ctx, c, &f) }),
	}
	cmd.Flags().StringVar(&f.since, "since", "", "how far back: `TIME`, a duration, or last (default 12h)")
	cmd.Flags().StringVar(&f.run, "run", "", "only the researches of this `RUN`")
	cmd.Flags().StringVar(&f.market, "market", "", "only the evidence of all runs on this `MARKET`")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "print Markdown, for a file or a mail")
	cmd.Flags().BoolVar(&f.force, "force", false, "with --html: replace an existing file")
	f.html.add(cmd, &f.force)
	f.curves.add(cmd)
	return cmd
}

func (a *app) report(ctx context.Context, c *client.Client, f *reportFlags) error {
	switch {
	case f.markdown && a.json:
		return usagef("give --markdown or --json, not both")
	case f.force && f.html.file == "":
		return usagef("--force replaces a file: name it with --html FILE")
	case f.markdown && f.html.file != "":
		return usagef("give --markdown or --html, not both")
	}
	if f.market != "" {
		if f.since != "" || f.run != "" || f.markdown || f.html.file != "" {
			return usagef("--market shows the evidence of all runs on a market: leave out the other flags")
		}
		p, err := c.Panel(ctx, report.PanelQuery{Market: f.market})
		return a.show(p, err, func(w io.Writer) { report.WritePanel(term.Words(w), p) })
	}
	if err := f.curves.check(a, f.markdown || f.html.file != ""); err != nil {
		return err
	}
	since, err := sinceText(f.since, time.Now())
	if err != nil {
		return err
	}
	if f.run, err = runID(ctx, c, f.run); err != nil {
		return err
	}
	if f.html.file != "" {
		return a.writeHTML(f.html, c, func(cfg page.Config, w io.Writer) error {
			return page.WriteReport(ctx, cfg, w, api.ReportRequest{Since: since, Run: f.run})
		})
	}
	r, err := client.Call(ctx, c, api.Report, api.FullReportRequest{
		ReportRequest: api.ReportRequest{Since: since, Run: f.run}, Panels: true,
	})
	if err != nil {
		return err
	}
	write := report.WriteText
	if f.markdown {
		write = report.WriteMarkdown
	}
	var best *term.Figure
	if f.curves.wanted(a) && !f.markdown {
		s, err := client.Call(ctx, c, api.Search, api.ReportRequest{Since: since, Run: f.run})
		if err != nil {
			return err
		}
		best = view.BestSoFar(s)
	}
	return a.print(r, func(w io.Writer) {
		w = term.Words(w)
		write(w, r, time.Local)
		view.Curves(w, a.palette(), best)
	})
}

// sinceText puts the time of --since into the API's words.
func sinceText(text string, now time.Time) (string, error) {
	since, err := report.SinceText(text, now)
	if err != nil {
		return "", usagef("--since %w", err)
	}
	return since, nil
}
