package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/spelling"
)

// mostRanked bounds how many rows and claims are ranked at once.
const mostRanked = 1000

// Leaderboard implements httpapi.Research.
func (d researchDesk) Leaderboard(ctx context.Context, q httpapi.LeaderboardQuery) (httpapi.Leaderboard, error) {
	if q.Run != "" {
		if _, err := d.engine.FindRun(ctx, q.Run); err != nil {
			return httpapi.Leaderboard{}, err
		}
	}
	if err := d.spellSymbol(ctx, &q); err != nil {
		return httpapi.Leaderboard{}, err
	}
	if q.Timeframe != "" {
		if _, err := market.ParseTimeframe(q.Timeframe); err != nil {
			return httpapi.Leaderboard{}, ktrdr.Errorf(ktrdr.CodeInvalid, "%w", err)
		}
	}
	from, err := leaderPlace(q.Cursor)
	if err != nil {
		return httpapi.Leaderboard{}, err
	}
	rows, claims, err := d.ranked(ctx, ranking{
		TrialQuery: ktrdr.TrialQuery{Run: q.Run, Symbol: q.Symbol, Timeframe: q.Timeframe, Type: ktrdr.AgentResearch, Ended: true},
		sort:       q.Sort, from: from, limit: q.Limit + 1,
	})
	if err != nil {
		return httpapi.Leaderboard{}, err
	}
	next := ""
	if len(rows) > q.Limit {
		rows, next = rows[:q.Limit], strconv.Itoa(from+q.Limit)
	}
	markets, err := d.markets(ctx, q)
	if err != nil {
		return httpapi.Leaderboard{}, err
	}
	rules := evidence.Rules{}.WithDefaults()
	return httpapi.Leaderboard{
		Summary: leaderSummary(claims, markets, q), Claims: claims, Markets: markets, ByLuck: rules.MaxLuck * float64(markets),
		Thresholds: thresholds(rules), Rows: rows, Next: next,
	}, nil
}

// spellSymbol gives the symbol of a query the capitals that the markets know it
// by, and refuses one that no market knows where it is near to one that is known.
func (d researchDesk) spellSymbol(ctx context.Context, q *httpapi.LeaderboardQuery) error {
	if q.Symbol == "" {
		return nil
	}
	all, err := d.engine.Markets(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, m := range all {
		for _, s := range m.Series {
			known = append(known, s.Symbol)
		}
	}
	if slices.Contains(known, q.Symbol) {
		return nil
	}
	if i := slices.IndexFunc(known, func(s string) bool { return strings.EqualFold(s, q.Symbol) }); i >= 0 {
		q.Symbol = known[i]
		return nil
	}
	if near := spelling.Nearest(q.Symbol, known); near != "" {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "no market has the symbol %.60s; did you mean %s?", q.Symbol, near)
	}
	return nil
}

// ranking says what is ranked, and which rows of it are wanted.
type ranking struct {
	ktrdr.TrialQuery
	sort        string // one of httpapi.LeaderSorts
	from, limit int
}

// ranked takes the best of each market by score, and the claims, which may have
// a lower score. claims counts the claims of the selection.
func (d researchDesk) ranked(ctx context.Context, q ranking) (rows []httpapi.Leader, claims int, err error) {
	shown, claimed, err := d.claimed(ctx, q.TrialQuery)
	if err != nil {
		return nil, 0, err
	}
	q.ByScore, q.Limit = true, mostRanked
	if byRank := q.sort == "" || q.sort == "rank"; byRank {
		q.Limit = min(q.from+q.limit, mostRanked)
	}
	best, err := d.engine.Trials(ctx, q.TrialQuery)
	if err != nil {
		return nil, 0, err
	}
	all := append(claimed, slices.DeleteFunc(best.Trials, func(t ktrdr.Trial) bool { return t.Claim })...)
	for i, r := range research.Rank(all) {
		row := httpapi.Leader{Rank: i + 1, Trial: r.Trial, Standing: research.Standing(&r.Trial), Deflated: r.Deflated}
		if r.Claim {
			row.Holdout = shown[r.Operation]
		}
		rows = append(rows, row)
	}
	sortLeaders(rows, q.sort)
	rows = rows[min(q.from, len(rows)):]
	rows = rows[:min(q.limit, len(rows))]
	for i := range rows {
		rows[i].Trial = listedTrial(rows[i].Trial)
	}
	return rows, len(claimed), nil
}

