package page_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/page"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

const (
	researchID   ktrdr.OperationID = "op_agent_research_20261115_030000_aaaaaaaa"
	trainingID   ktrdr.OperationID = "op_training_20261115_030000_bbbbbbbb"
	backtestID   ktrdr.OperationID = "op_backtesting_20261115_030000_cccccccc"
	assessmentID ktrdr.OperationID = "op_agent_assessment_20261115_030000_dddddddd"
)

func text(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// strategyLab is a lab with one research that was claimed, in which every text is
// the same.
func strategyLab(t *testing.T, said string) *fakeLab {
	t.Helper()
	spec := filled[research.Spec](said)
	spec.Strategy, spec.SymbolCosts, spec.Rules = "", nil, evidence.Rules{}
	result := filled[research.Result](said)
	result.Backtest, result.ResultHash = backtestID, ktrdr.Hash{1}
	op := filled[ktrdr.Operation](said)
	op.ID, op.Type, op.Status, op.Compacted = researchID, ktrdr.AgentResearch, ktrdr.Completed, false
	op.Spec, op.State, op.Result = text(t, spec), text(t, filled[research.PlanState](said)), text(t, result)
	look := filled[ktrdr.Look](said)
	look.Kind, look.Result = ktrdr.LookConfirmation, text(t, filled[research.Confirmation](said))
	backtest := filled[jobs.BacktestResult](said)
	backtest.Trades = 500 // more than a file shows
	talk := filled[agent.Conversation](said)
	talk.Talks[0].Type = ktrdr.AgentDesign
	l := &fakeLab{answers: map[string]any{
		"/api/v1/operations/" + string(researchID): op,
		"/api/v1/operations/" + string(researchID) + "/results": api.Results{
			Operation: researchID, Type: ktrdr.AgentResearch, Status: ktrdr.Completed, Results: op.Result, Trial: new(filled[ktrdr.Trial](said)),
			Looks: []ktrdr.Look{look}, Examination: new(filled[jobs.ExaminationResult](said)),
		},
		"/api/v1/memory/" + string(researchID) + "/conversation": talk,
		"/api/v1/memory/" + string(researchID):                   filled[research.ExperimentRow](said),
		"/api/v1/operations/" + string(trainingID) + "/inputs":   filled[jobs.Inputs](said),
	}}
	l.answers["/api/v1/report/panel"] = filled[report.Panel](said)
	var children []ktrdr.Operation
	for _, child := range []struct {
		id     ktrdr.OperationID
		kind   ktrdr.Type
		result any
	}{
		{trainingID, ktrdr.Training, filled[jobs.TrainingResult](said)},
		{backtestID, ktrdr.Backtesting, backtest},
		{assessmentID, ktrdr.AgentAssessment, filled[research.Assessment](said)},
	} {
		c := filled[ktrdr.Operation](said)
		c.ID, c.Type, c.Status, c.Parent = child.id, child.kind, ktrdr.Completed, researchID
		children = append(children, c)
		r := api.Results{Operation: c.ID, Type: c.Type, Status: c.Status, Results: text(t, child.result)}
		if c.Type == ktrdr.Backtesting {
			trade := filled[jobs.Trade](said)
			trade.Number = 1
			r.Trades = []jobs.Trade{trade}
		}
		l.answers["/api/v1/operations/"+string(c.ID)+"/results"] = r
		l.answers["/api/v1/checkpoints/"+string(c.ID)+"/history"] = []ktrdr.CheckpointInfo{}
	}
	l.answers["/api/v1/operations"] = func(r *http.Request) any {
		if r.URL.Query().Get("parent") != "" {
			return children
		}
		return []ktrdr.Operation{op}
	}
	return l
}

func TestStrategyFile_IsInertAndHasEveryPart(t *testing.T) {
	var out bytes.Buffer
	if err := page.WriteStrategy(t.Context(), strategyLab(t, payload).config(t), &out, "aaaaaaaa"); err != nil {
		t.Fatal(err)
	}
	checkInert(t, out.String())
	for _, id := range []string{
		"verdict", "examination", "changes", "candles", "fuzzy", "trades", "panel", "file", "talk", "time",
		"reproduce",
	} {
		if !strings.Contains(out.String(), ` id="`+id+`"`) {
			t.Errorf("the part %q is not in the file", id)
		}
	}
	for _, text := range []string{"This part is missing", "Loading", "Next 25", "Next ▸", "Download", "Retry"} {
		if strings.Contains(out.String(), text) {
			t.Errorf("the file says %q", text)
		}
	}
}

func TestDownload_FilesOfAStrategy(t *testing.T) {
	for file, want := range map[string]string{
		"aaaaaaaa.html": "Edge claimed", "aaaaaaaa.json": `"verdict": {`, "aaaaaaaa.csv": "symbol,entry_time,", "aaaaaaaa.yaml": "=1+1",
	} {
		w := get(t, strategyLab(t, "=1+1"), "/export/"+file, ktrdr.ScopeRead)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d without %q: %.300s", file, w.Code, want, w.Body)
		}
		if got := w.Header().Get("Content-Disposition"); got != "attachment; filename=ktrdr-"+file {
			t.Errorf("%s: saved as %q", file, got)
		}
		if strings.HasSuffix(file, ".csv") && strings.Contains(w.Body.String(), ",=1") {
			t.Errorf("a cell of the CSV is a formula: %s", w.Body)
		}
	}
}

func TestStrategyFile_IsSmallAfterALongConversation(t *testing.T) {
	l := strategyLab(t, payload)
	talk := filled[agent.Conversation](payload)
	turn := talk.Talks[0].Turns[0]
	turn.Text = strings.Repeat("a long answer of a model ", 200)
	for range 300 {
		talk.Talks[0].Turns = append(talk.Talks[0].Turns, turn)
	}
	l.answers["/api/v1/memory/"+string(researchID)+"/conversation"] = talk
	var out bytes.Buffer
	if err := page.WriteStrategy(t.Context(), l.config(t), &out, "aaaaaaaa"); err != nil {
		t.Fatal(err)
	}
	if out.Len() > page.MaxFile || !strings.Contains(out.String(), "conversations and some rows of tables are left out") {
		t.Errorf("%d bytes, want at most %d, and that it is said what is left out", out.Len(), page.MaxFile)
	}
	checkInert(t, out.String()) // and no link leads to a part that is left out
	if !strings.Contains(out.String(), ` id="trades"`) {
		t.Error("the trades are left out, too")
	}
}
