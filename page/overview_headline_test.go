package page

import (
	"testing"

	"github.com/ktrdr/ktrdr/report"
)

func TestOverview_TheHeadlineFitsTheFunnel(t *testing.T) {
	for want, f := range map[string]report.Funnel{
		"No research in this time.":                                     {},
		"60 researches are running.":                                    {Tried: 60, Running: 60},
		"So far nothing beats luck: 2 strategies tried, 1 running.":     {Tried: 3, Running: 1},
		"No strategy was tried: 3 researches failed or were cancelled.": {Tried: 3, Failed: 3},
		"Nothing survived: 3 strategies tried, none beats luck.":        {Tried: 3, Failed: 1},
		"So far nothing beats luck: 1 strategy tried, 2 running.":       {Tried: 3, Running: 2, Failed: 1},
	} {
		var n overview
		if n.headline(&report.Report{}, &report.Search{Funnel: f}); n.Headline != want {
			t.Errorf("%+v: %q, want %q", f, n.Headline, want)
		}
	}
}

func TestOverview_SaysThatPricesAreMadeUp(t *testing.T) {
	yes, no := report.Leader{}, report.Leader{}
	yes.MadeUp, no.MadeUp = new(true), new(false)
	if madeUp(nil) || madeUp([]report.Leader{yes, no}) || madeUp([]report.Leader{yes, {}}) || !madeUp([]report.Leader{yes, yes}) {
		t.Error("prices are made up if those of all rows are")
	}
}
