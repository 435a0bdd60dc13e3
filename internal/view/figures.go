package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/term"
)

// figureUnit says how a figure is shown.
type figureUnit int

const (
	asIs        figureUnit = iota
	fraction               // a fraction, shown as a percentage
	yearly                 // a fraction per year, shown as a percentage
	percents               // already a percentage
	money                  // in the currency of the account
	count                  // a whole number
	rounded                // shown as a whole number
	barCount               // a number of bars
	hourCount              // a number of hours
	ratioUnit              // a ratio
	perYear                // a ratio per year
	basisPoints            // a fraction, shown in basis points
	chance                 // a probability
	times                  // a multiple
)

// show writes a figure with its unit.
func (u figureUnit) show(x *float64) string {
	if x == nil {
		return "undefined"
	}
	switch u {
	case fraction:
		return term.Cents(100**x) + " %"
	case yearly:
		return term.Cents(100**x) + " % a year"
	case percents:
		return term.Cents(*x) + " %"
	case money:
		return term.Cents(*x)
	case count:
		return strconv.FormatFloat(*x, 'f', -1, 64)
	case rounded:
		return fmt.Sprintf("%.0f", *x)
	case barCount:
		return fmt.Sprintf("%.4g bars", *x)
	case hourCount:
		return fmt.Sprintf("%.4g hours", *x)
	case ratioUnit:
		return term.Cents(*x)
	case perYear:
		return term.Cents(*x) + " a year"
	case basisPoints:
		return strconv.FormatFloat(*x*instrument.BasisPoints, 'g', 3, 64) + " basis points"
	case chance:
		return fmt.Sprintf("%.3f", *x)
	case times:
		return term.Cents(*x) + " times"
	}
	return term.Six(*x)
}

// figureRow is a figure of a result: its name there, and what it is for people.
type figureRow struct {
	name, label string
	unit        figureUnit
}

// figureGroup is figures that belong together.
type figureGroup struct {
	title string
	rows  []figureRow
}

// The groups of a backtest's figures.
var backtestFigures = []figureGroup{
	{"Return", []figureRow{
		{"total_return_pct", "net return", percents},
		{"buy_and_hold_return_pct", "buy and hold", percents},
		{"annualized_return", "annualized", yearly},
		{"total_return", "net profit", money},
		{"buy_and_hold_return", "buy-and-hold profit", money},
		{"cost_total", "costs paid", money},
		{"initial_capital", "capital", money},
		{"final_equity", "equity at the end", money},
	}},
	{"Risk", []figureRow{
		{"sharpe_ratio", "Sharpe ratio", perYear},
		{"sortino_ratio", "Sortino ratio", perYear},
		{"calmar_ratio", "Calmar ratio", ratioUnit},
		{"volatility", "volatility", yearly},
		{"max_drawdown_pct", "maximum drawdown", percents},
		{"max_drawdown", "the same in money", money},
		{"max_drawdown_duration", "longest drawdown", barCount},
		{"recovery_factor", "recovery factor", ratioUnit},
		{"skew", "skew of bar returns", ratioUnit},
		{"kurtosis", "kurtosis of bar returns", ratioUnit},
	}},
	{"Trades", []figureRow{
		{"total_trades", "trades", count},
		{"winning_trades", "won", count},
		{"losing_trades", "lost", count},
		{"win_rate", "win rate", fraction},
		{"profit_factor", "profit factor", ratioUnit},
		{"avg_trade", "average trade", money},
		{"avg_win", "average win", money},
		{"avg_loss", "average loss", money},
		{"largest_win", "largest win", money},
		{"largest_loss", "largest loss", money},
		{"trade_t_stat", "t-statistic of trades", ratioUnit},
		{"avg_holding_period", "average holding", hourCount},
		{"avg_win_holding_period", "holding of wins", hourCount},
		{"avg_loss_holding_period", "holding of losses", hourCount},
		{"exposure", "time in the market", fraction},
		{"turnover", "turnover", times},
		{"unfilled_orders", "unfilled orders", count},
	}},
	{"Data", []figureRow{{"bars", "bars", count}, {"bars_per_year", "bars a year", rounded}}},
}

// The groups of a research's figures.
var researchGroups = []figureGroup{
	{"Test part, net of costs", []figureRow{
		{"net_return", "net return", fraction},
		{"buy_and_hold_return", "buy and hold", fraction},
		{"sharpe_ratio", "Sharpe ratio", perYear},
		{"max_drawdown", "maximum drawdown", fraction},
		{"total_trades", "trades", count},
		{"win_rate", "win rate", fraction},
		{"cost_share", "costs of the gross profit", fraction},
		{"cost_per_side", "cost per side", basisPoints},
	}},
	{"Evidence", []figureRow{
		{"test_sharpe", "Sharpe ratio judged", perYear},
		{"sharpe_z", "z of the Sharpe ratio", ratioUnit},
		{"alpha", "alpha", yearly},
		{"alpha_z", "z of the alpha", ratioUnit},
		{"deflated_sharpe", "deflated Sharpe ratio", chance},
		{"trials_counted", "adjusted for trials", count},
	}},
}

// printGroups prints figures in groups; a group without any figure is left out.
// Those that no group knows come last, under their own names.
func printGroups(w io.Writer, groups []figureGroup, figures map[string]*float64) {
	known := map[string]bool{}
	for _, g := range groups {
		titled := false
		empty := !slices.ContainsFunc(g.rows, func(r figureRow) bool { return figures[r.name] != nil && *figures[r.name] != 0 })
		for _, r := range g.rows {
			x, ok := figures[r.name]
			known[r.name] = true
			if !ok || empty { // as of a research that came to no verdict
				continue
			}
			if !titled {
				fmt.Fprintln(w, g.title)
				titled = true
			}
			printFigure(w, r.label, r.unit.show(x))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		if !known[name] {
			printFigure(w, name, asIs.show(figures[name]))
		}
	}
}

func printFigure(w io.Writer, label, value string) { fmt.Fprintf(w, "  %-26s %s\n", label, value) }
