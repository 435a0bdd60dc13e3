package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/report"
)

// leaderboardPage is the answer with where the next page begins.
type leaderboardPage struct {
	report.Leaderboard
	Next string `json:"next_cursor,omitempty"`
}

// noLeaders says why a leaderboard is empty.
func noLeaders(w io.Writer, q report.LeaderboardQuery) {
	switch {
	case q.Cursor != "":
		fmt.Fprintln(w, "There are no more rows.")
	case q.Symbol == "" && q.Timeframe == "":
		nothingYet(w, "researches that ended", q.Run)
	default:
		fmt.Fprintf(w, "No research that ended fits --%s. Leave out the filter to see all; `ktrdr data list` shows the symbols.\n",
			term.Plain(strings.Join(q.Filters(), " --")))
	}
}
