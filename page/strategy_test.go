package page

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

var (
	testFrom    = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	holdoutFrom = testFrom.AddDate(0, 0, 90)
	holdoutTo   = testFrom.AddDate(0, 0, 120)
)

// daily are returns of days from the beginning of the test part on.
func daily(returns ...float32) *jobs.Daily {
	days, values := make([]byte, (len(returns)+7)/8), []byte{}
	for i, r := range returns {
		days[i/8] |= 1 << (i % 8)
		values = binary.LittleEndian.AppendUint32(values, math.Float32bits(r))
	}
	return &jobs.Daily{
		First: testFrom.Format(time.DateOnly), Days: base64.StdEncoding.EncodeToString(days),
		Returns: base64.StdEncoding.EncodeToString(values),
	}
}

// judged is a research whose strategy was judged on 90 days of a test part.
func judged(level evidence.Level, failed ...evidence.Code) *facts {
	returns := make([]float32, 90)
	for i := range returns {
		returns[i] = float32(0.001 * math.Sin(float64(i)))
	}
	f := &facts{
		op: ktrdr.Operation{
			ID: "op_agent_research_20200101_000000_0000aaaa", Type: ktrdr.AgentResearch, Status: ktrdr.Completed, Phase: "DONE",
		},
		backtest: &jobs.BacktestResult{Start: testFrom, End: holdoutFrom.Add(-time.Hour), Trades: 40, Daily: daily(returns...)},
		assessment: &research.Assessment{
			Verdict: level, Finalist: len(failed) == 0,
			Figures: &evidence.Figures{Trials: 8, ExpectedMax: new(0.9), Test: evidence.Comparison{
				Sharpe: evidence.Sharpe{Annualized: new(0.14), AnnualizedError: new(0.62)},
			}},
		},
	}
	f.spec.Sealed = []research.Span{{Symbol: "A", From: holdoutFrom, To: holdoutTo}}
	f.backtest.Metrics.InitialCapital = 1000
	for _, code := range []evidence.Code{
		evidence.NotRuined, evidence.EnoughTrades, evidence.PositiveSharpe, evidence.BeatsHold, evidence.BeatsLuck,
	} {
		r := evidence.Reason{Code: code, Value: new(12.0), Limit: new(30.0), Passed: true}
		for _, bad := range failed {
			r.Passed = r.Passed && bad != code
		}
		f.assessment.Reasons = append(f.assessment.Reasons, r)
	}
	return f
}

// looked is judged after its holdout was opened.
func looked(claim bool) *facts {
	f := judged(evidence.Promising)
	c := research.Confirmation{Claim: claim, Look: evidence.Confirmation{
		Claim: claim, Before: 4, Factor: 30, Adjusted: new(0.0014), Reasons: []evidence.Reason{
			{Code: evidence.HoldoutConfirms, Value: new(0.31), Limit: new(0.02), Passed: claim},
		},
		Holdout: evidence.Comparison{Sharpe: evidence.Sharpe{Annualized: new(4.99), AnnualizedError: new(1.2), PerBar: new(0.06), Z: new(4.15)}},
	}}
	c.Line = &evidence.Sketch{
		Time: []int64{holdoutFrom.Unix(), holdoutTo.Unix()}, Account: []float64{1, 1.1}, Hold: []float64{1, 0.9},
	}
	f.look = &c
	return f
}

func TestStrategy_TheVerdictIsOneSentence(t *testing.T) {
	running := &facts{op: ktrdr.Operation{Status: ktrdr.Running, Phase: "TRAINING"}}
	failed := &facts{op: ktrdr.Operation{Status: ktrdr.Failed, ErrorMessage: "the disk is full"}}
	cancelled := &facts{op: ktrdr.Operation{Status: ktrdr.Cancelled, CancelReason: "not needed."}}
	refused := &facts{op: ktrdr.Operation{Status: ktrdr.Completed}}
	refused.result.Gates = []research.GateResult{{Gate: "training", Reasons: research.GateReasons{
		{Code: "directional_accuracy_below_threshold", Text: "not shown", Value: new(0.48), Limit: new(0.5)},
	}}}
	for _, c := range []struct {
		situation  string
		facts      *facts
		want, mark string
	}{
		{"it runs", running, "Training: phase 2 of 4.", "run"},
		{"it failed", failed, "Failed: the disk is full.", "failed"},
		{"a person cancelled it", cancelled, "Cancelled: not needed.", "failed"},
		{"a gate stopped it", refused, "Stopped by the training gate. Directional accuracy is 48.0 %.", "gate"},
		{"luck explains it", judged(evidence.Neutral, evidence.BeatsLuck), "No edge claimed. Luck explains a Sharpe ratio of 0.14.", "neutral"},
		{"it has few trades", judged(evidence.Poor, evidence.EnoughTrades), "No edge claimed. Too few trades to judge: 12.", "neutral"},
		{"it is a finalist", judged(evidence.Promising), "Finalist: every check on the test part passed. The holdout is sealed.", "neutral"},
		{"the holdout confirms it", looked(true), "Edge claimed: p = 0.0014 after adjustment.", "claimed"},
		{"the holdout does not", looked(false), "No edge claimed. On the holdout p = 0.310 after adjustment.", "neutral"},
	} {
		s := c.facts.view(true, false)
		if s.Headline != c.want || s.Mark != c.mark {
			t.Errorf("%s: %q (%s), want %q (%s)", c.situation, s.Headline, s.Mark, c.want, c.mark)
		}
	}
}

