package local

import (
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// printedFindings is how many findings of a file are printed without -v.
const printedFindings = 20

// PrintFindings tells what a file showed: gaps as figures, everything else
// finding by finding. verbose prints all that the report kept, gaps included.
func PrintFindings(w io.Writer, r *market.Report, verbose bool) {
	wrong := 0
	for _, f := range r.Findings {
		gap := f.Rule == market.Missing
		if !verbose && (gap || wrong == printedFindings) {
			continue
		}
		fmt.Fprintln(w, "  "+term.Plain(f.String()))
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
func mended(r *market.Report) string {
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
func gaps(r *market.Report) string {
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
