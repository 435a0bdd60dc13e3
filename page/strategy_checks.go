package page

import "github.com/ktrdr/ktrdr/evidence"

// how a check is told.
type checkWords struct {
	name, note string
	relation   string // of the value to the limit
	show       func(*float64) string
	failed     string // as the first reason of a verdict; %s is the value
}

var (
	plainRatio = func(v *float64) string { return number(v, 2) }
	counted    = func(v *float64) string {
		if v == nil {
			return missing
		}
		return count(int(*v))
	}
	times = func(v *float64) string {
		if v == nil {
			return missing
		}
		return number(v, 2) + "×"
	}
	thousandths = func(v *float64) string { return number(v, 3) }
	holds       = func(*float64) string { return "yes" }
)

// checkTexts words the checks. The API's texts are for programs and logs.
var checkTexts = map[evidence.Code]checkWords{
	evidence.NotRuined: {
		"Account survived", "It was not used up.",
		"", holds, "The account lost all its capital.",
	},
	evidence.NotCollapsed: {
		"Model gives different answers", "Not almost always the same class.",
		"", holds, "The model gives almost always the same answer.",
	},
	evidence.EnoughTrades: {
		"Trades", "Enough to judge.",
		"≥", counted, "Too few trades to judge: %s.",
	},
	evidence.PositiveSharpe: {
		"Sharpe ratio", "Per year, net of costs.",
		">", plainRatio, "The Sharpe ratio is %s on the test part.",
	},
	evidence.BoundedDrawdown: {
		"Deepest drawdown", "From a peak of the account.",
		"≤", share, "The deepest drawdown is %s.",
	},
	evidence.SurvivesCosts: {
		"Break-even cost", "Multiple of the costs charged.",
		">", times, "The profit covers only %s the costs.",
	},
	evidence.BoundedDecay: {
		"Sharpe kept from training", "Share of the in-sample Sharpe ratio.",
		"≥", share, "Only %s of the Sharpe ratio in training is left.",
	},
	evidence.BeatsHold: {
		"Sharpe above buy and hold", "Same bars, fully invested.",
		">", plainRatio, "Buy and hold has the higher Sharpe ratio.",
	},
	evidence.BeatsLuck: {
		"Deflated Sharpe", "Confidence that this is more than luck.",
		"≥", thousandths, "Luck explains it: deflated Sharpe %s.",
	},
	evidence.HoldoutTrades: {
		"Trades", "Enough to confirm.",
		"≥", counted, "Too few trades on the holdout: %s.",
	},
	evidence.HoldoutEarns: {
		"Sharpe ratio", "Per year, net of costs.",
		">", plainRatio, "The Sharpe ratio is %s on the holdout.",
	},
	evidence.HoldoutConfirms: {
		"p-value, adjusted", "For every holdout look counted.",
		"≤", probability, "On the holdout p = %s after adjustment.",
	},

	"no_test_part": {
		"Test part", "Bars that the model was not fitted to.",
		"", holds, "No bars were left to test the model on.",
	},
	"accuracy_below_threshold": {
		"Accuracy", "On the test part.",
		"≥", share, "Accuracy on the test part is %s.",
	},
	"directional_accuracy_below_threshold": {
		"Directional accuracy", "Share with the right sign.",
		">", share, "Directional accuracy is %s.",
	},
	"loss_too_high": {
		"Loss", "On the test part.",
		"≤", thousandths, "The loss is %s on the test part.",
	},
	"insufficient_loss_decrease": {
		"Fall of the training loss", "From the first epoch to the last.",
		"≥", share, "The training loss fell by %s.",
	},
	"too_few_trades": {
		"Trades", "Enough to judge.",
		"≥", counted, "Too few trades: %s.",
	},
	"drawdown_too_high": {
		"Deepest drawdown", "From a peak of the account.",
		"≤", share, "The deepest drawdown is %s.",
	},
	"net_return_negative": {
		"Net return", "Of the test part.",
		"≥", share, "The net return is %s.",
	},
	"win_rate_too_low": {
		"Win rate", "Share of the trades.",
		"≥", share, "The win rate is %s.",
	},
	"sharpe_too_low": {
		"Sharpe ratio", "Per year, net of costs.",
		"≥", plainRatio, "The Sharpe ratio is %s on the test part.",
	},
}
