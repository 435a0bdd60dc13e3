package page

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/research"
)

func (p *Pages) routeLab() {
	p.mux.HandleFunc("GET /lab", p.view("Models", "lab-models", p.readModels))
	p.mux.HandleFunc("GET /lab/memory", p.view("Memory", "lab-memory", p.readMemory))
	p.mux.HandleFunc("GET /lab/runs", p.view("Runs", "lab-runs", p.readRuns))
	p.mux.HandleFunc("POST /lab/runs/{id}/cancel", p.act(func(ctx context.Context, r *http.Request) (string, error) {
		_, err := p.lab.CancelRun(ctx, r.PathValue("id"), "from the page")
		return "/lab/runs", err
	}))
	p.mux.HandleFunc("GET /lab/settings", p.view("Settings", "lab-settings", p.readSettings))
	p.mux.HandleFunc("GET /lab/tokens", p.view("Tokens", "lab-tokens", func(ctx context.Context, _ *http.Request) (any, error) {
		return p.readTokens(ctx)
	}))
	p.mux.HandleFunc("POST /lab/tokens", p.makeToken)
	p.mux.HandleFunc("POST /lab/tokens/link", p.makeLink)
	p.mux.HandleFunc("POST /lab/tokens/{id}/revoke", p.act(func(ctx context.Context, r *http.Request) (string, error) {
		return "/lab/tokens", p.lab.RevokeToken(ctx, r.PathValue("id"))
	}))
}

// labPlaces are the pages of the lab.
var labPlaces = []link{
	{"Models", "/lab"}, {"Memory", "/lab/memory"}, {"Runs", "/lab/runs"}, {"Settings", "/lab/settings"}, {"Tokens", "/lab/tokens"},
}

func labTabs(here string) []tab {
	var tabs []tab
	for _, l := range labPlaces {
		tabs = append(tabs, tab{Name: l.Text, Link: l.Link, Here: l.Link == here})
	}
	return tabs
}

// modelsView is the language models and the trained networks.
type modelsView struct {
	Tabs     []tab
	Headline string
	Spend    *spend
	Language []languageModel
	Trained  []trainedModel
	Next     string
}

type languageModel struct {
	Name, Provider, Mark, State, Input, Output, Calls, Success, Latency, Error string
}

type trainedModel struct {
	Operation, Handle, Strategy, Symbols, Timeframes, Accuracy, Baseline, Size, At string
	MadeUp                                                                         bool
	Warnings                                                                       int
}

func (p *Pages) readModels(ctx context.Context, r *http.Request) (any, error) {
	v := modelsView{Tabs: labTabs("/lab")}
	health, err := client.Call(ctx, p.lab, api.LanguageModels, api.None{})
	if err != nil {
		return nil, err
	}
	well := 0
	for _, m := range health {
		row := languageModel{
			Name: m.Model, Provider: m.Provider, Mark: "done", State: "healthy", Input: tokenPrice(m.Input), Output: tokenPrice(m.Output),
			Calls: count(int(m.Calls)), Success: share(m.SuccessRate), Latency: missing, Error: m.LastError,
		}
		if m.Calls > 0 {
			row.Latency = lasted(time.Duration(m.Seconds * float64(time.Second)))
		}
		switch now := p.now(); {
		case m.CoolUntil.After(now):
			row.Mark, row.State = "failed", "waits "+lasted(m.CoolUntil.Sub(now))
		case !m.Well:
			row.Mark, row.State = "neutral", plural(m.Failures, "failure")+" in a row"
		default:
			well++
		}
		v.Language = append(v.Language, row)
	}
	v.Headline = "No language model. The built-in designer works without one."
	if len(health) > 0 {
		v.Headline = fmt.Sprintf("%d of %s healthy.", well, plural(len(health), "language model"))
	}
	if v.Spend, err = p.readSpend(ctx); err != nil {
		return nil, err
	}
	return v, p.readTrained(ctx, r.URL.Query().Get("cursor"), &v)
}

// tokenPrice is US dollars per million tokens; one that is not known keeps a model from
// being called.
func tokenPrice(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("$%.2f", *v)
}

