package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/docs"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/strategy"
)

type lookRequest struct {
	At string `json:"at" jsonschema:"data, indicators, grammar, example, strategies, models, leaderboard or status"`
}

// places are what look can show.
var places = []string{"data", "indicators", "grammar", "example", "strategies", "models", "leaderboard", "status"}

func (s *Server) look(ctx context.Context, in lookRequest, a *answer) error {
	switch in.At {
	case "data":
		return s.lookData(ctx, a)
	case "indicators":
		return s.lookIndicators(ctx, a)
	case "grammar":
		page, _ := docs.Page("strategies")
		a.line("%s", page)
		return nil
	case "example":
		for _, e := range strategy.Examples()[:1] {
			a.line("%s", e.Source)
		}
		return nil
	case "strategies":
		return s.lookStrategies(ctx, a)
	case "models":
		return s.lookModels(ctx, a)
	case "leaderboard":
		return s.lookLeaders(ctx, report.LeaderboardQuery{Limit: 10}, a)
	case "status":
		return s.lookStatus(ctx, a)
	}
	return ktrdr.Errorf(ktrdr.CodeInvalid, "at is %.40q; %s", in.At, text.Choices(in.At, places))
}

func (s *Server) lookData(ctx context.Context, a *answer) error {
	all, err := ask(ctx, s, api.Series, api.None{})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		a.line("There are no prices yet: import_prices.")
		return nil
	}
	rows := text.Map(all, func(x jobs.LibrarySeries) []string {
		return []string{
			data(x.Symbol), x.Timeframe, fmt.Sprint(x.Bars), at(x.First), at(x.HoldoutFrom), prices(x.MadeUp), fmt.Sprint(x.Trials),
			fmt.Sprint(x.Looks), data(strings.TrimSpace(x.Problem + " " + x.MarketQuestion)),
		}
	})
	a.table("symbol | timeframe | bars | first | holdout begins | prices | trials | looks | problem", rows)
	return nil
}

func (s *Server) lookIndicators(ctx context.Context, a *answer) error {
	all, err := ask(ctx, s, api.Indicators, api.None{})
	for _, d := range all {
		params := text.Map(d.Params, func(p indicator.ParamDescription) string { return fmt.Sprintf("%s=%v", p.Name, p.Default) })
		outputs := text.Map(d.Outputs, func(o indicator.OutputDescription) string { return o.Name })
		a.line("%s(%s) → %s: %s", d.Name, strings.Join(params, ", "), strings.Join(outputs, ", "), d.Doc)
	}
	return err
}

func (s *Server) lookStrategies(ctx context.Context, a *answer) error {
	all, err := ask(ctx, s, api.Strategies, api.None{})
	rows := text.Map(all, func(x jobs.Strategy) []string { return []string{data(x.Name), x.From, data(x.Description)} })
	a.table("name | from | description", rows)
	return err
}

func (s *Server) lookModels(ctx context.Context, a *answer) error {
	all, err := ask(ctx, s, api.Models, api.Page{Limit: 10})
	rows := text.Map(all, func(x jobs.TrainedModel) []string {
		return []string{
			string(x.Operation), data(x.Strategy), data(strings.Join(x.Symbols, " ")), number(x.TestAccuracy), number(x.Baseline), prices(x.MadeUp),
		}
	})
	a.table("training | strategy | symbols | test accuracy | majority-class baseline | prices", rows)
	return err
}

const leaderHead = "research | strategy | market | Sharpe, test part | deflated | return | trials | looks | result | adjusted p | prices"

func (s *Server) lookLeaders(ctx context.Context, q report.LeaderboardQuery, a *answer) error {
	b, err := ask(ctx, s, api.Leaderboard, q)
	if err != nil {
		return err
	}
	a.line("%s", b.Summary)
	a.table(leaderHead, text.Map(b.Rows, leaderCells))
	return nil
}

func leaderCells(l report.Leader) []string {
	return []string{
		string(l.Operation), data(l.Strategy), data(l.Symbols + " " + l.Timeframes), number(l.Sharpe), number(l.Deflated), percent(l.NetReturn),
		fmt.Sprint(l.MarketTrials), fmt.Sprint(l.MarketLooks), l.Standing, number(l.Adjusted), prices(l.MadeUp),
	}
}

func (s *Server) lookStatus(ctx context.Context, a *answer) error {
	st, err := ask(ctx, s, api.ResearchStatus, api.StatusRequest{})
	if err != nil {
		return err
	}
	a.line("%d researches are active, %d wait. At most %d are active at once.", st.Capacity.Active, st.Capacity.Waiting, st.Capacity.Limit)
	runs, err := ask(ctx, s, api.Runs, ktrdr.RunQuery{Limit: 10})
	rows := text.Map(runs, func(r ktrdr.Run) []string {
		return []string{
			r.ID, string(r.State), fmt.Sprint(r.Created), fmt.Sprint(r.Open), fmt.Sprint(r.Finalists), fmt.Sprint(r.Claims), data(r.Goal),
		}
	})
	a.table("run | state | researches | open | finalists | claims | goal", rows)
	return err
}

type validateRequest struct {
	Strategy string `json:"strategy" jsonschema:"YAML"`
}

func (s *Server) validate(ctx context.Context, in validateRequest, a *answer) error {
	v, err := ask(ctx, s, api.ValidateStrategy, api.ValidateRequest{Strategy: in.Strategy})
	if err != nil {
		return err
	}
	if v.Valid {
		a.line("valid")
	} else {
		a.line("not valid")
	}
	if v.Error != "" {
		a.line("%s", data(v.Error))
	}
	for _, p := range v.Problems {
		a.line("problem: %s", data(p.String()))
	}
	for _, w := range v.Warnings {
		a.line("warning: %s", data(w.String()))
	}
	return nil
}
