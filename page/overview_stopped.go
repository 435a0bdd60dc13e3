package page

import (
	"strings"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/report"
)

// stoppedRow is a check of a gate and how many strategies it stopped.
type stoppedRow struct {
	Reason, Share string
	N             int
}

// gateWords are the checks of the gates, in words.
var gateWords = map[string]string{
	"accuracy_below_threshold":             "Accuracy too low",
	"directional_accuracy_below_threshold": "Direction too often wrong",
	"loss_too_high":                        "Loss too high",
	"insufficient_loss_decrease":           "Training loss did not fall enough",
	"sharpe_too_low":                       "Sharpe ratio too low",
	"win_rate_too_low":                     "Too few winning trades",
	"drawdown_too_high":                    "Drawdown too deep",
	"net_return_negative":                  "Net return too low",
	"too_few_trades":                       "Too few trades",
}

// gateCheck is a check in words; a code that has none yet loses its underscores.
func gateCheck(code string) string {
	if words, ok := gateWords[code]; ok {
		return words
	}
	return capital(strings.ReplaceAll(code, "_", " "))
}

func stoppedRows(counts []report.StoppedCount) (rows []stoppedRow) {
	for _, c := range counts {
		rows = append(rows, stoppedRow{gateCheck(c.Code), chart.Number(100*float64(c.N)/float64(counts[0].N), 1), c.N})
	}
	return rows
}
