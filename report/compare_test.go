package report

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy"
)

const (
	opened = "op_agent_research_20261116_010203_aaaaaaaa"
	sealed = "op_agent_research_20261116_010203_bbbbbbbb"
	other  = "op_agent_research_20261116_010203_aaaabbbb"
	tested = "op_backtesting_20261116_010203_cccccccc"
)

// pastEngine is an engine with two researches on one market; the holdout of one
// was opened.
type pastEngine struct {
	Engine
	ops   map[ktrdr.OperationID]ktrdr.Operation
	looks []ktrdr.Look
}

func (e *pastEngine) Operation(_ context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	if op, ok := e.ops[id]; ok {
		return op, nil
	}
	return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no %s", id)
}

func (e *pastEngine) List(_ context.Context, q ktrdr.OperationQuery) (page ktrdr.OperationPage, _ error) {
	if q.Parent != "" {
		return page, nil
	}
	for _, id := range []ktrdr.OperationID{opened, sealed, other} {
		page.Operations = append(page.Operations, e.ops[id])
	}
	return page, nil
}

func (e *pastEngine) Trials(_ context.Context, q ktrdr.TrialQuery) (page ktrdr.TrialPage, _ error) {
	for _, id := range q.Of {
		page.Trials = append(page.Trials, ktrdr.Trial{
			Operation: id, Market: "mkt_a", Type: ktrdr.AgentResearch, Status: ktrdr.Completed, MarketTrials: 40, Rung: ktrdr.RungFinalist,
			TrialFigures: ktrdr.TrialFigures{Strategy: "s", Sharpe: new(2.0), SharpeZ: new(2.0)}, Claim: id == opened,
		})
	}
	return page, nil
}

func (e *pastEngine) TrialPoints(context.Context, ktrdr.TrialQuery) ([]ktrdr.TrialPoint, error) {
	return []ktrdr.TrialPoint{
		{Operation: opened, Sharpe: new(2.0), SharpeZ: new(2.0), Looked: true}, {Operation: sealed, Sharpe: new(2.0), SharpeZ: new(2.0)}, {},
	}, nil
}

func (e *pastEngine) Looks(context.Context, ktrdr.LookQuery) (ktrdr.LookPage, error) {
	return ktrdr.LookPage{Looks: e.looks}, nil
}

func (e *pastEngine) Notes(_ context.Context, q ktrdr.NoteQuery) (page ktrdr.NotePage, _ error) {
	text := string(strategy.Examples()[0].Source)
	if q.Operation == sealed {
		text = strings.Replace(text, "learning_rate: 0.001", "learning_rate: 0.002", 1)
	}
	data, err := json.Marshal(research.Experiment{Name: "s", Strategy: text})
	page.Notes = []ktrdr.Note{{Operation: q.Operation, Kind: research.NoteExperiment, Data: data}}
	return page, err
}

