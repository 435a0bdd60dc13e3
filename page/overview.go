package page

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

// overviewQuery is the query of the page: a span of time, and the filters of its
// leaderboard.
type overviewQuery struct {
	since string
	boardQuery
}

func readOverviewQuery(v url.Values) overviewQuery {
	return overviewQuery{v.Get("since"), readBoardQuery("/night", v)}
}

// keep are the fields that the form of the leaderboard keeps.
func (q overviewQuery) keep() []field { return []field{{"since", q.since}, {"run", q.Run}} }

// here is the URL of the page with this query.
func (q overviewQuery) here() string { return q.from(q.Cursor, q.keep()) }

func (p *Pages) routeOverview() {
	p.mux.HandleFunc("GET /night/suggestions", p.view("Night", "suggestions", p.readSuggestions))
	p.mux.HandleFunc("POST /night/resume", p.act(p.resumeAll))
	p.mux.HandleFunc("POST /night/pause", p.act(p.setPaused))
	p.mux.HandleFunc("POST /night/cancel", p.act(p.cancelResearch))
	p.mux.HandleFunc("GET /night", p.view("Night", "overview", func(ctx context.Context, r *http.Request) (any, error) {
		return p.readOverview(ctx, readOverviewQuery(r.URL.Query()))
	}))
}

// overview is the view of a run or of a span of time.
type overview struct {
	Ranges, Runs []option
	Run          string
	Export       string // where the report is
	Command      string // that writes it

	Began    string // the beginning of the span, for the reader's zone; empty in a file
	Span     string
	Headline string
	Claimed  bool
	Lead     []phrase
	Alerts   []link

	Funnel   []stage
	Best     template.HTML
	Next     []threshold // of the next look, by market
	Heads    []string    // of the ledgers
	Capacity string
	Running  []running

	Board board

	Stands stands // claims and finalists

	Panels  []lazy // of the runs that are shown
	Stopped []stoppedRow
	Needs   []need
	Spend   *spend
	Machine machine

	Pause  *action // or the opposite
	Cancel *action // the run that is shown
	First  bool    // nothing was ever researched
	Series int     // of prices that the lab has
}

type (
	option struct {
		Value, Name string
		Chosen      bool
	}
	field  struct{ Name, Value string }
	link   struct{ Text, Link string }
	phrase struct {
		Text   string
		Strong bool
	}
	stage struct {
		Name  string
		N     int
		Share string // of the tried, in percent
		Note  string
		Claim bool
	}
	spend struct {
		Spent, Limit, Share string
		Models              []report.ModelSum
	}
)

