package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

// Examination prints what the examination of a finalist found. All figures are of the
// research bars: the holdout has no part in them.
func Examination(w io.Writer, p term.Palette, x *evidence.Examination) {
	fmt.Fprintf(w, "Examination: %s\n", term.Plain(x.Summary))
	for _, r := range x.Reasons {
		fmt.Fprintf(w, "  %s %s\n", p.Mark(r.Passed), term.Plain(r.Text))
	}
	if x.Pooled == nil {
		return
	}
	printFigure(w, "examined bars", fmt.Sprintf("%d; %d splits, ensembles of %d networks", x.Bars, x.Splits, x.Ensemble))
	printFigure(w, "Sharpe ratio of each path", sharpes(text.Map(x.Paths, func(p evidence.Path) *float64 { return p.Sharpe })))
	printFigure(w, "mean of the paths", fmt.Sprintf("%s, z %s, z of the alpha %s", term.Hundredths(x.Pooled.Sharpe),
		term.Hundredths(x.Pooled.SharpeZ), term.Hundredths(x.Pooled.AlphaZ)))
	printFigure(w, "each network alone", sharpes(x.Seeds))
	if x.WalkForward == nil {
		return
	}
	printFigure(w, "walk-forward", fmt.Sprintf("%s, %s", term.Hundredths(x.WalkForward.Sharpe), text.Counted(x.WalkForward.Trades, "trade")))
	term.Table(w, "PERTURBATION\tSHARPE\tKEPT\tTRADES", x.Perturbed, func(p evidence.Perturbation) []any {
		if p.Undefined != "" {
			return []any{p.Name, "not made: " + p.Undefined, "-", "-"}
		}
		return []any{p.Name, term.Hundredths(p.Sharpe), term.Percent(p.Kept), p.Trades}
	})
}

func sharpes(list []*float64) string {
	return strings.Join(text.Map(list, term.Hundredths), "  ")
}
