package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/resilience"
)

const (
	treeResearch = "op_agent_research_20261116_010203_aaaaaaaa"
	treeFailed   = "op_agent_research_20261116_010204_bbbbbbbb"
	treeTraining = "op_training_20261116_010203_aaaaaaaa"
	treeLook     = "op_agent_confirmation_20261116_010303_cccccccc"
)

// treeLab has a run with two researches. One has a training and a look at the
// holdout below it.
func treeLab(t *testing.T) *fakeLab {
	t.Helper()
	at := time.Date(2026, 11, 16, 1, 2, 3, 0, time.UTC)
	row := func(id string, kind ktrdr.Type, status ktrdr.Status, parent string) api.OperationRow {
		return api.OperationRow{
			ID: ktrdr.OperationID(id), Type: kind, Status: status, Parent: ktrdr.OperationID(parent), Run: "run_1", CreatedAt: at, CompletedAt: at,
		}
	}
	l := labOf("x")
	l.answers["/api/v1/operations"] = func(r *http.Request) any {
		switch q := r.URL.Query(); {
		case q.Get("parents") != "":
			if want := strings.Join([]string{treeLook, treeFailed, treeResearch}, ","); strings.Join(q["parents"], ",") != want {
				t.Errorf("the parts of %s are asked for, want %s", q["parents"], want)
			}
			return []api.OperationRow{row(treeTraining, ktrdr.Training, ktrdr.Completed, treeResearch)}
		case q.Get("roots") == "true":
			return []api.OperationRow{
				row(treeLook, ktrdr.AgentConfirm, ktrdr.Completed, ""), row(treeFailed, ktrdr.AgentResearch, ktrdr.Failed, ""),
				row(treeResearch, ktrdr.AgentResearch, ktrdr.Completed, ""),
			}
		}
		return []api.OperationRow{}
	}
	l.answers["/api/v1/looks"] = []ktrdr.Look{{Operation: treeLook, Research: treeResearch, ReservedAt: at, EndedAt: at}}
	l.answers["/api/v1/runs"] = []ktrdr.Run{{ID: "run_1", Goal: "trend", Planned: 8, RunCounts: ktrdr.RunCounts{Completed: 1, Failed: 1}}}
	l.answers["/api/v1/health"] = ktrdr.Health{Status: "ok"}
	l.answers["/api/v1/workers"] = []ktrdr.Worker{}
	l.answers["/api/v1/degradation"] = resilience.DegradationStatus{}
	l.answers["/api/v1/breakers/history"] = []ktrdr.BreakerChange{}
	return l
}

func TestOperations_ShowPartsBelowAndRunsAbove(t *testing.T) {
	w := get(t, treeLab(t), "/operations", ktrdr.ScopeAdmin)
	body := w.Body.String()
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, wrongIn(body))
	}
	last := 0
	for _, want := range []string{
		`href="/night?run=run_1"`, "trend", `width="25%"`, "2 of 8 researches ended", "<tr id=\"" + treeFailed + `">`,
		"<tr id=\"" + treeResearch + `">`, `<details id="of-aaaaaaaa"><summary`, "<tr id=\"" + treeTraining + `" class="part">`,
		"<tr id=\"" + treeLook + `" class="part">`,
	} {
		at := strings.Index(body, want)
		if at < last {
			t.Errorf("%s is at %d, want it after %d", want, at, last)
		}
		last = max(at, last)
	}
	if n := strings.Count(body, `<tr id="`+treeLook); n != 1 {
		t.Errorf("the look has %d rows, want the one below its research", n)
	}
	if n := strings.Count(body, "/night?run=run_1"); n != 1 {
		t.Errorf("the run has %d rows, want 1", n)
	}
}

func TestOperations_OfAFilterAreAFlatList(t *testing.T) {
	l := treeLab(t)
	l.answers["/api/v1/operations"] = func(r *http.Request) any {
		if q := r.URL.Query(); q.Has("parents") || q.Get("q") != "" && q.Has("roots") {
			t.Errorf("asked for %s, want a flat list", q.Encode())
		}
		return []api.OperationRow{{ID: treeTraining, Type: ktrdr.Training, Status: ktrdr.Completed, Parent: treeResearch}}
	}
	for _, q := range []url.Values{{"q": {"aaaa"}}, {"roots": {"1"}}} {
		body := get(t, l, "/operations?"+q.Encode(), ktrdr.ScopeRead).Body.String()
		if !strings.Contains(body, treeTraining) || strings.Contains(body, "<details") {
			t.Errorf("%s: no flat list", q.Encode())
		}
	}
}

// wrongIn is what a page says went wrong.
func wrongIn(body string) string {
	_, text, _ := strings.Cut(body, `role="alert">`)
	text, _, _ = strings.Cut(text, "<")
	return text
}
