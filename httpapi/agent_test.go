package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/report"

	"github.com/ktrdr/ktrdr/research"

	"github.com/ktrdr/ktrdr"
)

// fakeResearch answers as its functions do; the others it does not need.
type fakeResearch struct {
	Research
	trigger func(research.Request) (research.PlannedRun, error)
	rest    func(r research.Request, first json.RawMessage) (research.PlannedRun, error)
	memory  func(research.MemoryQuery) (research.MemoryPage, string, error)
	leaders func(report.LeaderboardQuery) (report.Leaderboard, error)
}

func (f *fakeResearch) Trigger(_ context.Context, r research.Request) (research.PlannedRun, error) {
	return f.trigger(r)
}

func (f *fakeResearch) Rest(r research.Request, first json.RawMessage) (research.PlannedRun, error) {
	return f.rest(r, first)
}

func (f *fakeResearch) Status(context.Context, int) (research.Status, error) {
	return research.Status{Status: "idle", Phase: "IDLE", Active: []research.Active{}, Workers: map[string]ktrdr.WorkerSlots{}}, nil
}

func (f *fakeResearch) Budget(context.Context) (research.BudgetStatus, error) {
	return research.BudgetStatus{Limit: 5, Spent: 2, Remaining: 3}, nil
}

func (f *fakeResearch) Memory(_ context.Context, q research.MemoryQuery) (research.MemoryPage, string, error) {
	return f.memory(q)
}

func (f *fakeResearch) Experiment(_ context.Context, id ktrdr.OperationID) (research.ExperimentRow, error) {
	return research.ExperimentRow{Operation: id, Note: json.RawMessage(`{"strategy_yaml":"x"}`)}, nil
}

func (f *fakeResearch) Conversation(_ context.Context, id ktrdr.OperationID) (agent.Conversation, error) {
	return agent.Conversation{Operation: id}, nil
}

func (f *fakeResearch) Leaderboard(_ context.Context, q report.LeaderboardQuery) (report.Leaderboard, error) {
	return f.leaders(q)
}

// ordered answers a trigger with n researches of a run.
func ordered(n int) func(research.Request) (research.PlannedRun, error) {
	return func(r research.Request) (research.PlannedRun, error) {
		run := r.Run
		if run == "" {
			run = "run_new"
		}
		o := research.PlannedRun{Run: run, Seed: 7, Understood: []string{"Research EURUSD."}}
		for range n {
			o.Operations = append(o.Operations, ktrdr.NewOperation{Type: ktrdr.AgentResearch})
		}
		return o, nil
	}
}

func TestTrigger_StartsWhatWasOrdered(t *testing.T) {
	seed := uint64(7)
	want := research.Request{
		Brief: "trend", Model: "builtin", BypassGates: true, Force: true, Count: 3, Seed: &seed, Symbols: []string{"EURUSD"}, Timeframe: "1h",
	}
	desk := &fakeResearch{trigger: func(r research.Request) (research.PlannedRun, error) {
		if !reflect.DeepEqual(r, want) {
			t.Errorf("request %+v, want %+v", r, want)
		}
		return ordered(3)(r)
	}}
	session := int64(40)
	engine := &fakeEngine{submit: func(op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
		if key.Key != "" {
			t.Errorf("key %q, want none", key.Key)
		}
		session++
		return ktrdr.Operation{ID: testOp, Type: op.Type, Session: session, Status: ktrdr.Pending}, nil
	}}
	st := serve(t, engine, func(c *Config) { c.Research = desk })
	a := st.send(t, http.MethodPost, "/api/v1/agent/trigger",
		`{"brief":"trend","model":"builtin","bypass_gates":true,"force":true,"count":3,"seed":7,"symbols":["EURUSD"],"timeframe":"1h"}`)
	var got research.Triggered
	mustData(t, a, http.StatusAccepted, &got)
	if got.Operation != testOp || got.Session != 41 || got.Status != ktrdr.Pending || got.Run != "run_new" || got.Seed != 7 ||
		len(got.Operations) != 3 || got.Operations[2].Session != 43 || len(got.Understood) != 1 {
		t.Errorf("answer %+v, want three researches and the first of them at the top", got)
	}
}