// claimed are the trials of a selection that claim an edge, and what their
// holdouts showed.
func (d researchDesk) claimed(ctx context.Context, q ktrdr.TrialQuery) (map[ktrdr.OperationID]*httpapi.Holdout, []ktrdr.Trial, error) {
	looks, err := d.engine.Looks(ctx, ktrdr.LookQuery{Run: q.Run, Since: q.Since, Claims: true, Limit: mostRanked})
	if err != nil || len(looks.Looks) == 0 {
		return nil, nil, err
	}
	shown := map[ktrdr.OperationID]*httpapi.Holdout{}
	for i := range looks.Looks {
		l := &looks.Looks[i]
		shown[l.Research] = holdoutOf(l)
		q.Of = append(q.Of, l.Research)
	}
	q.Since, q.Limit = time.Time{}, mostRanked // the look is of the span, the research may have ended before
	page, err := d.engine.Trials(ctx, q)
	return shown, page.Trials, err
}

// holdoutOf is what a look showed; nil if it has no result.
func holdoutOf(l *ktrdr.Look) *httpapi.Holdout {
	var c research.Confirmation
	if len(l.Result) == 0 || json.Unmarshal(l.Result, &c) != nil { // of an earlier version
		return nil
	}
	return &httpapi.Holdout{Sharpe: c.Look.Holdout.Sharpe.Ratio(), Low: c.Look.Low, High: c.Look.High, Shrunk: c.Look.Shrunk}
}

// markets counts the markets that a selection was tried on.
func (d researchDesk) markets(ctx context.Context, q httpapi.LeaderboardQuery) (int, error) {
	if q.Symbol == "" && q.Timeframe == "" {
		t, err := d.engine.Tally(ctx, ktrdr.TallyQuery{Run: q.Run})
		return t.Markets, err
	}
	all, err := d.engine.Markets(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, m := range all {
		if m.Trials == 0 {
			continue
		}
		one, err := d.engine.Trials(ctx, ktrdr.TrialQuery{Run: q.Run, Market: m.ID, Symbol: q.Symbol, Timeframe: q.Timeframe, Limit: 1})
		if err != nil {
			return 0, err
		}
		n += len(one.Trials)
	}
	return n, nil
}

// leaderSummary is the first line of a leaderboard. One that is empty because of its
// filters does not say that nothing was researched.
func leaderSummary(claims, markets int, q httpapi.LeaderboardQuery) string {
	if filters := leaderFilters(q); markets == 0 && len(filters) > 0 {
		return fmt.Sprintf("No market was researched with %s.", strings.Join(filters, ", "))
	}
	return claimsOnMarkets(claims, markets)
}

// leaderFilters names the filters of a leaderboard: "symbol EURUSD".
func leaderFilters(q httpapi.LeaderboardQuery) (filters []string) {
	for _, f := range [][2]string{{"symbol", q.Symbol}, {"timeframe", q.Timeframe}, {"run", shortRun(q.Run)}} {
		if f[1] != "" {
			filters = append(filters, f[0]+" "+f[1])
		}
	}
	return filters
}

// claimsOnMarkets says how many claims there are, and how many luck alone gives.
func claimsOnMarkets(claims, markets int) string {
	if markets == 0 {
		return "No market was researched yet."
	}
	return fmt.Sprintf("%s on %s; luck alone gives up to %.3g.", numbered(claims, "claim", "claims"), numbered(markets, "market", "markets"),
		evidence.Rules{}.WithDefaults().MaxLuck*float64(markets))
}

// thresholds says what a claim and a finalist must reach.
func thresholds(r evidence.Rules) string {
	return fmt.Sprintf("claimed: adjusted p <= %v on the holdout, with %d trades or more; "+
		"finalist: deflated Sharpe >= %v on the test part when it was judged, %d trades or more, drawdown <= %.0f %%.",
		r.MaxLuck, r.HoldoutTrades, r.MinDeflated, r.MinTrades, 100*r.MaxDrawdown)
}

const leaderboardHelp = `Rank researches: claims first, then by the deflated Sharpe ratio on the test part.
The Sharpe ratio is deflated by the number of trials on the market today, for
every row alike. ALPHA is the return per year that the market does not explain (the intercept
of a regression on buy-and-hold). TRIALS and LOOKS
are those of the market now. PRICES are imported, made up (by "ktrdr data synth" or
the demo), or unknown.`

func newLeaderboard(a *app) *cobra.Command {
	var q httpapi.LeaderboardQuery
	cmd := &cobra.Command{
		Use: "leaderboard", Short: "The best researches: claims first, then by deflated Sharpe ratio", Long: leaderboardHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *httpapi.Client, _ []string) error {
			if q.Limit < 1 || q.Limit > mostRanked {
				return usagef("--limit must be 1 to %d, not %d", mostRanked, q.Limit)
			}
			if !slices.Contains(httpapi.LeaderSorts, q.Sort) {
				return noneSuch("--sort", q.Sort, httpapi.LeaderSorts)
			}
			var err error
			if q.Run, err = runID(ctx, c, q.Run); err != nil {
				return err
			}
			b, err := c.Leaderboard(ctx, q)
			if err != nil {
				return err
			}
			return a.print(leaderboardPage{b, b.Next}, func(w io.Writer) {
				if len(b.Rows) == 0 {
					noLeaders(w, q)
					return
				}
				printLeaderboard(w, b)
				if b.Next != "" {
					fmt.Fprintf(w, "There is more: add --cursor %s.\n", b.Next)
				}
			})
		}),
	}
	cmd.Flags().StringVar(&q.Run, "run", "", "only those of this `RUN`")
	cmd.Flags().StringVar(&q.Symbol, "symbol", "", "only those that trade this `SYMBOL`")
	cmd.Flags().StringVar(&q.Timeframe, "timeframe", "", "only those that use bars of this `TIMEFRAME`")
	cmd.Flags().StringVar(&q.Sort, "sort", "rank", "`ORDER`: "+strings.Join(httpapi.LeaderSorts, ", "))
	cmd.Flags().IntVar(&q.Limit, "limit", 20, "how many at most")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "where the page begins: as the page before said")
	_ = cmd.RegisterFlagCompletionFunc("timeframe", completeTimeframes)
	return cmd
}

