package report

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence/panel"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/num"
)

// searched is an engine with one run: some researches with daily returns, one without
// a backtest, and one on another test part.
type searched struct {
	Engine
	returns [][]float64
	test    ktrdr.RunTest
	opened  int // the research whose backtest read a holdout; -1 for no research
	t       *testing.T
}

const searchedRun = "run_00000000000000aa"

func searchedResearch(i int) ktrdr.OperationID {
	return ktrdr.OperationID(fmt.Sprintf("op_agent_research_20261116_010203_%08x", i))
}

func (e *searched) FindRun(_ context.Context, id string) (ktrdr.Run, error) {
	if !strings.HasPrefix(searchedRun, id) {
		return ktrdr.Run{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no run %s", id)
	}
	return ktrdr.Run{ID: searchedRun, Test: e.test}, nil
}

func (e *searched) Operation(_ context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	return ktrdr.Operation{ID: id, Type: ktrdr.AgentResearch, Run: searchedRun}, nil
}

func (e *searched) TrialPoints(_ context.Context, q ktrdr.TrialQuery) (points []ktrdr.TrialPoint, _ error) {
	if q.Run != searchedRun {
		e.t.Errorf("trials of %q were read", q.Run)
	}
	points = append(points, ktrdr.TrialPoint{Operation: searchedResearch(999), Status: ktrdr.Failed})
	for i := range e.returns {
		p := ktrdr.TrialPoint{Operation: searchedResearch(i), Status: ktrdr.Completed, Sharpe: new(1.0), SharpeZ: new(1.5)}
		if i == 0 {
			p.Rung = ktrdr.RungFinalist
		}
		points = append(points, p)
	}
	return points, nil
}

func (e *searched) List(_ context.Context, q ktrdr.OperationQuery) (page ktrdr.OperationPage, _ error) {
	for _, parent := range q.Parents {
		var i int
		if _, err := fmt.Sscanf(parent.Tail(), "%x", &i); err != nil {
			e.t.Fatal(err)
		}
		run := &backtest.Result{Config: backtest.Config{InitialCapital: 1}}
		equity, first := 1.0, 0
		if i == len(e.returns)-1 {
			first = 100 // another test part
		}
		for d, r := range e.returns[i] {
			equity *= 1 + r
			run.Time, run.Equity = append(run.Time, int64(first+d)*24*3600), append(run.Equity, equity)
		}
		result := jobs.BacktestResult{Strategy: fmt.Sprintf("s%d\x1b[31m|<b>", i), Daily: jobs.DailyOf(run)}
		if i == e.opened {
			result.Opened = &jobs.Opening{}
		}
		page.Operations = append(page.Operations,
			ktrdr.Operation{ID: "old", Parent: parent, Ordinal: 1, Result: raw(e.t, jobs.BacktestResult{Strategy: "old"})},
			ktrdr.Operation{ID: "new", Parent: parent, Ordinal: 2, Result: raw(e.t, result)},
		)
	}
	return page, nil
}

// searchOf makes trials of noise. Those of an overfit search all earned the same, at
// different times: what is best on some days is the worst on the others.
func trialsOfNoise(trials, days int, overfit bool, edge float64) [][]float64 {
	r := num.NewRand(15)
	all := make([][]float64, trials)
	for k := range all {
		sum := 0.0
		for range days {
			v := 0.01 * r.Norm()
			all[k], sum = append(all[k], v), sum+v
		}
		for t := range all[k] {
			if overfit {
				all[k][t] -= sum / float64(days)
			}
			if k == 0 {
				all[k][t] += 0.01 * edge
			}
		}
	}
	return all
}

func TestPanel_ReportsAnOverfitSearchAsAWeaknessOfItsVerdicts(t *testing.T) {
	r := NewReporter(&searched{returns: trialsOfNoise(21, 200, true, 0), opened: -1, t: t}, nil)
	p, err := r.Panel(t.Context(), PanelQuery{Research: searchedResearch(0)})
	if err != nil {
		t.Fatal(err)
	}
	if p.PBO.PBO == nil || *p.PBO.PBO <= 0.5 || p.PBO.Splits != 12_870 {
		t.Fatalf("the overfit search has PBO %+v, want one above 0.5 from 12,870 splits", p.PBO)
	}
	if p.SPA.P == nil || *p.SPA.P <= 0.05 || p.Found != 0 {
		t.Errorf("the search without an edge has SPA %+v, StepM rejects %d", p.SPA, p.Found)
	}
	if p.Researches != 22 || p.Trials != 20 || p.Without != 1 || p.Elsewhere != 1 || p.Days != 200 {
		t.Errorf("%d researches, %d in the panel on %d days, %d without days, %d elsewhere", p.Researches, p.Trials, p.Days, p.Without,
			p.Elsewhere)
	}
	text := strings.Join(p.Lines(), "\n")
	for _, want := range []string{
		"Weakness of this verdict, although every check passed: the search is overfit: the probability of backtest overfitting is ",
		"Weakness of this verdict, although every check passed: chance explains the best trial",
		"Daily net returns of 20 of 22 trials on the test part, 200 days from 1970-01-01 to 1970-07-19. Left out: " +
			"1 without a backtest or a trade, 1 on another test part.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the lines lack %q:\n%s", want, text)
		}
	}
	if p.Trial == nil || p.Trial.P == nil || !strings.Contains(p.OfTrial(), "StepM: not better than cash among the 20 trials of its run") {
		t.Errorf("of the research it says %q: %+v", p.OfTrial(), p.Trial)
	}
}

