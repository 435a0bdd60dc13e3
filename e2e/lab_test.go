package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// lab is an installation with bars to research, and a client of its backend.
type lab struct {
	*labtest.Lab
	t      *testing.T
	client *client.Client
}

func newLab(t *testing.T, kind labtest.StoreKind, times labtest.Times) *lab {
	t.Helper()
	l := &lab{Lab: labtest.New(t, kind, times), t: t}
	l.client = l.Client()
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "2", "--edge", "0.3")
	return l
}

// must runs a command that has to succeed and returns what it printed.
func (l *lab) must(args ...string) string {
	l.t.Helper()
	said, code := l.Command(args...)
	if code != 0 {
		l.t.Fatalf("ktrdr %s: exit %d\n%s", strings.Join(args, " "), code, said)
	}
	return said
}

// trigger starts a research that no gate stops.
func (l *lab) trigger(brief string) ktrdr.OperationID {
	l.t.Helper()
	return l.ask(research.Request{Brief: brief, BypassGates: true, Force: true})
}

func (l *lab) ask(r research.Request) ktrdr.OperationID {
	l.t.Helper()
	made, err := l.client.Trigger(l.t.Context(), r, "")
	if err != nil {
		l.t.Fatalf("trigger %q: %v", r.Brief, err)
	}
	return made.Operation
}

// eventually waits for what follows a transition that is already seen: logs and
// counters come after the commit.
func (l *lab) eventually(what string, ok func() bool) {
	l.t.Helper()
	labtest.Eventually(l.t, 30*time.Second, what, ok)
}

// logs waits until a process has logged a line with all the parts.
func (l *lab) logs(p *labtest.Process, parts ...string) {
	l.t.Helper()
	l.eventually(fmt.Sprintf("a line with %q in the log", parts), func() bool {
		return slices.ContainsFunc(strings.Split(p.Log(), "\n"), func(line string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
		})
	})
}

// held waits until the newest child of a type is kept by an injection. A claim
// alone does not tell that its answer has arrived; a heartbeat does.
func (l *lab) held(id ktrdr.OperationID, child ktrdr.Type) ktrdr.Operation {
	l.t.Helper()
	var held ktrdr.Operation
	l.Until(id, time.Minute, "in the hands of "+string(child), func(op ktrdr.Operation) bool {
		if op.Status.Terminal() {
			l.t.Fatalf("%s ended %s (%s) before its %s was held", id, op.Status, op.ErrorMessage, child)
		}
		of := l.childrenOf(id, child)
		if len(of) == 0 {
			return false
		}
		held = of[len(of)-1]
		return held.Status == ktrdr.Running && held.HeartbeatAt.After(held.ClaimedAt)
	})
	return held
}

// childrenOf returns the children of a type, in their order.
func (l *lab) childrenOf(id ktrdr.OperationID, t ktrdr.Type) []ktrdr.Operation {
	l.t.Helper()
	return slices.DeleteFunc(l.Children(id), func(op ktrdr.Operation) bool { return op.Type != t })
}

// phases are the children of a research that nothing disturbed.
var phases = []ktrdr.Type{ktrdr.AgentDesign, ktrdr.Training, ktrdr.Backtesting, ktrdr.AgentAssessment}

// completes waits for a research to complete with exactly these children. Each
// of them is one attempt; those that were given up on the way are among them.
func (l *lab) completes(id ktrdr.OperationID, want ...ktrdr.Type) research.Result {
	l.t.Helper()
	op := l.Ends(id, ktrdr.Completed)
	var kinds []ktrdr.Type
	for _, c := range l.Children(id) {
		kinds = append(kinds, c.Type)
	}
	if !slices.Equal(kinds, want) {
		l.t.Errorf("%s has children %v, want %v", id, kinds, want)
	}
	result := decode[research.Result](l.t, op.Result)
	if op.Phase != string(research.Done) || result.Verdict == "" || result.ResultHash == (ktrdr.Hash{}) {
		l.t.Errorf("%s completed in phase %s with %+v", id, op.Phase, result)
	}
	return result
}

// checkpoint returns the newest checkpoint of a research and what it remembers.
func (l *lab) checkpoint(id ktrdr.OperationID) (ktrdr.Checkpoint, research.PlanState) {
	l.t.Helper()
	c, err := l.client.CheckpointAt(l.t.Context(), id, "")
	if err != nil {
		l.t.Fatalf("checkpoint of %s: %v", id, err)
	}
	return c, decode[research.PlanState](l.t, c.State)
}

func (l *lab) status() research.Status {
	l.t.Helper()
	st, err := l.client.ResearchStatus(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return st
}

// cancel cancels one research.
func (l *lab) cancel(id ktrdr.OperationID) {
	l.t.Helper()
	if _, err := l.client.CancelResearch(l.t.Context(), id, "enough"); err != nil {
		l.t.Fatal(err)
	}
}

// operations counts all there are, children too.
func (l *lab) operations() int {
	l.t.Helper()
	page, err := l.client.List(l.t.Context(), ktrdr.OperationQuery{Limit: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	return len(page.Operations)
}

// refusal is an answer that says no.
type refusal struct {
	Success bool `json:"success"`
	Error   struct {
		Code     ktrdr.Code      `json:"code"`
		Message  string          `json:"message"`
		Capacity *ktrdr.Capacity `json:"capacity"`
	} `json:"error"`
}

// post sends JSON as a program that is not ours does.
func (l *lab) post(path, body string) (int, refusal) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.client.URL()+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer refusal
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		l.t.Fatalf("POST %s: %d: %v", path, res.StatusCode, err)
	}
	return res.StatusCode, answer
}

func decode[T any](t *testing.T, text json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return v
}

// outcome is the name of the counter of researches that ended in one way.
func outcome(o research.Outcome) string { return fmt.Sprintf("ktrdr_research_total{outcome=%q}", o) }