// readOverview reads everything that the page shows.
func (p *Pages) readOverview(ctx context.Context, q overviewQuery) (overview, error) {
	since, err := report.SinceText(q.since, p.now().UTC())
	if err != nil {
		return overview{}, ktrdr.Errorf(ktrdr.CodeInvalid, "since=%w", err)
	}
	span := api.ReportRequest{Since: since, Run: q.Run}
	q.Limit = rows(ctx, leadersOfAPage, leadersOfAFile)
	var (
		told     report.Report
		search   report.Search
		status   research.Status
		breakers []resilience.Status
		runs     ktrdr.RunPage
	)
	err = together(
		ask(&search, func() (report.Search, error) { return client.Call(ctx, p.lab, api.Search, span) }),
		ask(&told, func() (report.Report, error) {
			return client.Call(ctx, p.lab, api.Report, api.FullReportRequest{ReportRequest: span})
		}),
		ask(&status, func() (research.Status, error) {
			return client.Call(ctx, p.lab, api.ResearchStatus, api.StatusRequest{Waiting: leadersOfAPage})
		}),
		ask(&breakers, func() ([]resilience.Status, error) { return p.openBreakers(ctx) }),
		ask(&runs, func() (ktrdr.RunPage, error) { return p.lab.Runs(ctx, ktrdr.RunQuery{Limit: runsOffered}) }),
	)
	if err != nil {
		return overview{}, err
	}
	if q.Run == "" { // of a run all researches are shown
		q.Since = told.From
	}
	board, err := p.lab.Leaderboard(ctx, q.LeaderboardQuery)
	if err != nil {
		return overview{}, err
	}
	n := overview{Run: q.Run}
	n.choices(q, runs.Runs)
	if err := p.readActions(ctx, &n, q, runs.Runs); err != nil {
		return overview{}, err
	}
	n.Export, n.Command = exportOf(span)
	if n.Span = spanOf(&told, runs.Runs); !inFile(ctx) {
		n.Began = told.From.UTC().Format(time.RFC3339)
	}
	n.headline(&told, &search)
	if madeUp(board.Rows) {
		n.Lead = append(n.Lead, phrase{Text: " All prices are made up."})
	}
	n.funnel(search.Funnel)
	n.Best = bestSoFar(&search)
	n.Next, n.Heads = thresholdsOf(&search), text.Map(told.Heads, ktrdr.ChainHead.String)
	n.running(ctx, status, q)
	n.Board, n.Stands = boardOf(board, q.boardQuery, q.keep()), standsOf(&told)
	n.Panels = panelLinks(q, &told, runs.Runs)
	n.Stopped = stoppedRows(search.Stopped)
	n.Needs = needsOf(ctx, &told, breakers, q.here())
	n.spend(status.Budget, told.Models)
	n.Machine = machineOf(told.Machine, told.From, told.To)
	return n, nil
}

// ranges are the spans that the view offers, and the one that is shown.
func ranges(q overviewQuery) []option {
	list := []option{
		{Value: "", Name: "Last 12 hours"}, // empty, so that a run that is then chosen is shown from its beginning
		{Value: "last", Name: "Last session"},
		{Value: "22:00", Name: "Since 22:00 UTC"},
		{Value: "2h", Name: "Last 2 hours"},
		{Value: "7d", Name: "Last 7 days"},
		{Value: "87600h", Name: "Everything"},
	}
	shown := strings.ToLower(q.since)
	if q.Run != "" {
		list[0].Value = "12h"
		list = append([]option{{Value: "", Name: "From its beginning"}}, list...)
	} else if shown == "12h" {
		shown = ""
	}
	for i := range list {
		if list[i].Chosen = list[i].Value == shown; list[i].Chosen {
			return list
		}
	}
	name := "Since " + q.since + " UTC"
	if _, err := time.ParseDuration(q.since); err == nil || strings.HasSuffix(shown, "d") {
		name = "Last " + q.since
	} else if _, err := time.Parse(time.RFC3339, q.since); err == nil {
		name = "Since " + q.since
	}
	return append(list, option{Value: q.since, Name: plain(name), Chosen: true})
}

// madeUp is whether the prices of all rows are made up.
func madeUp(rows []report.Leader) bool {
	imported := func(l report.Leader) bool { return l.MadeUp == nil || !*l.MadeUp }
	return len(rows) > 0 && !slices.ContainsFunc(rows, imported)
}

// choices are what the forms offer.
func (n *overview) choices(q overviewQuery, runs []ktrdr.Run) {
	n.Ranges = ranges(q)
	n.Runs = append(n.Runs, option{Name: "All runs"})
	for _, r := range runs {
		name := fmt.Sprintf("%s (%d)", clip(plain(cmp.Or(r.Goal, r.ID)), 48), r.Created)
		n.Runs = append(n.Runs, option{Value: r.ID, Name: name, Chosen: r.ID == q.Run})
	}
}