func TestPanel_NamesTheTrialWithAnEdge(t *testing.T) {
	r := NewReporter(&searched{returns: trialsOfNoise(21, 400, false, 0.4), opened: 3, t: t}, nil)
	p, err := r.Panel(t.Context(), PanelQuery{Run: searchedRun[:12]})
	if err != nil {
		t.Fatal(err)
	}
	if p.SPA.P == nil || p.PBO.PBO == nil || p.PBO.Chosen == nil || p.Effective == nil {
		t.Fatalf("a figure is missing: SPA %+v, PBO %+v, effective trials %v", p.SPA, p.PBO, p.Effective)
	}
	if p.Found != 1 || len(p.Rejected) != 1 || p.Rejected[0].Operation != searchedResearch(0) || *p.SPA.P > 0.01 || *p.PBO.PBO > 0.05 ||
		len(p.Weaknesses) != 0 {
		t.Errorf("StepM rejects %d: %+v; SPA %v, PBO %v, %q", p.Found, p.Rejected, *p.SPA.P, *p.PBO.PBO, p.Weaknesses)
	}
	if p.Trials != 19 || p.Without != 2 {
		t.Errorf("%d trials are in the panel and %d are not: the backtest that read a holdout must not be", p.Trials, p.Without)
	}
	if p.Best == nil || p.Best.Deflated == nil || math.Abs(*p.Effective-19) > 1 {
		t.Errorf("the best is %+v, effective trials %v", p.Best, *p.Effective)
	}
	// It is what the package says of the same returns.
	var same panel.Panel
	for k, x := range trialsOfNoise(21, 400, false, 0.4)[:20] {
		if k != 3 {
			same.Returns = append(same.Returns, make([]float64, len(x)))
			equity, last := 1.0, 1.0
			for i, v := range x {
				equity *= 1 + v
				same.Returns[len(same.Returns)-1][i] = float64(float32(equity/last - 1))
				last = equity
			}
		}
	}
	for d := range 400 {
		same.Days = append(same.Days, int32(d))
	}
	want := panel.Judge(&same, panel.Options{Seed: panelSeed})
	if want.PBO.Chosen == nil {
		t.Fatalf("the package leaves PBO out: %+v", want.PBO)
	}
	if *want.SPA.Statistic != *p.SPA.Statistic || *want.PBO.Chosen != *p.PBO.Chosen {
		t.Errorf("statistic %v and chosen Sharpe %v, want %v and %v", *p.SPA.Statistic, *p.PBO.Chosen, *want.SPA.Statistic, *want.PBO.Chosen)
	}
	again, err := r.Panel(t.Context(), PanelQuery{Run: searchedRun})
	if err != nil || *again.SPA.P != *p.SPA.P || r.panels.kept.Len() != 1 {
		t.Errorf("asked again: %v, %v, %d kept judgements", *again.SPA.P, err, r.panels.kept.Len())
	}
}