func printLeaderboard(w io.Writer, b httpapi.Leaderboard) {
	fmt.Fprintln(w, b.Summary)
	printLeaders(w, b.Rows)
	printCostLegend(w, cheapLeaders(b.Rows))
	printClaims(w, b.Rows)
	fmt.Fprintln(w, b.Thresholds)
}

// leaderHead are the columns that leaderCells fills.
var leaderHead = []string{"RESEARCH", "STRATEGY", "MARKET", "PRICES", "RUN", "SHARPE", "ALPHA", "DEFL", "RETURN", "TRIALS", "LOOKS", "RESULT"}

func leaderCells(l httpapi.Leader) []any {
	if l.CheapCosts {
		l.Standing += " *"
	}
	return []any{
		tail(l.Operation), shorten(dash(l.Strategy), 16), l.Symbols + " " + l.Timeframes, pricesText(l.MadeUp), dash(shortRun(l.Run)),
		hundredths(l.Sharpe), percentOf(l.Alpha), hundredths(l.Deflated), percentOf(l.NetReturn), l.MarketTrials, l.MarketLooks, l.Standing,
	}
}

// cheapLeaders says whether a row has a marked cost.
func cheapLeaders(rows []httpapi.Leader) bool {
	return slices.ContainsFunc(rows, func(l httpapi.Leader) bool { return l.CheapCosts })
}

func printLeaders(w io.Writer, rows []httpapi.Leader) {
	table(w, strings.Join(leaderHead, "\t"), func(row func(...any)) {
		for _, l := range rows {
			row(leaderCells(l)...)
		}
	})
}

// printClaims prints, beside the Sharpe ratio that each claim showed on its
// holdout, how far it can be trusted.
func printClaims(w io.Writer, rows []httpapi.Leader) {
	for _, l := range rows {
		if l.Claim {
			fmt.Fprintln(w, plain(claimLine(l)))
		}
	}
}

func claimLine(l httpapi.Leader) string {
	said := fmt.Sprintf("%s: edge claimed, p = %s after adjustment", tail(l.Operation), significant(l.Adjusted))
	if h := l.Holdout; h != nil {
		said += "; holdout Sharpe " + holdoutText(h)
	}
	return ofMadeUp(said, l.MadeUp) + "."
}

func significant(x *float64) string {
	if x == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.2g", *x)
}

// shortRun is as much of a run's id as commands need to find it.
func shortRun(run string) string {
	const enough = len("run_") + 8
	if len(run) <= enough {
		return run
	}
	return run[:enough]
}
