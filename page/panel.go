package page

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/report"
)

func (p *Pages) routePanel() {
	p.mux.HandleFunc("GET /night/panel", p.view("Evidence of the whole run", "panel", func(ctx context.Context, r *http.Request) (any, error) {
		run := r.URL.Query().Get("run")
		told, err := p.lab.Panel(ctx, report.PanelQuery{Run: run})
		return panelOf(&told, panelID(run)), err
	}))
	p.mux.HandleFunc("GET /strategies/{id}/panel", p.view("Evidence of the whole run", "panel",
		func(ctx context.Context, r *http.Request) (any, error) {
			told, err := p.lab.Panel(ctx, report.PanelQuery{Research: ktrdr.OperationID(r.PathValue("id"))})
			if ktrdr.CodeOf(err) == ktrdr.CodeInvalid { // it belongs to no run
				return runEvidence{ID: "panel", Lead: []string{plain(err.Error())}}, nil
			}
			return panelOf(&told, "panel"), err
		}))
}

// runEvidence is what the daily returns of all trials of a run say together.
type runEvidence struct {
	ID, Members string
	Lead        []string // weaknesses, and what StepM says of the research that is shown
	Figures     []sheetRow
	Ranks       *figure
	Rejected    []panelTrial
	Caveats     []string
}

type (
	sheetRow   struct{ Name, Question, Value, Note string }
	panelTrial struct{ ID, Handle, Strategy, T, P, Sharpe string }
)

// panelID is the id of the section of a run.
func panelID(run string) string { return "panel-" + strings.TrimPrefix(ktrdr.ShortRun(run), "run_") }

// panelLinks are the sections of runs that a page loads later.
func panelLinks(q overviewQuery, told *report.Report, runs []ktrdr.Run) (list []lazy) {
	const most = 3
	for i := range runs {
		r := &runs[i]
		inSpan := q.Run == "" && (r.EndedAt.IsZero() || !r.EndedAt.Before(told.From))
		if r.ID != told.Run && !inSpan || len(list) == most {
			continue
		}
		list = append(list, lazy{
			ID: panelID(r.ID), Title: "Evidence of the whole run", At: "/night/panel?run=" + url.QueryEscape(r.ID),
			Wait: "Judging the daily returns of all trials.",
		})
	}
	return list
}

func panelOf(p *report.Panel, id string) runEvidence {
	lines := p.Lines()
	v := runEvidence{ID: id, Members: plain(lines[0]), Caveats: report.PanelCaveats}
	for _, w := range p.Weaknesses {
		v.Lead = append(v.Lead, plain(p.Weakness(w)))
	}
	if line := p.OfTrial(); line != "" {
		v.Lead = append(v.Lead, plain(line))
	}
	v.Figures = []sheetRow{
		{"SPA", "Is any trial better than cash?", pValue(p.SPA.P), undefinedOr(p.SPA.Undefined,
			fmt.Sprintf("lower %s, upper %s", probability(p.SPA.Lower), probability(p.SPA.Upper)))},
		{"StepM", "Which trials are better than cash?", fmt.Sprintf("%d of %d", p.Found, p.Trials), undefinedOr(p.StepM.Undefined,
			"one of them is wrong in about 5 % of searches")},
		{"PBO", "Is the choice of the best trial overfit?", number(p.PBO.PBO, 2), undefinedOr(p.PBO.Undefined,
			fmt.Sprintf("%s splits; mean Sharpe ratio of the chosen trial %s, on the other days %s", count(p.PBO.Splits), number(p.PBO.Chosen, 2),
				number(p.PBO.Other, 2)))},
		{
			"Effective trials", "How many uncorrelated trials spread as much?", number(p.Effective, 1),
			fmt.Sprintf("of %d; verdicts count every trial", p.Trials),
		},
	}
	if t := p.Test; !t.ReservedAt.IsZero() {
		v.Figures = append(v.Figures, sheetRow{
			"Factory test", "Does the search find more than on copies without an edge?", pValue(t.P),
			plain(strings.ReplaceAll(report.TestLine(t), "`", "")),
		})
	}
	if p.SPA.P == nil {
		v.Figures[0].Value, v.Figures[1].Value = missing, missing
	}
	v.Ranks = ranksOf(p)
	for _, t := range p.Rejected {
		v.Rejected = append(v.Rejected, panelTrial{
			ID: string(t.Operation), Handle: t.Operation.Tail(), Strategy: strategyName(t.Strategy), T: number(t.T, 2), P: probability(t.P),
			Sharpe: number(t.Sharpe, 2),
		})
	}
	return v
}

func undefinedOr(why, note string) string {
	if why != "" {
		return "undefined: " + plain(why)
	}
	return note
}

// ranksOf shows where the trial that one half of the days chose ranks on the other.
func ranksOf(p *report.Panel) *figure {
	if p.PBO.PBO == nil {
		return nil
	}
	top := 0.0
	h := chart.Histogram{Class: func(i int) string {
		if i < len(p.PBO.Tenths)/2 {
			return "los"
		}
		return "bar"
	}}
	for i, n := range p.PBO.Tenths {
		share := float64(n) / float64(max(p.PBO.Splits, 1))
		top = max(top, share)
		h.Y, h.From, h.To = append(h.Y, 100*share), append(h.From, float64(i)/10+0.004), append(h.To, float64(i+1)/10-0.004)
	}
	plot := chart.Plot{
		Unit: "% of splits", Height: 120, X: chart.Scale{Max: 1}, Y: chart.Scale{Max: 110 * top}, Layers: []chart.Layer{h},
		Label: fmt.Sprintf("Rank on the other half of the days of the trial that was chosen on one half: %s of the splits are in the lower half.",
			share(p.PBO.PBO)),
	}
	plot.XTicks = chart.Numbers([]float64{0.25, 0.5, 0.75})
	return &figure{
		Title: "Rank of the chosen trial on the other days", Chart: plot.HTML(), Note: "0 is the worst of all trials, 1 the best",
	}
}
