package page

import (
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/report"
)

// reasonWords are the checks that failed, in the words of one cell. The first %s is
// the value, the second what was needed.
var reasonWords = map[evidence.Code]string{
	evidence.NotRuined:       "account used up",
	evidence.NotCollapsed:    "always the same answer",
	evidence.EnoughTrades:    "%s trades, %s needed",
	evidence.PositiveSharpe:  "Sharpe %s",
	evidence.BoundedDrawdown: "drawdown %s",
	evidence.SurvivesCosts:   "covers %s the costs",
	evidence.BoundedDecay:    "keeps %s of training",
	evidence.BeatsHold:       "below buy and hold",
	evidence.BeatsLuck:       "luck explains it",
}

// mainReason says in a few words why a row has its verdict, and how many other
// checks failed.
func mainReason(l *report.Leader) (text string, others int) {
	d := l.Details
	switch {
	case l.Claim:
		return pValue(l.Adjusted) + " adjusted", 0 // for the looks at that time; there may be more now
	case l.LookEnded && l.Adjusted != nil:
		return "holdout " + pValue(l.Adjusted), 0
	case d == nil || d.Failed == nil:
		return missing, 0
	}
	words, known := reasonWords[d.Failed.Code]
	if !known {
		gate := gateCheck(string(d.Failed.Code))
		return strings.ToLower(gate[:1]) + gate[1:], d.Failures - 1
	}
	if d.Failed.Code == evidence.BoundedDecay && d.Failed.Value == nil {
		return "decay unknown", d.Failures - 1
	}
	show := checkTexts[d.Failed.Code].show
	switch strings.Count(words, "%s") {
	case 1:
		words = fmt.Sprintf(words, show(d.Failed.Value))
	case 2:
		words = fmt.Sprintf(words, show(d.Failed.Value), show(d.Failed.Limit))
	}
	return words, d.Failures - 1
}
