package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// LeaderboardQuery selects what is ranked; empty fields select all.
type LeaderboardQuery struct {
	Run       string     `query:"run" doc:"only those of this run"`
	Since     time.Time  `query:"since" doc:"only those that ended at this instant (RFC 3339) or later"`
	Symbol    string     `query:"symbol" doc:"only those that trade this symbol"`
	Timeframe string     `query:"timeframe" doc:"only those that use bars of this timeframe"`
	Outcome   string     `query:"outcome" max:"40" doc:"only those with this standing, such as no edge or failed"` // see Outcomes
	Text      string     `query:"q" max:"100" doc:"only those whose strategy or id contains this, of the 1000 best"`
	Sort      LeaderSort `query:"sort" doc:"the order, the best first; by default rank"`
	Reverse   bool       `query:"reverse" doc:"the opposite order"`
	Details   bool       `query:"details" doc:"also buy-and-hold, the costs and the checks of each row"`
	Limit     int        `query:"limit" doc:"entries of a page, 1 to 1000; by default 20"`
	Cursor    string     `query:"cursor" doc:"next_cursor of the page before"`
}

// Leaderboard is a ranking of researches.
type Leaderboard struct {
	Summary    string   `json:"summary"`        // the claims, the markets, and the claims that luck alone gives
	Claims     int      `json:"claims"`         // of the selection
	Markets    int      `json:"markets"`        // that the selection was tried on
	ByLuck     float64  `json:"claims_by_luck"` // that luck alone gives at most, on average
	Thresholds string   `json:"thresholds"`     // what a claim and a finalist must reach
	Rows       []Leader `json:"rows"`
	Next       string   `json:"-"` // cursor of the next page, beside the data
}

// Leader is a row of the leaderboard. Figures are of the test part, net of costs.
// Of the trial it has what a row shows: no key, type, z-values and hashes.
type Leader struct {
	Rank int `json:"rank"`
	ktrdr.Trial
	Standing string   `json:"standing"`        // what it came to, in words
	Deflated *float64 `json:"deflated_sharpe"` // by the trials on its market today
	// StandardError is that of the Sharpe ratio; null where it was not estimated.
	StandardError *float64 `json:"standard_error"`
	Holdout       *Holdout `json:"holdout,omitempty"`
	// Since is what the bars after a claim have shown; only among the claims of a report.
	Since *ktrdr.ClaimLife `json:"since_claim,omitempty"`
	// Calibration is how often this lab claims falsely on the market; only there too.
	Calibration string `json:"calibration,omitempty"`
	// Ladder is where a claim or a finalist stands, and Examination what its cross-validation and
	// perturbations found; only in a report.
	Ladder      *research.Ladder      `json:"ladder,omitempty"`
	Examination *evidence.Examination `json:"examination,omitempty"`
	// Details are there if they were asked for, or are sorted by.
	Details *LeaderDetails `json:"details,omitempty"`
}

// Holdout is what a look showed: Sharpe ratios per year, net of costs.
type Holdout struct {
	Sharpe *float64 `json:"sharpe_ratio"`
	Low    *float64 `json:"low"` // 95 % interval
	High   *float64 `json:"high"`
	Shrunk *float64 `json:"shrunk"` // corrected for having been selected; null unless it is a claim
}

// Outcomes are the standings that a leaderboard can be limited to, without commas.
var Outcomes = []string{
	"claimed", "not confirmed", "being confirmed", "finalist not opened", "finalist fragile", "finalist examination failed", "no edge",
	"gate rejected", "failed", "cancelled",
}

// selects reports whether a row is asked for by standing and text.
func (q ranking) selects(l *Leader) bool {
	if q.outcome != "" && strings.ReplaceAll(l.Standing, ",", "") != q.outcome {
		return false
	}
	names := strings.ToLower(strings.Join([]string{l.Strategy, strings.ReplaceAll(l.Strategy, "_", " "), string(l.Operation)}, "\n"))
	return strings.Contains(names, strings.ToLower(q.text))
}

// MostRanked bounds how many rows and claims are ranked at once.
const MostRanked = 1000

