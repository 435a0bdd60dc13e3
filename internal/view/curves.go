package view

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// widestFigure is how wide a figure becomes at most.
const widestFigure = 110

// Curves draws figures, as wide as the terminal has room.
func Curves(w io.Writer, p term.Palette, figures ...*term.Figure) {
	for _, f := range figures {
		if f == nil {
			continue
		}
		for i, line := range f.Draw(min(term.Width(w)-1, widestFigure), p, term.UTF8()) {
			if i == 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintln(w, line)
		}
	}
}

// EquityOf draws the account of a backtest: 1 becomes what its daily returns make of
// it. A backtest reads a holdout only if it was opened, so the curve ends there.
func EquityOf(result json.RawMessage) *term.Figure {
	var r jobs.BacktestResult
	if json.Unmarshal(result, &r) != nil || r.Daily == nil {
		return nil
	}
	days, err := r.Daily.List()
	if err != nil || len(days) == 0 {
		return nil
	}
	value := 1.0
	account := []term.FigurePoint{{X: float64(r.Start.Unix()), Y: value}}
	for _, d := range days {
		value *= 1 + float64(d.Return)
		account = append(account, term.FigurePoint{X: float64(min(d.Day.AddDate(0, 0, 1).Unix(), r.End.Unix())), Y: value})
	}
	return equityFigure("Equity of the backtest, net of costs; it starts with 1", term.FigureLine{Name: "strategy", Points: account})
}

// EquityInTest draws the account of a research in the test part, beside buying and
// holding. The holdout is not in it.
func EquityInTest(a *research.Assessment) *term.Figure {
	if a == nil || a.Lines == nil || a.Lines.Test == nil || len(a.Lines.Test.Time) == 0 {
		return nil
	}
	account, hold := term.FigureLine{Name: "strategy"}, term.FigureLine{Name: "buy and hold", Dotted: true}
	for i, at := range a.Lines.Test.Time {
		account.Points = append(account.Points, term.FigurePoint{X: float64(at), Y: a.Lines.Test.Account[i]})
		hold.Points = append(hold.Points, term.FigurePoint{X: float64(at), Y: a.Lines.Test.Hold[i]})
	}
	return equityFigure("Equity in the test part, net of costs; it starts with 1", account, hold)
}

func equityFigure(title string, lines ...term.FigureLine) *term.Figure {
	points := lines[0].Points
	day := func(p term.FigurePoint) string { return time.Unix(int64(p.X), 0).UTC().Format(time.DateOnly) }
	return &term.Figure{
		Title: title, Lines: lines, Left: day(points[0]), Right: day(points[len(points)-1]), Number: term.Cents,
	}
}

// TrainingLoss draws the loss of a training by epoch.
func TrainingLoss(result json.RawMessage) *term.Figure {
	var r jobs.TrainingResult
	if json.Unmarshal(result, &r) != nil || len(r.Training.History.TrainLoss) < 2 {
		return nil
	}
	h := r.Training.History
	lines := []term.FigureLine{{Name: "training", Points: byEpoch(h.TrainLoss)}}
	if len(h.ValLoss) > 0 {
		lines = append(lines, term.FigureLine{Name: "validation", Points: byEpoch(h.ValLoss), Dotted: true})
	}
	return &term.Figure{
		Title: "Training loss by epoch", Lines: lines, Left: "epoch 1", Right: fmt.Sprintf("epoch %d", len(h.TrainLoss)),
		Number: func(v float64) string { return fmt.Sprintf("%.3f", v) },
	}
}

func byEpoch(values []float64) []term.FigurePoint {
	points := make([]term.FigurePoint, len(values))
	for i, v := range values {
		points[i] = term.FigurePoint{X: float64(i + 1), Y: v}
	}
	return points
}

// BestSoFar draws the best Sharpe ratio after each trial, beside the best that luck
// alone is expected to show after as many.
func BestSoFar(s report.Search) *term.Figure {
	if s.Best == nil || s.Funnel.Tried < 2 {
		return nil
	}
	best := term.FigureLine{Name: "best so far"}
	top := 0.0
	for _, t := range s.Trials {
		if len(best.Points) > 0 && t.Sharpe <= top {
			continue
		}
		if len(best.Points) > 0 { // it stays until there is a better one
			best.Points = append(best.Points, term.FigurePoint{X: float64(t.N), Y: top})
		}
		top = t.Sharpe
		best.Points = append(best.Points, term.FigurePoint{X: float64(t.N), Y: top})
	}
	n := s.Funnel.Tried
	if len(best.Points) > 0 {
		best.Points = append(best.Points, term.FigurePoint{X: float64(n), Y: top})
	}
	lines := []term.FigureLine{best}
	if s.StandardError != nil {
		luck := term.FigureLine{Name: "expected best of luck alone", Dotted: true}
		for i := 1; i < n; i += 1 + i/12 {
			luck.Points = append(luck.Points, term.FigurePoint{X: float64(i), Y: s.LuckAt(i)})
		}
		luck.Points = append(luck.Points, term.FigurePoint{X: float64(n), Y: s.LuckAt(n)})
		lines = append(lines, luck)
	}
	return &term.Figure{
		Title: "Best Sharpe ratio of the test part after each trial", Lines: lines, Left: "trial 1", Right: fmt.Sprintf("trial %d", n),
		Number: term.Cents,
	}
}
