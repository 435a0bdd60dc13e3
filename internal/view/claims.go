package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

// Claims prints the claims of the lab.
func Claims(w io.Writer, list research.ClaimsList) {
	if len(list.Claims) == 0 {
		fmt.Fprintln(w, "There are no claims yet. A claim is a look at a holdout that succeeded; `ktrdr report` shows the looks.")
		return
	}
	fmt.Fprintf(w, "%s, %s at a false-discovery rate of %g %%; the next needs an adjusted e-value of %.0f\n\n",
		text.Counted(len(list.Claims), "claim"), text.Counted(list.Discovers, "discovery", "discoveries"), 100*list.FDR, list.Next)
	const head = "CLAIM\tSTRATEGY\tMARKET\tPRICES\tCLAIMED SHARPE\tCLAIMED AT\t" +
		"RUNG\tHOLD\tBARS SINCE\tLAST BAR\tE\tRETIRE\tSINCE\tSHARPE SINCE\tFDR"
	term.Table(w, head, list.Claims, func(c research.ClaimRow) []any {
		return []any{
			c.Operation.Tail(), term.Dash(c.Strategy), c.Symbols + " " + c.Timeframe, term.Prices(c.MadeUp), term.Optional("%.2f", c.Sharpe),
			text.Minute(c.ClaimedAt.Unix()), string(c.Rung), term.Dash(string(c.Hold)), c.Bars, minuteOf(c.Last), eValue(c.E), eValue(c.RetireE),
			minuteOf(crossed(c)), term.Optional("%.2f", c.LivingSR), discovery(c),
		}
	})
	for _, c := range list.Claims {
		if c.Hold != ktrdr.ClaimFollowed {
			fmt.Fprintf(w, "\n%s is not followed: %s.\n", c.Operation.Tail(), term.Plain(c.Reason))
		}
	}
}

// crossed is the bar at which the rung of a claim was reached.
func crossed(c research.ClaimRow) time.Time {
	if c.Rung == ktrdr.ClaimRetired {
		return c.Retired
	}
	return c.Detected
}

func discovery(c research.ClaimRow) string {
	if c.Discovered {
		return "discovery"
	}
	return "-"
}

func minuteOf(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return text.Minute(t.Unix())
}

func eValue(e float64) string { return strconv.FormatFloat(e, 'g', 3, 64) }

// Ladder prints where a strategy stands and what would move it on.
func Ladder(w io.Writer, p term.Palette, l *research.Ladder) {
	if l == nil {
		return
	}
	fmt.Fprintf(w, "Ladder: %s\n", l.Rung)
	for _, r := range l.Rungs {
		mark := "–" // not a failure: it may still come, or is better not reached
		if r.Reached {
			mark = p.Mark(true)
		}
		fmt.Fprintf(w, "  %s %s%s\n", mark, r.Rung, rungNumber(r))
		fmt.Fprintf(w, "      %s\n", term.Plain(r.Means+" It does not mean: "+lower(r.NotMeans)))
		if r.Next != "" {
			fmt.Fprintf(w, "      Next: %s\n", term.Plain(r.Next))
		}
	}
}

func rungNumber(r research.LadderRung) string {
	switch {
	case r.P != nil:
		return " (" + text.PValue(*r.P) + ")"
	case r.EValue != nil:
		return " (e = " + eValue(*r.EValue) + ")"
	}
	return ""
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
