package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// printLedger prints the row of the ledger that belongs to a result, and the
// looks at the holdout.
func printLedger(w io.Writer, r api.Results) {
	if t := r.Trial; t != nil {
		fmt.Fprintf(w, "%s %s, prices %s: %s and %s at the holdout so far; this one: %s\n", plain(t.Symbols), plain(t.Timeframes),
			pricesText(t.MadeUp),
			text.Counted(t.MarketTrials, "trial"), text.Counted(t.MarketLooks, "look"), research.Standing(t))
	}
	for i := range r.Looks {
		printLook(w, &r.Looks[i])
	}
}

func printLook(w io.Writer, l *ktrdr.Look) {
	numbers := make([]string, len(l.Markets))
	for i, m := range l.Markets {
		numbers[i] = fmt.Sprintf("look %d at %s", m.Number, m.Market)
	}
	fmt.Fprintf(w, "%s (%s): %s\n", strings.Join(numbers, ", "), strings.ReplaceAll(string(l.Kind), "_", " "), plain(lookSays(l)))
	if h := report.HoldoutOf(l); h != nil && h.Sharpe != nil {
		fmt.Fprintf(w, "  %-26s %s\n", "holdout Sharpe", holdoutText(h))
	}
	if l.Hash != (ktrdr.Hash{}) {
		fmt.Fprintf(w, "  %-26s %s\n", "look_hash", l.Hash)
	}
}

// lookSays is what a look showed, in a sentence.
func lookSays(l *ktrdr.Look) string {
	var c research.Confirmation
	switch {
	case l.EndedAt.IsZero():
		return "it has not ended."
	case len(l.Result) > 0 && json.Unmarshal(l.Result, &c) == nil && c.Summary != "":
		return c.Summary
	case l.Claim:
		return fmt.Sprintf("edge claimed, p = %s after adjustment.", significant(l.Adjusted))
	case l.Kind == ktrdr.LookByHand:
		return "the figures are the operation's own; a look by hand claims nothing."
	}
	return "no edge claimed."
}

// holdoutText is a Sharpe ratio of a holdout with how far it can be trusted.
func holdoutText(h *report.Holdout) string {
	said := fmt.Sprintf("%s (95 %% interval %s to %s", hundredths(h.Sharpe), hundredths(h.Low), hundredths(h.High))
	if h.Shrunk != nil {
		said += ", shrunk for selection " + hundredths(h.Shrunk)
	}
	return said + ")"
}
