package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
)

// leaderboardPage is the answer with where the next page begins.
type leaderboardPage struct {
	httpapi.Leaderboard
	Next string `json:"next_cursor,omitempty"`
}

// leaderPlace reads a cursor: how many rows come before the page.
func leaderPlace(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(cursor)
	if err != nil || n < 0 || n > mostRanked {
		return 0, ktrdr.Errorf(ktrdr.CodeInvalid, "the cursor %.40q is not one this server gave; begin without a cursor", cursor)
	}
	return n, nil
}

// sortLeaders orders rows by a figure, the best first. Equal rows stay by rank;
// a row without the figure comes last.
func sortLeaders(rows []httpapi.Leader, by string) {
	figure := func(l *httpapi.Leader) (x *float64, smallFirst bool) {
		switch by {
		case "sharpe":
			return l.Sharpe, false
		case "alpha":
			return l.Alpha, false
		case "return":
			return l.NetReturn, false
		case "drawdown":
			return l.MaxDrawdown, true
		case "trades":
			n := float64(l.Trades)
			return &n, false
		case "newest":
			at := float64(l.CreatedAt.UnixMilli())
			return &at, false
		}
		return nil, false
	}
	slices.SortStableFunc(rows, func(a, b httpapi.Leader) int {
		x, smallFirst := figure(&a)
		y, _ := figure(&b)
		switch {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil:
			return -1
		case smallFirst:
			return cmp.Compare(*x, *y)
		}
		return cmp.Compare(*y, *x)
	})
}

// listedTrial is a trial as a row shows it: what only programs compare, and what
// other fields of the row say, is left out.
func listedTrial(t ktrdr.Trial) ktrdr.Trial {
	t.Key, t.Type, t.Look, t.Hash = "", "", "", ktrdr.Hash{}
	t.SharpeZ, t.AlphaZ = nil, nil
	for _, x := range []**float64{&t.Sharpe, &t.Alpha, &t.NetReturn, &t.MaxDrawdown, &t.Adjusted} {
		if *x != nil {
			short, _ := strconv.ParseFloat(strconv.FormatFloat(**x, 'g', 6, 64), 64) // of what it has just written
			*x = &short
		}
	}
	return t
}

// noLeaders says why a leaderboard is empty.
func noLeaders(w io.Writer, q httpapi.LeaderboardQuery) {
	switch {
	case q.Cursor != "":
		fmt.Fprintln(w, "There are no more rows.")
	case q.Symbol == "" && q.Timeframe == "":
		nothingYet(w, "researches that ended", q.Run)
	default:
		fmt.Fprintf(w, "No research that ended fits --%s. Leave out the filter to see all; `ktrdr data list` shows the symbols.\n", plain(strings.Join(leaderFilters(q), " --")))
	}
}