func TestStrategy_AClaimIsShownBesideTheCalibrationOfItsMarket(t *testing.T) {
	f := looked(true)
	f.calibration = "This lab was never calibrated on this market: `ktrdr calibrate SYMBOL TIMEFRAME` measures how often it claims falsely."
	s := f.view(true, false)
	if last := s.Lead[len(s.Lead)-1].Text; !strings.Contains(last, "never calibrated") {
		t.Errorf("the claim ends with %q", last)
	}
}

func TestPanel_ShowsTheFactoryTestOfItsRun(t *testing.T) {
	p := report.Panel{Test: ktrdr.RunTest{
		ReservedAt: testFrom, EndedAt: testFrom,
		RunTestResult: ktrdr.RunTestResult{P: new(0.005), Threshold: 0.025, Copies: 199, Best: "op_x_1_2_0000aaaa", Passed: true},
	}}
	v := panelOf(&p, "panel")
	last := v.Figures[len(v.Figures)-1]
	if last.Name != "Factory test" || last.Value != "p = 0.0050" || !strings.Contains(last.Note, "0000aaaa is a candidate") {
		t.Errorf("%+v", last)
	}
	if v := panelOf(&report.Panel{}, "panel"); v.Figures[len(v.Figures)-1].Name == "Factory test" {
		t.Error("a run that was not tested shows a test")
	}
}

func TestStrategy_ACurveEndsWhereASealedHoldoutBegins(t *testing.T) {
	for situation, f := range map[string]*facts{
		"a check failed": judged(evidence.Neutral, evidence.BeatsLuck), "it is a finalist": judged(evidence.Promising),
	} {
		for _, part := range f.stretches() {
			for _, p := range append(part.account, part.hold...) {
				if p.X > float64(holdoutFrom.Unix()) {
					t.Errorf("%s: a point of %s is after the holdout begins", situation, part.name)
				}
			}
		}
		s := f.view(true, false)
		rows := s.Equity.Parts
		if last := rows[len(rows)-1]; last.Name != "Holdout" || last.Strategy != "sealed" || last.Sharpe != missing {
			t.Errorf("%s: the holdout shows %+v, want sealed", situation, last)
		}
		checks := s.Verdict.Groups[len(s.Verdict.Groups)-1]
		for _, c := range checks.Checks {
			if c.Value != "sealed" || c.Mark != "o" {
				t.Errorf("%s: %s shows %q, want sealed", situation, c.Name, c.Value)
			}
		}
	}
	parts := looked(true).stretches()
	if last := parts[len(parts)-1]; last.name != "Holdout" || len(last.account) == 0 || last.luck <= 1 {
		t.Errorf("an opened holdout is drawn as %+v, want its account and what was needed", last)
	}
}

func TestStrategy_MonthsCompoundToTheTotal(t *testing.T) {
	f := judged(evidence.Neutral)
	returns := make([]float32, 60)
	returns[0], returns[40], returns[41] = 0.1, 0.2, -0.5 // January, February
	f.backtest.Daily = daily(returns...)
	m := f.months()
	if len(m.Rows) != 1 || m.Rows[0].Cells[0].Text != "+10.0" || m.Rows[0].Cells[1].Text != "−40.0" || m.Rows[0].Cells[2].Text != "" ||
		m.Rows[0].Total != "−34.0" {
		t.Errorf("%+v, want +10.0, −40.0 and −34.0", m.Rows)
	}
	if m.Rows[0].Year != "2020" || strings.Contains(m.Note, "holdout") {
		t.Errorf("without a look the months are of %s: %s", m.Rows[0].Year, m.Note)
	}
	if got := f.testCurve(); math.Abs(last(got)-0.66) > 1e-6 || got[0].Y != 1 {
		t.Errorf("the curve ends at %v, want 0.66", last(got))
	}
}

