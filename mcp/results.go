package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

type resultsRequest struct {
	Handle string `json:"handle"`
}

func (s *Server) results(ctx context.Context, in resultsRequest, a *answer) error {
	if isRun(in.Handle) {
		return s.runResults(ctx, in.Handle, a)
	}
	r, err := ask(ctx, s, api.GetResults, api.ResultsRequest{ByID: api.ByID{ID: ktrdr.OperationID(in.Handle)}})
	if err != nil {
		return err
	}
	a.line("%s | %s | %s", r.Operation, r.Type, r.Status)
	if r.ErrorMessage != "" {
		a.line("error: %s", longData(r.ErrorMessage))
	}
	if len(r.Results) == 0 {
		a.line("It has no result yet: call wait.")
		return nil
	}
	switch r.Type {
	case ktrdr.AgentResearch:
		if err := researchResults(&r, a); err != nil {
			return err
		}
		return s.runEvidence(ctx, report.PanelQuery{Research: r.Operation}, a)
	case ktrdr.Training, ktrdr.Backtesting, ktrdr.DataLoad:
		return jobResults(&r, a)
	}
	return summaryOf(&r, a)
}

func (s *Server) runResults(ctx context.Context, id string, a *answer) error {
	r, err := patient(ctx, s, func() (ktrdr.Run, error) { return s.Lab.Run(ctx, id) })
	if err != nil {
		return err
	}
	a.line("%s is %s. Goal: %s", r.ID, r.State, data(r.Goal))
	a.line("%d researches: %d open, %d judged, %d rejected by a gate, %d failed, %d cancelled; %d finalists, %d looks, %d claims; prices %s",
		r.Created, r.Open, r.Completed, r.Rejected, r.Failed, r.Cancelled, r.Finalists, r.Looks, r.Claims, prices(r.MadeUp))
	a.link(runURI(r.ID), "report", mimeHTML)
	if err := s.lookLeaders(ctx, report.LeaderboardQuery{Run: r.ID, Limit: 10}, a); err != nil {
		return err
	}
	if err := s.runEvidence(ctx, report.PanelQuery{Run: r.ID}, a); err != nil {
		return err
	}
	return s.failedOf(ctx, r, a)
}

// runEvidence writes what the daily returns of all trials of a run say together. They are
// those of the test part.
func (s *Server) runEvidence(ctx context.Context, q report.PanelQuery, a *answer) error {
	p, err := ask(ctx, s, api.Panel, q)
	switch code := ktrdr.CodeOf(err); {
	case code == ktrdr.CodeInvalid || code == ktrdr.CodeNotFound: // made by an earlier version
		return nil
	case err != nil:
		return err
	}
	a.line("evidence of the whole run: %s", longData(p.OfTrial()))
	for _, line := range p.Lines() {
		a.line("  %s", longData(line))
	}
	return nil
}

// failedOf lists researches of a run that can be resumed.
func (s *Server) failedOf(ctx context.Context, r ktrdr.Run, a *answer) error {
	if r.Failed == 0 {
		return nil
	}
	rows, err := ask(ctx, s, api.ListOperations, ktrdr.OperationQuery{
		Run: r.ID, Type: []ktrdr.Type{ktrdr.AgentResearch}, Status: []ktrdr.Status{ktrdr.Failed}, Limit: 10,
	})
	for _, op := range rows {
		a.line("failed: %s | %s", op.ID, data(op.ErrorMessage))
	}
	return err
}

func researchResults(r *api.Results, a *answer) error {
	var result research.Result
	if err := json.Unmarshal(r.Results, &result); err != nil {
		return fmt.Errorf("result of %s: %w", r.Operation, err)
	}
	a.line("strategy: %s", data(result.StrategyName))
	a.line("outcome: %s; rung: %s; designed by %s; prices %s", result.Outcome, standing(r, &result), data(result.Designer),
		prices(result.MadeUp))
	if result.Summary != "" {
		a.line("summary: %s", longData(result.Summary))
	}
	if result.GateReason != "" {
		a.line("a gate rejected it: %s", longData(result.GateReason))
	}
	if f := result.Figures; f != nil {
		a.table("test part, net of costs: Sharpe | deflated | alpha | return | buy and hold | drawdown | trades | trials counted", [][]string{{
			number(f.Sharpe), number(f.Deflated), percent(f.Alpha), percent(&f.NetReturn), percent(f.BuyAndHold), percent(&f.MaxDrawdown),
			fmt.Sprint(f.Trades), fmt.Sprint(f.Trials),
		}})
	}
	lookLines(r.Looks, a)
	a.link(operationURI(r.Operation, reportFile), "report", mimeHTML)
	a.link(operationURI(r.Operation, strategyFile), "strategy", mimeYAML)
	if result.Backtest != "" {
		a.link(operationURI(r.Operation, curveFile), "curve of the test part", mimeSVG)
	}
	return nil
}

