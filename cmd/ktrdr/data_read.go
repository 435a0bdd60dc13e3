package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	_ "time/tzdata" // --zone must work where the system has no zone files

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/internal/text"
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

// printedFindings is how many findings of a file are printed without -v.
const printedFindings = 20

// printReport tells what a file showed: gaps as figures, everything else
// finding by finding. verbose prints all that the report kept, gaps included.
func printReport(w io.Writer, r *market.DataReport, verbose bool) {
	wrong := 0
	for _, f := range r.Findings {
		gap := f.Rule == market.Missing
		if !verbose && (gap || wrong == printedFindings) {
			continue
		}
		fmt.Fprintln(w, "  "+plain(f.String()))
		if !gap {
			wrong++
		}
	}
	if more := r.Wrong() - wrong; more > 0 {
		fmt.Fprintf(w, "  and %d more; -v shows up to 1000\n", more)
	}
	for _, line := range []string{mended(r), gaps(r)} {
		if line != "" {
			fmt.Fprintln(w, "  "+line)
		}
	}
}

// mended tells what was done about what was wrong.
func mended(r *market.DataReport) string {
	var done []string
	say := func(n int, format string) {
		if n > 0 {
			done = append(done, fmt.Sprintf(format, text.Counted(n, "row")))
		}
	}
	say(r.Dropped, "left out %s")
	say(r.Widened, "moved high or low to hold open and close in %s")
	say(r.Cleared, "set a negative volume to 0 in %s")
	if r.Sorted {
		done = append(done, "sorted by time")
	}
	if done == nil {
		return ""
	}
	return "normalised: " + strings.Join(done, "; ")
}

// gaps sums up what is missing.
func gaps(r *market.DataReport) string {
	holes := r.Counts[market.Missing]
	if holes == 0 {
		return ""
	}
	bars, atLeast := 0, ""
	for _, g := range r.Holes {
		bars += g.Bars
	}
	if holes > len(r.Holes) {
		atLeast = "at least "
	}
	return fmt.Sprintf("%s while the market trades, %s%s in all; closed %s", text.Counted(holes, "gap"), atLeast,
		text.Counted(bars, "bar"), text.Counted(r.Closed, "time"))
}