// headline is the verdict in one sentence, and what it rests on.
func (n *overview) headline(told *report.Report, s *report.Search) {
	f := s.Funnel
	tried := plural(f.Tried-f.Running, "strategy")
	switch {
	case f.Tried == 0:
		n.Headline = "No research in this time."
	case told.Researches.Claims > 0:
		n.Claimed = true
		n.Headline = fmt.Sprintf("%d of %s claim an edge.", told.Researches.Claims, plural(f.Tried, "strategy"))
	case f.Running == f.Tried:
		n.Headline = have(f.Running, "research", "is running.", "are running.")
	case f.Running > 0:
		n.Headline = fmt.Sprintf("So far nothing beats luck: %s tried, %d running.", tried, f.Running)
	case f.Failed == f.Tried:
		n.Headline = "No strategy was tried: " + have(f.Failed, "research", "failed or was cancelled.", "failed or were cancelled.")
	default:
		n.Headline = fmt.Sprintf("Nothing survived: %s tried, none beats luck.", tried)
	}
	say := func(text string) { n.Lead = append(n.Lead, phrase{Text: text}) }
	figure := func(v float64) { n.Lead = append(n.Lead, phrase{Text: chart.Number(v, 2), Strong: true}) }
	if s.Best != nil {
		say("The best test Sharpe is ")
		figure(s.Best.Sharpe)
		say(". ")
	}
	if s.Luck != nil {
		say(fmt.Sprintf("The best of %s without any edge would show about ", plural(f.Tried, "strategy")))
		figure(*s.Luck)
		say(". ")
	}
	switch {
	case f.Looks > 0:
		say(have(f.Looks, "holdout look", "was made.", "were made."))
	case f.Tried > 0:
		say("No strategy has passed the test part, so every holdout is still sealed.")
	}
	resumable := 0
	for _, why := range told.Failures {
		resumable += why.Resumable
	}
	if resumable > 0 {
		n.Alerts = append(n.Alerts, link{have(resumable, "failed operation", "can be resumed", "can be resumed"), "#needs"})
	}
	if m := told.Machine; m.BackendDeaths+m.WorkersLost > 0 {
		n.Alerts = append(n.Alerts, link{plural(m.BackendDeaths+m.WorkersLost, "process") + " died", "#machine"})
	}
}

func have(n int, noun, one, several string) string {
	if n == 1 {
		return plural(n, noun) + " " + one
	}
	return plural(n, noun) + " " + several
}

func (n *overview) funnel(f report.Funnel) {
	share := func(k int) string { return chart.Number(100*float64(k)/float64(max(f.Tried, 1)), 1) }
	add := func(name string, k int, note string) {
		n.Funnel = append(n.Funnel, stage{Name: name, N: k, Share: share(k), Note: note, Claim: name == "Claimed"})
	}
	add("Tried", f.Tried, plural(f.Running, "research")+" still running")
	add("Trained", f.Trained, plural(f.Failed, "research")+" failed")
	add("Backtested", f.Backtested, fmt.Sprintf("%d stopped by the training gate", f.Trained-f.Backtested))
	add("Passed the gates", f.Passed, fmt.Sprintf("%d stopped by the backtest gate", f.Backtested-f.Passed))
	add("Finalists", f.Finalists, fmt.Sprintf("%d failed a check on the test part", f.Passed-f.Finalists))
	looks := "no holdout was opened"
	if f.Looks > 0 {
		looks = fmt.Sprintf("%d not opened", f.Finalists-f.Looks)
	}
	add("Holdout looks", f.Looks, looks)
	add("Claimed", f.Claims, fmt.Sprintf("needs adjusted p ≤ %v", evidence.Rules{}.WithDefaults().MaxAdjustedP))
}

func (n *overview) spend(b research.BudgetStatus, calls *report.ModelCalls) {
	if b.Limit == 0 && calls == nil {
		return
	}
	n.Spend = &spend{Spent: dollars(b.Spent), Limit: dollars(b.Limit), Share: "0"}
	if b.Limit > 0 {
		n.Spend.Share = chart.Number(min(100*b.Spent/b.Limit, 100), 1)
	}
	if calls != nil {
		n.Spend.Models = calls.ByModel
	}
}