func TestTrigger_UnderAKeyCompletesWhatAnInterruptedRequestBegan(t *testing.T) {
	var runs []string
	desk := &fakeResearch{trigger: func(r research.Request) (research.PlannedRun, error) {
		runs = append(runs, r.Run)
		return ordered(3)(r)
	}, rest: func(r research.Request, first json.RawMessage) (research.PlannedRun, error) {
		o, err := ordered(3)(r)
		for i := range o.Operations {
			o.Operations[i].Spec = json.RawMessage(`{"after":` + string(first) + `}`)
		}
		return o, err
	}}
	made := map[string]ktrdr.Operation{}
	engine := &fakeEngine{submit: func(op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
		if was, ok := made[key.Key]; ok {
			return was, nil
		}
		if len(made) == 1 && len(runs) == 1 {
			return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeUnavailable, "the database is away")
		}
		made[key.Key] = ktrdr.Operation{ID: op.ID, Type: op.Type, Status: ktrdr.Pending, Queue: &ktrdr.QueuePlace{Run: runs[0]}, Spec: op.Spec}
		if len(made) == 1 {
			made[key.Key] = ktrdr.Operation{
				ID: op.ID, Type: op.Type, Status: ktrdr.Pending, Queue: &ktrdr.QueuePlace{Run: runs[0]}, Spec: json.RawMessage(`"the first"`),
			}
		}
		return made[key.Key], nil
	}}
	st := serve(t, engine, func(c *Config) { c.Research = desk })
	send := func() *answer {
		return st.send(t, http.MethodPost, "/api/v1/agent/trigger", `{"count":3}`, header("Idempotency-Key", "night"))
	}
	if a := send(); a.status != http.StatusServiceUnavailable || !strings.Contains(string(a.body), "1 of 3 researches") {
		t.Errorf("interrupted: %d %s, want 503 that says how far it came", a.status, a.body)
	}
	a := send()
	if a.status != http.StatusAccepted || a.header.Get(headerReplay) != "" || len(made) != 3 {
		t.Errorf("repeated: %d %s, %d made, want the third to be made", a.status, a.body, len(made))
	}
	for key, op := range made {
		if strings.HasSuffix(key, " night #2") && string(op.Spec) != `{"after":"the first"}` {
			t.Errorf("the third was made of %s, want it pinned as the first", op.Spec)
		}
	}
	b := send()
	if b.status != http.StatusAccepted || b.header.Get(headerReplay) != "true" || string(b.parsed.Data) != string(a.parsed.Data) ||
		len(made) != 3 {
		t.Errorf("once more: %d %s, want the same answer as a replay", b.status, b.body)
	}
	if runs[0] == "" || runs[0] != runs[1] || runs[1] != runs[2] {
		t.Errorf("runs %q, want one name", runs)
	}
}

func TestTrigger_RefusalsCreateNothing(t *testing.T) {
	full := ktrdr.AtCapacity(ktrdr.Capacity{Queue: "research", Active: 5, Limit: 5})
	for name, tc := range map[string]struct {
		desk, engine error
		body         string
		status       int
		code         ktrdr.Code
	}{
		"no data": {
			desk: ktrdr.Errorf(ktrdr.CodeInvalid, "there are no bars"), body: `{}`, status: http.StatusUnprocessableEntity, code: ktrdr.CodeInvalid,
		},
		"no room":          {engine: full, body: `{}`, status: http.StatusConflict, code: ktrdr.CodeAtCapacity},
		"an unknown field": {body: `{"goal":"x"}`, status: http.StatusBadRequest, code: ktrdr.CodeInvalid},
		"a broken seed":    {body: `{"seed":-1}`, status: http.StatusBadRequest, code: ktrdr.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			desk := &fakeResearch{trigger: func(r research.Request) (research.PlannedRun, error) {
				if tc.desk != nil {
					return research.PlannedRun{}, tc.desk
				}
				return ordered(1)(r)
			}}
			engine := &fakeEngine{submit: func(ktrdr.NewOperation, ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
				if tc.engine == nil {
					t.Error("something was submitted")
				}
				return ktrdr.Operation{}, tc.engine
			}}
			st := serve(t, engine, func(c *Config) { c.Research = desk })
			refusedWith(t, name, st.send(t, http.MethodPost, "/api/v1/agent/trigger", tc.body), "", tc.status, tc.code)
		})
	}
}