// Leaderboard ranks researches.
func (r Reporter) Leaderboard(ctx context.Context, q LeaderboardQuery) (Leaderboard, error) {
	if q.Run != "" {
		if _, err := r.engine.FindRun(ctx, q.Run); err != nil {
			return Leaderboard{}, err
		}
	}
	if err := r.spellSymbol(ctx, &q); err != nil {
		return Leaderboard{}, err
	}
	if q.Timeframe != "" {
		if _, err := market.ParseTimeframe(q.Timeframe); err != nil {
			return Leaderboard{}, ktrdr.Errorf(ktrdr.CodeInvalid, "%w", err)
		}
	}
	if q.Outcome != "" && !slices.Contains(Outcomes, q.Outcome) {
		return Leaderboard{}, ktrdr.Errorf(ktrdr.CodeInvalid, "%.40q is no outcome; the outcomes are %s", q.Outcome, strings.Join(Outcomes, ", "))
	}
	from, err := leaderPlace(q.Cursor)
	if err != nil {
		return Leaderboard{}, err
	}
	rows, claims, err := r.ranked(ctx, ranking{
		TrialQuery: ktrdr.TrialQuery{
			Run: q.Run, Since: q.Since, Symbol: q.Symbol, Timeframe: q.Timeframe, Type: ktrdr.AgentResearch, Ended: true,
		},
		sort: q.Sort, reverse: q.Reverse, details: q.Details, outcome: q.Outcome, text: q.Text, from: from, limit: q.Limit + 1,
	})
	if err != nil {
		return Leaderboard{}, err
	}
	next := ""
	if len(rows) > q.Limit {
		rows, next = rows[:q.Limit], strconv.Itoa(from+q.Limit)
	}
	markets, err := r.markets(ctx, q)
	if err != nil {
		return Leaderboard{}, err
	}
	listTrials(rows)
	rules := evidence.Rules{}.WithDefaults()
	return Leaderboard{
		Summary: q.summary(claims, markets), Claims: claims, Markets: markets, ByLuck: rules.MaxAdjustedP * float64(markets),
		Thresholds: thresholds(rules), Rows: rows, Next: next,
	}, nil
}

// spellSymbol gives the symbol of a query the capitals that the markets know it
// by, and refuses one that no market knows where it is near to one that is known.
func (r Reporter) spellSymbol(ctx context.Context, q *LeaderboardQuery) error {
	if q.Symbol == "" {
		return nil
	}
	all, err := r.engine.Markets(ctx)
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
	if near := text.Nearest(q.Symbol, known); near != "" {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "no market has the symbol %.60s; did you mean %s?", q.Symbol, near)
	}
	return nil
}

type ranking struct {
	ktrdr.TrialQuery
	sort        LeaderSort
	reverse     bool
	details     bool
	outcome     string // one of Outcomes
	text        string
	from, limit int
}

// ranked takes the best of each market by score, and the claims, which may have
// a lower score. claims counts the claims of the selection.
func (r Reporter) ranked(ctx context.Context, q ranking) (rows []Leader, claims int, err error) {
	shown, claimed, err := r.claimed(ctx, q.TrialQuery)
	if err != nil {
		return nil, 0, err
	}
	q.ByScore, q.Limit = true, MostRanked
	if byRank := q.sort == "" || q.sort == "rank"; byRank && !q.reverse && q.outcome+q.text == "" {
		q.Limit = min(q.from+q.limit, MostRanked)
	}
	best, err := r.engine.Trials(ctx, q.TrialQuery)
	if err != nil {
		return nil, 0, err
	}
	all := append(claimed, slices.DeleteFunc(best.Trials, func(t ktrdr.Trial) bool { return t.Claim })...)
	for i, one := range research.Rank(all) {
		row := Leader{Rank: i + 1, Trial: one.Trial, Standing: research.Standing(&one.Trial), Deflated: one.Deflated}
		if z := one.SharpeZ; z != nil && *z != 0 && one.Sharpe != nil {
			row.StandardError = new(*one.Sharpe / *z)
		}
		if one.Claim {
			row.Holdout = shown[one.Operation]
		}
		if q.selects(&row) {
			rows = append(rows, row)
		}
	}
	early := orders[q.sort].details
	if early {
		if err := r.addDetails(ctx, rows); err != nil {
			return nil, 0, err
		}
	}
	sortLeaders(rows, q.sort, q.reverse)
	rows = rows[min(q.from, len(rows)):]
	rows = rows[:min(q.limit, len(rows))]
	if q.details && !early {
		if err := r.addDetails(ctx, rows); err != nil {
			return nil, 0, err
		}
	}
	return rows, len(claimed), nil
}

