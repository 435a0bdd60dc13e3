package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/research"
)

const calibrateHelp = `Measure how often this lab claims an edge on copies of a market that have none. Each
copy is made of the bars before the holdout: every bar goes up or down by a fair coin, so
that no direction can be foreseen, and the sizes of the moves stay. The whole search runs
on each copy, with designs, trainings, verdicts and looks. Nothing of it is counted in
the ledger or remembered.

The result is the false-claim rate with its 95 % interval, the distribution of the
luckiest Sharpe ratio, and with --power the least net Sharpe ratio that is found with a
probability of 80 %. It is kept for the market, and shown beside each claim. It is stale
when this program searches differently, or when the market has 25 % more bars.

A calibration has a low priority: everything else goes first. It survives crashes, and
is spread over all workers. --list shows those that completed.`

func newCalibrate(a *app) *cobra.Command {
	var (
		r     research.CalibrationRequest
		seed  uint64
		list  bool
		start startFlags
	)
	cmd := &cobra.Command{
		Use: "calibrate SYMBOL TIMEFRAME", Short: "Measure the false claims of this lab on a market", Long: calibrateHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if list && len(args) <= 1 || !list && len(args) == 2 {
				return nil
			}
			return usagef("calibrate needs a SYMBOL and a TIMEFRAME, such as EURUSD 1h; with --list at most a SYMBOL")
		},
	}
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, args []string) error {
		if list {
			return a.calibrations(ctx, c, args)
		}
		r.Symbol, r.Timeframe = args[0], args[1]
		if cmd.Flags().Changed("seed") {
			r.Seed = &seed
		}
		started, err := c.StartCalibration(ctx, r, start.key)
		return a.started(ctx, c, started, err, start.follow)
	})
	f := cmd.Flags()
	f.IntVar(&r.Researches, "researches", 0, "researches of each search (default 8)")
	f.IntVar(&r.Worlds, "worlds", 0, "copies without an edge (default 99)")
	notZero(f, "researches", "worlds")
	f.BoolVar(&r.Power, "power", false, "also plant edges of several strengths, to find the least Sharpe ratio that is found")
	f.Uint64Var(&seed, "seed", 0, "the same seed and bars give the same copies (default: random)")
	f.StringVar(&r.Costs, "costs", "", "cost floors in basis points: `SYMBOL=COMMISSION/SLIPPAGE/SPREAD,…` (default: those of a research)")
	f.BoolVar(&list, "list", false, "list the calibrations that completed, of a SYMBOL or of all")
	start.add(cmd, "follow it to its end")
	return cmd
}

func (a *app) calibrations(ctx context.Context, c *client.Client, args []string) error {
	name := ""
	if len(args) == 1 {
		name = args[0]
	}
	rows, err := c.Calibrations(ctx, name)
	if err != nil {
		return err
	}
	return a.print(rows, func(w io.Writer) {
		if len(rows) == 0 {
			fmt.Fprintln(w, "There are no calibrations yet. Start one with `ktrdr calibrate SYMBOL TIMEFRAME`.")
		}
		for _, row := range rows {
			view.Calibration(w, row)
		}
	})
}
