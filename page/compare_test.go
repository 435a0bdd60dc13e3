package page

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
)

func comparedDays(n int, from time.Time, value float64) (list []jobs.Point) {
	for i := range n {
		list = append(list, jobs.Point{Time: from.AddDate(0, 0, i), Value: value * float64(2-i%3)})
	}
	return list
}

func someComparison() report.Compared {
	from := time.Date(2017, 1, 2, 0, 0, 0, 0, time.UTC)
	look := report.ComparedLook{
		Research: "op_agent_research_20261116_010203_aaaaaaaa", Number: 1, Counted: 2, P: new(0.0006), Adjusted: new(0.0012), Claim: true,
		TestSharpe: new(2.7), Sharpe: new(4.07), StandardError: new(1.23), Needed: new(2.87), Return: new(0.084), BuyAndHold: new(0.013),
		Returns: comparedDays(60, from.AddDate(0, 3, 0), 0.001),
	}
	return report.Compared{
		Strategies: []report.ComparedStrategy{
			{
				Operation: look.Research, Strategy: "mean_reversion_0a1b2c3d", Standing: "claimed", Claim: true, Rung: ktrdr.RungFinalist,
				Sharpe: new(2.77), StandardError: new(1.1), Luck: new(2.41), NetReturn: new(0.136), MaxDrawdown: new(0.041), Trades: 1436,
				Returns: comparedDays(90, from, 0.001), Look: &look,
			},
			{
				Operation: "op_agent_research_20261116_010203_bbbbbbbb", Strategy: "<script>x</script>\u202e", Standing: "no edge",
				Sharpe: new(1.2), Returns: comparedDays(90, from, 0.002),
			},
		},
		Correlation: [][]*float64{{new(1.0), new(-0.43)}, {new(-0.43), new(1.0)}}, Bets: new(1.4), Trials: 40, Luck: new(2.34),
		MaxAdjustedP: 0.02,
		Looks:        []report.ComparedLook{look}, Sealed: []float64{0.2, 1.2}, SealedAll: 34,
		Differences: []report.DesignDifference{
			{Path: "training.learning_rate", Values: []string{"0.004", "0.003"}}, {Path: "x.y", Values: []string{"", "<i>1"}},
		},
		Same: []report.DesignField{{Path: "model.type", Value: "mlp"}},
	}
}

func TestCompare_ShowsFiguresSideBySide(t *testing.T) {
	lab := &labAPI{answers: map[string]any{"GET /compare": someComparison()}}
	p := startPages(t, lab)
	for _, target := range []string{"/compare?ids=aaaaaaaa,bbbbbbbb", "/compare?ids=aaaaaaaa&ids=bbbbbbbb"} { // as a link, and as checkboxes
		html := visit(t, p, ktrdr.ScopeRead, http.MethodGet, target, nil).Body.String()
		for _, want := range []string{
			"2 strategies, 1 claim.", "<b>4.07</b> <span class=\"dim p1\">± 1.23</span>", "<b>0.0012</b>", "2.87", "0.0006", "+8.4 %",
			"−4.1 %", "1,436",
			"sealed", "hn h2\">−0.43", "about 1.4 independent bets", "Learning rate", "<b>0.004</b>", "1 more field differs",
			"&lt;i&gt;1", "model mlp",
			"luck reaches 2.34", "34 strategies whose holdouts stay sealed", "&lt;script&gt;", "ktrdr compare aaaaaaaa bbbbbbbb", "A +",
		} {
			if !strings.Contains(html, want) {
				t.Errorf("%s lacks %q", target, want)
			}
		}
		if strings.Contains(html, "<script>x") || strings.ContainsRune(html, '\u202e') {
			t.Error("the name of a strategy is not inert")
		}
	}
}

// Only the part of the query is drawn, and a holdout that was not opened is
// in no figure.
func TestCompare_DrawsTheHoldoutOnlyWhereItWasOpened(t *testing.T) {
	c := someComparison()
	curves := func(part string) int {
		html, _ := compareEquity(&c, compareQuery{part: part})
		return strings.Count(string(html), `<path class="st co`)
	}
	for part, want := range map[string]int{"": 3, "both": 3, "test": 2, "holdout": 1} {
		if got := curves(part); got != want {
			t.Errorf("part %q has %d curves, want %d", part, got, want)
		}
	}
	c.Strategies[0].Look = nil
	if got := curves("holdout"); got != 0 {
		t.Errorf("%d curves of sealed holdouts", got)
	}
	if _, note := compareEquity(&c, compareQuery{part: "holdout"}); note == "" {
		t.Error("nothing says that no holdout was opened")
	}
}

func TestCompare_WithoutIDsSaysHowToChoose(t *testing.T) {
	p := startPages(t, &labAPI{})
	for target, want := range map[string]string{
		"/compare": "Choose strategies to compare.", "/compare?ids=a": "One strategy is chosen.",
		"/compare?ids=a,b,c,d,e,f": "6 strategies are too many.",
	} {
		if html := visit(t, p, ktrdr.ScopeRead, http.MethodGet, target, nil).Body.String(); !strings.Contains(html, want) {
			t.Errorf("%s lacks %q", target, want)
		}
	}
}

// Buy and hold of a market is drawn once for a part, and on the holdout only where
// a look opened it.
func TestCompare_DrawsBuyAndHoldOnlyOfWhatMayBeSeen(t *testing.T) {
	c := someComparison()
	from := c.Strategies[0].Returns[0].Time
	for i := range c.Strategies {
		c.Strategies[i].Symbols, c.Strategies[i].Hold = "EURUSD", comparedDays(90, from, 1)
	}
	c.Strategies[0].Look.Hold = comparedDays(60, from.AddDate(0, 3, 0), 1)
	held := func(part string) int {
		html, _ := compareEquity(&c, compareQuery{part: part})
		if lines, names := strings.Count(string(html), `class="mk dh"`), strings.Count(string(html), ">buy and hold EURUSD<"); lines != names {
			t.Errorf("part %q: %d lines and %d names", part, lines, names)
		}
		return strings.Count(string(html), `class="mk dh"`)
	}
	for part, want := range map[string]int{"": 2, "test": 1, "holdout": 1} {
		if got := held(part); got != want {
			t.Errorf("part %q has %d lines of buy and hold, want %d", part, got, want)
		}
	}
	c.Strategies[0].Look = nil
	if got := held("both"); got != 1 {
		t.Errorf("%d lines of buy and hold with a sealed holdout, want that of the test part", got)
	}
}