func TestStrategy_TextsOfUsersAndModelsAreInert(t *testing.T) {
	const bad = "<script>alert(1)</script>\u202egnp"
	f := looked(false)
	f.state.StrategyName, f.state.Strategy, f.state.Hypothesis = bad, "name: "+bad+"\n"+bad+": 1", bad
	f.spec.Brief, f.result.Designer, f.result.Warnings, f.result.Instead = bad, bad, []string{bad}, []string{bad}
	f.assessment.Hypotheses = []research.Hypothesis{{Text: bad, Rationale: bad}}
	f.assessment.Reasons[0].Code, f.assessment.Reasons[0].Text = evidence.Code(bad), bad
	f.talks = []talk{{Phase: "design", About: bad, Turns: []turn{{Role: "user", Text: plain(bad)}}}}
	f.children = []ktrdr.Operation{{Type: ktrdr.AgentDesign, Worker: "w", CreatedAt: testFrom}}
	p, err := New(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	out := httptest.NewRecorder()
	show := func(name string, view any) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Ktrdr-Fragment", "1")
		if p.render(out, r, http.StatusOK, "", name, view); out.Code != http.StatusOK {
			t.Fatalf("%s: %s", name, out.Body)
		}
	}
	for _, name := range []string{bad, ""} { // without a name its goal is shown
		f.state.StrategyName = name
		show("strategy", f.view(true, false))
	}
	row := report.Leaderboard{Rows: make([]report.Leader, 1)}
	row.Rows[0].Strategy = bad
	show("leaders", boardOf(row, boardQuery{}, nil))
	if html := out.Body.String(); strings.Contains(html, "<script") || strings.ContainsRune(html, '\u202e') || !strings.Contains(html, "gnp") {
		t.Errorf("a text got through as it is: %.600s", html[max(strings.Index(html, "<script"), strings.Index(html, "\u202e"), 0):])
	}
}

// answers is an API whose operations have these ids.
type answers []ktrdr.OperationID

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	rows := []api.OperationRow{}
	for _, id := range a {
		if named := r.URL.Query().Get("named"); strings.HasPrefix(string(id), named) || strings.HasPrefix(id.Tail(), named) {
			rows = append(rows, api.OperationRow{ID: id})
		}
	}
	text, err := json.Marshal(map[string]any{"success": true, "data": rows})
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(text)),
	}, err
}

func TestStrategy_IsFoundByEnoughOfItsID(t *testing.T) {
	const one, two = "op_agent_research_20200101_000000_0000aaaa", "op_agent_research_20200101_000000_0000bbbb"
	lab, err := client.New("http://inside", "", client.Options{Transport: answers{one, two}})
	if err != nil {
		t.Fatal(err)
	}
	p := &Pages{lab: lab}
	for named, want := range map[string]string{
		one: one, "0000bbbb": two, "0000a": one, "op_agent_research_20200101_000000_0000b": two,
		"0000": "is the beginning of several strategies", "op_agent": "is the beginning of several strategies",
		"ffff": "no strategy has an id that begins with", "00": "too short",
	} {
		id, err := p.findResearch(t.Context(), named)
		if got := fmt.Sprint(id, err); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", named, got, want)
		}
	}
}

func TestStrategy_ReadsWhichBarsAreWanted(t *testing.T) {
	for _, c := range []struct {
		query  string
		number int
		from   string
		wrong  bool
	}{
		{"", 1, "", false},
		{"trade=17", 17, "", false},
		{"from=2020-01-02T03:00:00Z&to=2020-02-01T00:00:00Z", 1, "2020-01-02T03:00:00Z", false},
		{"trade=0", 0, "", true},
		{"trade=x", 0, "", true},
		{"from=yesterday", 0, "", true},
	} {
		q, _ := url.ParseQuery(c.query)
		number, from, _, err := readWindow(q.Get("trade"), q.Get("from"), q.Get("to"))
		if (err != nil) != c.wrong || err == nil && (number != c.number || c.from != "" && from.Format(time.RFC3339) != c.from) {
			t.Errorf("%q: trade %d from %s, %v", c.query, number, from, err)
		}
	}
	if got := windowOf(url.Values{"trade": {"3"}, "scale": {"log"}}); got != "?trade=3" {
		t.Errorf("%q, want the trade alone", got)
	}
}
