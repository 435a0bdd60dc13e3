package main

import (
	"math"
	"time"
	_ "time/tzdata" // --zone must work where the system has no zone files

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/market"
)

// readFlags say what a price file does not say itself.
type readFlags struct {
	timeframe string
	zone      string
	divide    float64
}

func (f *readFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.timeframe, "timeframe", "", "`TIMEFRAME` of the bars, such as 1h (default: from the file name or the times)")
	cmd.Flags().StringVar(&f.zone, "zone", "UTC", "time `ZONE` of times without one, such as Europe/Athens")
	cmd.Flags().Float64Var(&f.divide, "divide", 0,
		"divide prices by this `NUMBER`, for files in points: 100000 for most currencies, 1000 for the yen")
	_ = cmd.RegisterFlagCompletionFunc("timeframe", completeTimeframes)
}

func completeTimeframes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var offers []string
	for _, tf := range market.Timeframes {
		offers = append(offers, string(tf))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// options checks the flags.
func (f *readFlags) options(cmd *cobra.Command) (market.ImportOptions, error) {
	var opt market.ImportOptions
	var err error
	if f.timeframe != "" {
		if opt.Timeframe, err = market.ParseTimeframe(f.timeframe); err != nil {
			return opt, usagef("--timeframe: %w", err)
		}
	}
	if opt.Zone, err = time.LoadLocation(f.zone); err != nil {
		return opt, usagef("--zone %q is no time zone: give one like Europe/Athens or UTC", f.zone)
	}
	if cmd.Flags().Changed("divide") && (!(f.divide > 0) || math.IsInf(f.divide, 0)) {
		return opt, usagef("--divide %v: must be a positive number, such as 100000", f.divide)
	}
	opt.Divide = f.divide
	return opt, nil
}