// standing is the rung, with what a look made of it.
func standing(r *api.Results, result *research.Result) string {
	if r.Trial != nil {
		return research.Standing(r.Trial)
	}
	return result.Rung
}

// lookLines says of looks what an assistant may know: number, claim, adjusted p.
func lookLines(looks []ktrdr.Look, a *answer) {
	for i := range looks {
		l := &looks[i]
		numbers := text.Map(l.Markets, func(m ktrdr.LookMarket) string { return fmt.Sprint(m.Number) })
		said := "not confirmed"
		switch {
		case l.EndedAt.IsZero():
			said = "not ended"
		case l.Claim:
			said = "edge claimed"
		case l.Kind == ktrdr.LookByHand:
			said = "by hand: it claims nothing"
		}
		a.line("holdout look %s: %s, adjusted p = %s, after %d looks before", strings.Join(numbers, ", "), said, number(l.Adjusted), l.Before)
		holdoutFigures(l, a)
	}
}

// holdoutFigures writes what a look showed. The server sends it only to an assistant that
// may open holdouts, and has counted it as a look.
func holdoutFigures(l *ktrdr.Look, a *answer) {
	var c research.Confirmation
	if len(l.Result) == 0 || json.Unmarshal(l.Result, &c) != nil {
		return
	}
	h := c.Look.Holdout
	a.table("holdout, net of costs: Sharpe | 95 % interval | return | buy and hold | p", [][]string{{
		number(h.Sharpe.Annualized), number(c.Look.Low) + " to " + number(c.Look.High), percent(&h.Return), percent(&h.HoldReturn),
		number(c.Look.P),
	}})
	a.line("You have read this holdout. It is counted as a look, and every later claim on the market needs a lower p-value.")
}

func jobResults(r *api.Results, a *answer) error {
	if err := summaryOf(r, a); err != nil {
		return err
	}
	switch r.Type {
	case ktrdr.Training:
		var t jobs.TrainingResult
		if err := json.Unmarshal(r.Results, &t); err != nil || t.Test == nil {
			return err
		}
		a.line("epochs %d; test accuracy %s, majority-class baseline %s", t.Training.EpochsTrained, number(&t.Test.Accuracy),
			number(&t.Test.BaselineAccuracy))
	case ktrdr.Backtesting:
		var b jobs.BacktestResult
		if err := json.Unmarshal(r.Results, &b); err != nil || b.Timeframe == "" {
			return err
		}
		m := b.Metrics
		a.table("Sharpe | return | drawdown | trades | from | to", [][]string{{
			number(m.Sharpe), fmt.Sprintf("%.1f%%", m.TotalReturnPct), fmt.Sprintf("%.1f%%", m.MaxDrawdownPct), fmt.Sprint(m.TotalTrades),
			at(b.Start), at(b.End),
		}})
		a.link(operationURI(r.Operation, curveFile), "curve", mimeSVG)
	}
	lookLines(r.Looks, a)
	return nil
}

// summaryOf writes the sentence that every result has.
func summaryOf(r *api.Results, a *answer) error {
	var told struct {
		Summary string `json:"summary"`
		Sealed  string `json:"sealed"`
	}
	if err := json.Unmarshal(r.Results, &told); err != nil {
		return fmt.Errorf("result of %s: %w", r.Operation, err)
	}
	a.line("summary: %s", longData(told.Summary+told.Sealed))
	return nil
}

type compareRequest struct {
	Researches []string `json:"researches"`
}

func (s *Server) compare(ctx context.Context, in compareRequest, a *answer) error {
	c, err := ask(ctx, s, api.Compare, api.CompareRequest{IDs: in.Researches})
	if err != nil {
		return err
	}
	rows := text.Map(c.Strategies, func(x report.ComparedStrategy) []string {
		adjusted := missing
		if x.Look != nil {
			adjusted = number(x.Look.Adjusted)
		}
		return []string{
			string(x.Operation), data(x.Strategy), number(x.Sharpe), number(x.StandardError), number(x.Deflated), percent(x.NetReturn),
			percent(x.BuyAndHold), percent(x.MaxDrawdown), fmt.Sprint(x.Trades), x.Standing, adjusted, prices(x.MadeUp),
		}
	})
	a.table("research | strategy | Sharpe, test part | standard error | deflated | return | buy and hold | drawdown | trades | result | "+
		"adjusted p | prices", rows)
	a.line("Trials on the market: %d. Sharpe ratio of the best of them by luck: %s. Independent bets: %s.", c.Trials, number(c.Luck),
		number(c.Bets))
	for i, row := range c.Correlation {
		a.line("correlation of %d: %s", i+1, strings.Join(text.Map(row, number), " "))
	}
	for _, d := range c.Differences {
		a.line("differs: %s: %s", data(d.Path), listed(d.Values))
	}
	return nil
}