// daily are daily returns that grow and fall in turn.
func daily(days int, up float64) *jobs.Daily {
	run := &backtest.Result{Config: backtest.Config{InitialCapital: 100}}
	equity := 100.0
	for i := range days {
		equity *= 1 + up*float64(1-2*(i%2))
		run.Time, run.Equity = append(run.Time, int64(i)*24*3600), append(run.Equity, equity)
	}
	return jobs.DailyOf(run)
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func somePast(t *testing.T) *pastEngine {
	t.Helper()
	result := raw(t, research.Result{Backtest: tested, Figures: &research.BacktestFigures{CostPerSide: 0.0001}})
	line := &evidence.Sketch{Time: []int64{0, 86400}, Account: []float64{1, 1.01}, Hold: []float64{1, 1.03}}
	told := research.Confirmation{Daily: daily(30, 0.01), Line: line, Look: evidence.Confirmation{Holdout: evidence.Comparison{
		Sharpe: evidence.Sharpe{Annualized: new(4.0), Z: new(3.2)}, Return: 0.08,
	}}}
	return &pastEngine{
		ops: map[ktrdr.OperationID]ktrdr.Operation{
			opened: {ID: opened, Type: ktrdr.AgentResearch, Result: result}, sealed: {ID: sealed, Type: ktrdr.AgentResearch, Result: result},
			other:  {ID: other, Type: ktrdr.AgentResearch},
			tested: {ID: tested, Type: ktrdr.Backtesting, Result: raw(t, jobs.BacktestResult{Daily: daily(40, 0.02)})},
		},
		looks: []ktrdr.Look{
			{
				Research: opened, Kind: ktrdr.LookConfirmation, Before: 1, Markets: []ktrdr.LookMarket{{Market: "mkt_a", Number: 2}},
				ReservedAt: time.Unix(200, 0), EndedAt: time.Unix(201, 0),
				LookResult: ktrdr.LookResult{P: new(0.001), Adjusted: new(0.006), Claim: true, Result: raw(t, told)},
			},
			{Kind: ktrdr.LookByHand, Markets: []ktrdr.LookMarket{{Market: "mkt_a", Number: 1}}, ReservedAt: time.Unix(100, 0)},
		},
	}
}

func TestCompare_ShowsOnlyHoldoutsThatWereOpened(t *testing.T) {
	c, err := NewReporter(somePast(t), nil).Compare(t.Context(), []string{opened, sealed})
	if err != nil {
		t.Fatal(err)
	}
	if l := c.Strategies[0].Look; l == nil || len(l.Returns) != 30 || *l.Sharpe != 4 || l.Counted != 6 || l.Number != 2 {
		t.Fatalf("the look is %+v, want its returns and what it counted", l)
	}
	if want := -evidence.NormQuantile(0.02/6) * 1.25; math.Abs(*c.Strategies[0].Look.Needed-want) > 1e-12 {
		t.Errorf("needed %v, want %v", *c.Strategies[0].Look.Needed, want)
	}
	if h := c.Strategies[0].Look.Hold; len(h) != 2 || h[1].Value != 1.03 || c.Looks[1].Hold != nil {
		t.Errorf("buy and hold of the holdout %v, want it of the compared strategy only", h)
	}
	if c.Strategies[1].Look != nil || len(c.Strategies[1].Returns) != 40 {
		t.Errorf("sealed: %+v, want its test part and no look", c.Strategies[1])
	}
	if len(c.Looks) != 2 || c.Looks[0].Number != 1 || c.Looks[1].TestSharpe == nil || c.Looks[1].Returns != nil {
		t.Errorf("looks %+v, want both, oldest first, without returns", c.Looks)
	}
	if c.SealedAll != 1 || !slices.Equal(c.Sealed, []float64{2}) || c.Trials != 3 || *c.Luck != evidence.BestByLuck(3) {
		t.Errorf("sealed %d %v of %d trials, luck %v", c.SealedAll, c.Sealed, c.Trials, *c.Luck)
	}
	if x := c.Correlation[0][1]; x == nil || math.Abs(*x-1) > 1e-6 || c.Bets == nil || math.Abs(*c.Bets-1) > 1e-6 {
		t.Errorf("correlation %v, bets %v of equal returns", x, c.Bets)
	}
	if len(c.Differences) != 1 || !strings.HasSuffix(c.Differences[0].Path, "learning_rate") || len(c.Same) < 10 {
		t.Errorf("differences %v beside %d equal fields", c.Differences, len(c.Same))
	}
	var out bytes.Buffer
	PrintCompared(&out, c)
	if text := out.String(); !strings.Contains(text, "sealed") || !strings.Contains(text, "0.006") {
		t.Errorf("printed:\n%s", text)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestCompare_RefusesWhatIsNoComparison(t *testing.T) {
	r := NewReporter(somePast(t), nil)
	for name, c := range map[string]struct {
		ids  []string
		code ktrdr.Code
	}{
		"one":        {[]string{opened}, ktrdr.CodeInvalid},
		"six":        {strings.Split("a,b,c,d,e,f", ","), ktrdr.CodeInvalid},
		"the same":   {[]string{opened, opened}, ktrdr.CodeInvalid},
		"a backtest": {[]string{opened, tested}, ktrdr.CodeInvalid},
		"unknown":    {[]string{opened, "dddddddd"}, ktrdr.CodeNotFound},
		"ambiguous":  {[]string{"aaaa", sealed}, ktrdr.CodeInvalid},
		"too short":  {[]string{"a", sealed}, ktrdr.CodeInvalid},
	} {
		if _, err := r.Compare(t.Context(), c.ids); ktrdr.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if c, err := r.Compare(t.Context(), []string{"aaaaaaaa", "bbbb"}); err != nil || c.Strategies[1].Operation != sealed {
		t.Errorf("short ids: %v", err)
	}
}

func TestCorrelation_NeedsCommonDays(t *testing.T) {
	days := func(n, from int, value func(int) float64) (list []jobs.Point) {
		for i := range n {
			list = append(list, jobs.Point{Time: time.Unix(0, 0).UTC().AddDate(0, 0, from+i), Value: value(from + i)})
		}
		return list
	}
	wave := func(i int) float64 { return math.Sin(float64(i)) }
	against := func(i int) float64 { return -2*wave(i) + 5 }
	if x := correlation(days(60, 0, wave), days(60, 30, against)); x == nil || math.Abs(*x+1) > 1e-9 {
		t.Errorf("correlation %v on 30 common days, want -1", x)
	}
	if x := correlation(days(60, 0, wave), days(60, 50, against)); x != nil {
		t.Errorf("correlation %v on 10 common days, want none", *x)
	}
	if x := correlation(days(60, 0, wave), days(60, 0, func(int) float64 { return 0.1 })); x != nil {
		t.Errorf("correlation %v with what does not change", *x)
	}
}