// claimed are the trials that claim an edge, and what their holdouts showed.
func (r Reporter) claimed(ctx context.Context, q ktrdr.TrialQuery) (map[ktrdr.OperationID]*Holdout, []ktrdr.Trial, error) {
	looks, err := r.engine.Looks(ctx, ktrdr.LookQuery{Run: q.Run, Since: q.Since, Claims: true, Limit: MostRanked})
	if err != nil || len(looks.Looks) == 0 {
		return nil, nil, err
	}
	shown := map[ktrdr.OperationID]*Holdout{}
	for i := range looks.Looks {
		l := &looks.Looks[i]
		shown[l.Research] = HoldoutOf(l)
		q.Of = append(q.Of, l.Research)
	}
	q.Since, q.Limit = time.Time{}, MostRanked // the look is of the span, the research may have ended before
	page, err := r.engine.Trials(ctx, q)
	return shown, page.Trials, err
}

// HoldoutOf is what a look showed; nil if it has no result.
func HoldoutOf(l *ktrdr.Look) *Holdout {
	var c research.Confirmation
	if len(l.Result) == 0 || json.Unmarshal(l.Result, &c) != nil { // of an earlier version
		return nil
	}
	return &Holdout{Sharpe: c.Look.Holdout.Sharpe.Ratio(), Low: c.Look.Low, High: c.Look.High, Shrunk: c.Look.Shrunk}
}

func (r Reporter) markets(ctx context.Context, q LeaderboardQuery) (int, error) {
	if q.Symbol == "" && q.Timeframe == "" {
		t, err := r.engine.Tally(ctx, ktrdr.TallyQuery{Run: q.Run, Since: q.Since})
		return t.Markets, err
	}
	all, err := r.engine.Markets(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, m := range all {
		if m.Trials == 0 {
			continue
		}
		one, err := r.engine.Trials(ctx, ktrdr.TrialQuery{
			Run: q.Run, Since: q.Since, Market: m.ID, Symbol: q.Symbol, Timeframe: q.Timeframe, Limit: 1,
		})
		if err != nil {
			return 0, err
		}
		n += len(one.Trials)
	}
	return n, nil
}

// summary is the first line. An empty selection does not say that nothing was done.
func (q LeaderboardQuery) summary(claims, markets int) string {
	if filters := q.Filters(); markets == 0 && len(filters) > 0 {
		return fmt.Sprintf("No market was researched with %s.", strings.Join(filters, ", "))
	}
	if markets == 0 && !q.Since.IsZero() {
		return "No market was researched in this time."
	}
	return claimsOnMarkets(claims, markets)
}

// Filters names the filters of a leaderboard: "symbol EURUSD".
func (q LeaderboardQuery) Filters() (filters []string) {
	for _, f := range [][2]string{{"symbol", q.Symbol}, {"timeframe", q.Timeframe}, {"run", ktrdr.ShortRun(q.Run)}} {
		if f[1] != "" {
			filters = append(filters, f[0]+" "+f[1])
		}
	}
	return filters
}

func claimsOnMarkets(claims, markets int) string {
	if markets == 0 {
		return "No market was researched yet."
	}
	return fmt.Sprintf("%s on %s; luck alone gives up to %.3g.", text.Counted(claims, "claim"), text.Counted(markets, "market"),
		evidence.Rules{}.WithDefaults().MaxAdjustedP*float64(markets))
}

func thresholds(r evidence.Rules) string {
	return fmt.Sprintf("claimed: adjusted p <= %v on the holdout, with %d trades or more; "+
		"finalist: passed all nine checks (`ktrdr help research`).", r.MaxAdjustedP, r.HoldoutTrades)
}

// leaderPlace reads a cursor: how many rows come before the page.
func leaderPlace(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(cursor)
	if err != nil || n < 0 || n > MostRanked {
		return 0, ktrdr.Errorf(ktrdr.CodeInvalid, "the cursor %.40q is not one this server gave; begin without a cursor", cursor)
	}
	return n, nil
}

// listTrials takes out of rows what only programs compare.
func listTrials(rows []Leader) {
	for i := range rows {
		rows[i].Trial = listedTrial(rows[i].Trial)
	}
}

// listedTrial is a trial without what only programs compare.
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