func TestPanel_RefusesWhatIsNotOneSearch(t *testing.T) {
	r := NewReporter(&searched{t: t, opened: -1}, nil)
	for what, c := range map[string]struct {
		q    PanelQuery
		code ktrdr.Code
	}{
		"nothing": {PanelQuery{}, ktrdr.CodeInvalid}, "two": {PanelQuery{Run: "run_0", Market: "mkt_1"}, ktrdr.CodeInvalid},
		"no such run": {PanelQuery{Run: "run_f"}, ktrdr.CodeNotFound},
	} {
		if _, err := r.Panel(t.Context(), c.q); ktrdr.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", what, err, c.code)
		}
	}
	p, err := r.Panel(t.Context(), PanelQuery{Run: searchedRun})
	if err != nil || p.SPA.P != nil || p.PBO.PBO != nil || len(p.Lines()) < 3 || p.Rejected == nil || p.Weaknesses == nil {
		t.Errorf("a run without a backtest: %v, %+v", err, p)
	}
}

func TestPanel_IsASectionOfTheReportWithoutControlCharacters(t *testing.T) {
	r := NewReporter(&searched{returns: trialsOfNoise(21, 400, false, 0.4), opened: -1, t: t}, nil)
	p, err := r.Panel(t.Context(), PanelQuery{Run: searchedRun})
	if err != nil {
		t.Fatal(err)
	}
	var text, markdown bytes.Buffer
	out := Report{Run: searchedRun, Summary: "x", Panels: []Panel{p}}
	WriteText(&text, out, time.UTC)
	WriteMarkdown(&markdown, out, time.UTC)
	for _, want := range []string{
		"Evidence of the whole run\n", "SPA, is any trial", "StepM, which trials", "PBO, probability", PanelCaveats[2],
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "\x1b") || strings.Contains(markdown.String(), "<b>") {
		t.Errorf("a name is not escaped:\n%s", markdown.String())
	}
}

func TestPanel_SaysWhatTheFactoryTestOfTheRunCameTo(t *testing.T) {
	now := time.Now()
	passed := ktrdr.RunTestResult{P: new(0.005), Threshold: 0.025, Copies: 199, Best: searchedResearch(0), Passed: true}
	failed := passed
	failed.P, failed.Passed = new(0.25), false
	const said = "without an edge: "
	for want, test := range map[string]ktrdr.RunTest{
		"": {},
		said + "not ended; `ktrdr ops --type factory_test` shows it.": {ReservedAt: now},
		said + "p = 0.005 after 199 copies, at most 0.025 is allowed: 00000000 is a candidate.": {
			ReservedAt: now, EndedAt: now, RunTestResult: passed,
		},
		said + "p = 0.25 after 199 copies, at most 0.025 is allowed: no candidate.": {ReservedAt: now, EndedAt: now, RunTestResult: failed},
	} {
		r := NewReporter(&searched{returns: trialsOfNoise(3, 200, false, 0), opened: -1, test: test, t: t}, nil)
		for _, q := range []PanelQuery{{Run: searchedRun}, {Research: searchedResearch(0)}} {
			p, err := r.Panel(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(p.Lines(), "\n")
			if !strings.Contains(text, want) || strings.Contains(text, "Factory test") != (want != "") {
				t.Errorf("%+v: the lines lack %q:\n%s", q, want, text)
			}
		}
	}
}

func TestPanel_OfAMarketReadsAllItsRuns(t *testing.T) {
	e := &onMarket{searched{returns: trialsOfNoise(11, 200, true, 0), opened: -1, t: t}}
	p, err := NewReporter(e, nil).Panel(t.Context(), PanelQuery{Market: "mkt_old"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	WritePanel(&out, p)
	if p.Run != "" || p.Market != "mkt_a" || p.Trials != 10 || !strings.HasPrefix(out.String(), "Evidence of all runs on mkt_a\n") ||
		!strings.Contains(out.String(), PanelCaveats[0]) {
		t.Errorf("run %q, market %q, %d trials:\n%s", p.Run, p.Market, p.Trials, out.String())
	}
}

// onMarket has the same trials on a market that another was merged into.
type onMarket struct{ searched }

func (e *onMarket) Market(context.Context, string) (ktrdr.Market, error) {
	return ktrdr.Market{ID: "mkt_a"}, nil
}

func (e *onMarket) TrialPoints(ctx context.Context, q ktrdr.TrialQuery) ([]ktrdr.TrialPoint, error) {
	if q.Market != "mkt_a" || q.Run != "" {
		e.t.Errorf("trials of %+v were read", q)
	}
	return e.searched.TrialPoints(ctx, ktrdr.TrialQuery{Run: searchedRun})
}