func TestCancelResearch_ReachesResearchesOnly(t *testing.T) {
	kind := ktrdr.AgentResearch
	cancelled := 0
	engine := &fakeEngine{
		operation: func(id ktrdr.OperationID) (ktrdr.Operation, error) {
			return ktrdr.Operation{ID: id, Type: kind, Status: ktrdr.Running}, nil
		},
		cancel: func(id ktrdr.OperationID, why string) (ktrdr.Operation, []ktrdr.OperationID, error) {
			cancelled++
			if why != "enough" {
				t.Errorf("reason %q, want enough", why)
			}
			return ktrdr.Operation{ID: id, Status: ktrdr.Running, CancelRequested: true}, []ktrdr.OperationID{id, "op_child"}, nil
		},
	}
	st := serve(t, engine, func(c *Config) { c.Research = &fakeResearch{} })
	path := "/api/v1/agent/cancel/" + string(testOp) + "?reason=enough"
	var got CancelReply
	mustData(t, st.send(t, http.MethodDelete, path, ""), http.StatusOK, &got)
	if !got.Requested || len(got.Children) != 1 {
		t.Errorf("answer %+v, want a request and one child", got)
	}
	kind = ktrdr.Training
	refusedWith(t, "a training", st.send(t, http.MethodDelete, path, ""), "", http.StatusUnprocessableEntity, ktrdr.CodeInvalid)
	if cancelled != 1 {
		t.Errorf("%d were cancelled, want the research only", cancelled)
	}
}

func TestMemory_IsReadInPagesOfAKind(t *testing.T) {
	var asked research.MemoryQuery
	var ranked report.LeaderboardQuery
	desk := &fakeResearch{
		memory: func(q research.MemoryQuery) (research.MemoryPage, string, error) {
			asked = q
			return research.MemoryPage{Kind: q.Kind, Counts: map[string]int64{}, Trials: []ktrdr.Trial{}}, "next", nil
		},
		leaders: func(q report.LeaderboardQuery) (report.Leaderboard, error) {
			ranked = q
			return report.Leaderboard{}, nil
		},
	}
	st := serve(t, &fakeEngine{run: ktrdr.Run{ID: "run_1"}}, func(c *Config) { c.Research = desk })
	a := st.send(t, http.MethodGet, "/api/v1/memory?kind=trials&run=run_1&limit=3&cursor=c", "")
	if asked != (research.MemoryQuery{Kind: "trials", Run: "run_1", Limit: 3, Cursor: "c"}) || a.parsed.Next != "next" {
		t.Errorf("asked %+v, next %q", asked, a.parsed.Next)
	}
	var lists map[string]json.RawMessage
	mustData(t, a, http.StatusOK, &lists)
	if string(lists["trials"]) != "[]" || lists["experiments"] != nil {
		t.Errorf("data %s, want the list that was asked for, also when it is empty", a.parsed.Data)
	}
	if st.send(t, http.MethodGet, "/api/v1/memory", ""); asked.Kind != "experiments" {
		t.Errorf("kind %q, want experiments where none is named", asked.Kind)
	}
	refusedWith(t, "unknown kind", st.send(t, http.MethodGet, "/api/v1/memory?kind=dreams", ""), "", http.StatusBadRequest, ktrdr.CodeInvalid)
	if a := st.send(t, http.MethodGet, "/api/v1/leaderboard", ""); !strings.Contains(string(a.parsed.Data), `"rows":[]`) ||
		ranked != (report.LeaderboardQuery{Limit: leaders}) {
		t.Errorf("leaderboard of %+v: %s", ranked, a.body)
	}
	st.send(t, http.MethodGet, "/api/v1/leaderboard?run=run_1&symbol=EURUSD&timeframe=1h&limit=3", "")
	if want := (report.LeaderboardQuery{Run: "run_1", Symbol: "EURUSD", Timeframe: "1h", Limit: 3}); ranked != want {
		t.Errorf("leaderboard of %+v, want %+v", ranked, want)
	}
	if a := st.send(t, http.MethodGet, "/api/v1/agent/budget", ""); !strings.Contains(string(a.parsed.Data), `"remaining_usd":3`) {
		t.Errorf("budget: %s", a.body)
	}
	if a := st.send(t, http.MethodGet, "/api/v1/agent/status", ""); !strings.Contains(string(a.parsed.Data), `"active_researches":[]`) {
		t.Errorf("status: %s", a.body)
	}
}