// readSpend reads the money of today and the calls of the last 24 hours.
func (p *Pages) readSpend(ctx context.Context) (*spend, error) {
	b, err := p.lab.Budget(ctx)
	if err != nil {
		return nil, err
	}
	told, err := p.lab.Report(ctx, "24h", "")
	if err != nil {
		return nil, err
	}
	s := &spend{Spent: dollars(b.Spent), Limit: dollars(b.Limit), Share: "0"}
	if b.Limit > 0 {
		s.Share = chart.Number(min(100*b.Spent/b.Limit, 100), 1)
	}
	if told.Models != nil {
		s.Models = told.Models.ByModel
	}
	return s, nil
}

func (p *Pages) readTrained(ctx context.Context, cursor string, v *modelsView) error {
	trained, next, err := p.lab.Models(ctx, rowsOfAPage, cursor)
	if err != nil {
		return err
	}
	for i := range trained {
		m := &trained[i]
		v.Trained = append(v.Trained, trainedModel{
			Operation: string(m.Operation), Handle: m.Operation.Tail(), Strategy: strategyName(m.Strategy), Symbols: strings.Join(m.Symbols, " "),
			Timeframes: strings.Join(m.Timeframes, " "), Accuracy: share(m.TestAccuracy), Baseline: share(m.Baseline), Size: size(m.File.Size),
			At: m.CompletedAt.UTC().Format(time.RFC3339), MadeUp: m.MadeUp != nil && *m.MadeUp, Warnings: m.Warnings,
		})
	}
	if next != "" {
		v.Next = withQuery("/lab", field{"cursor", next})
	}
	return nil
}

// memoryView is what researches left.
type memoryView struct {
	Tabs              []tab
	Headline          string
	Counts            []field
	Statuses          []option
	Search            string
	Ideas             []idea
	IdeasShown        string
	Experiments       []experiment
	Next              string
	Filtered, NoIdeas bool
}

// idea is hypotheses with the same text.
type idea struct {
	N                  int
	Text, Status, Mark string
	Rationale          string
	byStatus           map[research.HypothesisStatus]int
}

type experiment struct {
	ID, Handle, Strategy, Standing, Mark, Summary, Sharpe, Return, At string
	MadeUp                                                            bool
}

const (
	mostHypotheses = 1000
	ideasShown     = 50
)

func (p *Pages) readMemory(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	search, status := strings.TrimSpace(q.Get("q")), q.Get("status")
	v := memoryView{Tabs: labTabs("/lab/memory"), Search: search, Filtered: search != "" || status != ""}
	past, next, err := p.lab.Memory(ctx, research.MemoryQuery{Kind: "experiments", Limit: rowsOfAPage, Cursor: q.Get("cursor")})
	if err != nil {
		return nil, err
	}
	known, _, err := p.lab.Memory(ctx, research.MemoryQuery{Kind: "hypotheses", Limit: mostHypotheses})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"experiments", "hypotheses", "trials", "looks"} {
		v.Counts = append(v.Counts, field{capital(name), count(int(past.Counts[name]))})
	}
	v.Headline = fmt.Sprintf("%s, %s, %s.", plural(int(past.Counts["experiments"]), "experiment"), plural(int(past.Counts["trials"]), "trial"),
		plural(int(past.Counts["looks"]), "holdout look"))
	v.ideas(known.Hypotheses, search, research.HypothesisStatus(status))
	for i := range past.Experiments {
		v.Experiments = append(v.Experiments, experimentOf(&past.Experiments[i]))
	}
	if next != "" {
		v.Next = withQuery("/lab/memory", field{"q", search}, field{"status", status}, field{"cursor", next})
	}
	return v, nil
}

// ideas groups hypotheses by their text, the most frequent first.
func (v *memoryView) ideas(all []research.HypothesisRow, search string, status research.HypothesisStatus) {
	v.Statuses = []option{{Name: "All", Chosen: status == ""}}
	for _, s := range []research.HypothesisStatus{research.Untested, research.Validated, research.Refuted, research.Inconclusive} {
		v.Statuses = append(v.Statuses, option{Value: string(s), Name: capital(string(s)), Chosen: s == status})
	}
	at := map[string]int{}
	for i := range all {
		h := &all[i]
		if status != "" && h.Status != status || !strings.Contains(strings.ToLower(h.Text+" "+h.Rationale), strings.ToLower(search)) {
			continue
		}
		n, ok := at[h.Text]
		if !ok {
			n = len(v.Ideas)
			at[h.Text] = n
			v.Ideas = append(v.Ideas, idea{Text: h.Text, Rationale: h.Rationale, byStatus: map[research.HypothesisStatus]int{}})
		}
		v.Ideas[n].N++
		v.Ideas[n].byStatus[h.Status]++
	}
	for i := range v.Ideas {
		v.Ideas[i].say()
	}
	slices.SortStableFunc(v.Ideas, func(a, b idea) int { return b.N - a.N })
	if n := len(v.Ideas); n > ideasShown {
		v.IdeasShown = fmt.Sprintf("%d of %s shown.", ideasShown, count(n))
		v.Ideas = v.Ideas[:ideasShown]
	}
	v.NoIdeas = len(v.Ideas) == 0
}

