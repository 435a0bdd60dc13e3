package view

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/ktrdr/ktrdr/instrument"
)

// figureUnit says how a figure is shown: multiplied, and in a format.
type figureUnit struct {
	times  float64
	format string
}

var (
	asIs        = figureUnit{1, "%.6g"}
	fraction    = figureUnit{100, "%.2f %%"}        // shown as a percentage
	yearly      = figureUnit{100, "%.2f %% a year"} // a fraction per year
	percents    = figureUnit{1, "%.2f %%"}          // already a percentage
	money       = figureUnit{1, "%.2f"}             // in the currency of the account
	ratio       = money
	count       = figureUnit{1, "%.0f"}
	barCount    = figureUnit{1, "%.4g bars"}
	hourCount   = figureUnit{1, "%.4g hours"}
	perYear     = figureUnit{1, "%.2f a year"} // a ratio per year
	basisPoints = figureUnit{instrument.BasisPoints, "%.3g basis points"}
	chance      = figureUnit{1, "%.3f"}
	multiple    = figureUnit{1, "%.2f times"}
)

func (u figureUnit) show(x *float64) string {
	if x == nil {
		return "undefined"
	}
	return fmt.Sprintf(u.format, u.times**x)
}

// figureRow is a figure of a result: its name there, and what it is for people.
type figureRow struct {
	name, label string
	unit        figureUnit
}

type figureGroup struct {
	title string
	rows  []figureRow
}

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
		{"calmar_ratio", "Calmar ratio", ratio},
		{"volatility", "volatility", yearly},
		{"max_drawdown_pct", "maximum drawdown", percents},
		{"max_drawdown", "the same in money", money},
		{"max_drawdown_duration", "longest drawdown", barCount},
		{"recovery_factor", "recovery factor", ratio},
		{"skew", "skew of bar returns", ratio},
		{"kurtosis", "kurtosis of bar returns", ratio},
	}},
	{"Trades", []figureRow{
		{"total_trades", "trades", count},
		{"winning_trades", "won", count},
		{"losing_trades", "lost", count},
		{"win_rate", "win rate", fraction},
		{"profit_factor", "profit factor", ratio},
		{"avg_trade", "average trade", money},
		{"avg_win", "average win", money},
		{"avg_loss", "average loss", money},
		{"largest_win", "largest win", money},
		{"largest_loss", "largest loss", money},
		{"trade_t_stat", "t-statistic of trades", ratio},
		{"avg_holding_period", "average holding", hourCount},
		{"avg_win_holding_period", "holding of wins", hourCount},
		{"avg_loss_holding_period", "holding of losses", hourCount},
		{"exposure", "time in the market", fraction},
		{"turnover", "turnover", multiple},
		{"unfilled_orders", "unfilled orders", count},
	}},
	{"Data", []figureRow{{"bars", "bars", count}, {"bars_per_year", "bars a year", count}}},
}

var researchGroups = []figureGroup{
	{"Test part, net of costs", []figureRow{
		{"net_return", "net return", fraction},
		{"buy_and_hold_return", "buy and hold", fraction},
		{"sharpe_ratio", "Sharpe ratio", perYear},
		{"max_drawdown", "maximum drawdown", fraction},
		{"total_trades", "trades", count},
		{"win_rate", "win rate", fraction},
		{"cost_share", "costs / gross profit", fraction},
		{"cost_per_side", "cost per side", basisPoints},
	}},
	{"Evidence", []figureRow{
		{"test_sharpe", "Sharpe ratio judged", perYear},
		{"sharpe_z", "z of the Sharpe ratio", ratio},
		{"alpha", "alpha", yearly},
		{"alpha_z", "z of the alpha", ratio},
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