// say words the statuses of an idea.
func (d *idea) say() {
	var parts []string
	for _, s := range []research.HypothesisStatus{research.Validated, research.Refuted, research.Inconclusive, research.Untested} {
		if n := d.byStatus[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	d.Status = strings.Join(parts, ", ")
	switch {
	case d.byStatus[research.Validated] > 0:
		d.Mark = "done"
	case d.byStatus[research.Untested] == d.N:
		d.Mark = "wait"
	default:
		d.Mark = "neutral"
	}
}

func experimentOf(e *research.ExperimentRow) experiment {
	x := experiment{
		ID: string(e.Operation), Handle: e.Operation.Tail(), Strategy: strategyName(e.Strategy), Standing: e.Standing, Mark: marks[e.Standing],
		Summary: e.Summary, Sharpe: number(e.TestSharpe, 2), Return: percent(e.NetReturn), At: e.At.UTC().Format(time.RFC3339),
		MadeUp: e.MadeUp != nil && *e.MadeUp,
	}
	if x.Standing == "" {
		x.Standing = strings.ReplaceAll(string(e.Status), "_", " ")
	}
	if e.Error != "" {
		x.Summary = e.Error
	}
	return x
}

// runsView is the runs.
type runsView struct {
	Tabs     []tab
	Headline string
	Rows     []runRow
	Next     string
}

type runRow struct {
	ID, Short, Goal, State, Mark, Progress, Created, Took, Note string
	Link                                                        string
	MadeUp                                                      bool
	Cancel                                                      *action
}

func (p *Pages) readRuns(ctx context.Context, r *http.Request) (any, error) {
	list, err := p.lab.Runs(ctx, ktrdr.RunQuery{Limit: rowsOfAPage, Cursor: r.URL.Query().Get("cursor")})
	if err != nil {
		return nil, err
	}
	v := runsView{Tabs: labTabs("/lab/runs")}
	open := 0
	for i := range list.Runs {
		run := &list.Runs[i]
		row := p.runRow(run)
		if run.EndedAt.IsZero() {
			open++
			if may(ctx) && run.CancelledAt.IsZero() {
				row.Cancel = &action{
					Name: "Cancel", Path: "/lab/runs/" + run.ID + "/cancel", Command: "ktrdr cancel " + ktrdr.ShortRun(run.ID),
					Ask: "Cancel " + ktrdr.ShortRun(run.ID) + "? It starts nothing more, and its open researches are cancelled.",
				}
			}
		}
		v.Rows = append(v.Rows, row)
	}
	v.Headline = "No run is open."
	if open > 0 {
		v.Headline = have(open, "run", "is open.", "are open.")
	}
	if list.Next != "" {
		v.Next = withQuery("/lab/runs", field{"cursor", list.Next})
	}
	return v, nil
}

func (p *Pages) runRow(run *ktrdr.Run) runRow {
	state := strings.ReplaceAll(strings.ToLower(string(run.State)), "_", " ")
	r := runRow{
		ID: run.ID, Short: ktrdr.ShortRun(run.ID), Goal: run.Goal, State: state, Mark: "run", Created: run.CreatedAt.UTC().Format(time.RFC3339),
		Link: withQuery("/night", field{"run", run.ID}), MadeUp: run.MadeUp != nil && *run.MadeUp, Took: p.took(run.CreatedAt, run.EndedAt),
		Progress: fmt.Sprintf("%d of %d", run.Ended(), max(run.Planned, run.Ended()+run.Open)), Note: run.CancelReason,
	}
	if run.GivenUp != "" {
		r.Note = run.GivenUp
	}
	if !run.EndedAt.IsZero() {
		r.Mark = "done"
	}
	if !run.CancelledAt.IsZero() || run.GivenUp != "" {
		r.Mark = "failed"
	}
	return r
}
