package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy"
)

// fakeResearch answers as its functions do; the others it does not need.
type fakeResearch struct {
	Research
	start   func(research.Request, ktrdr.IdempotencyKey) (research.Triggered, error)
	memory  func(research.MemoryQuery) (research.MemoryPage, string, error)
	leaders func(report.LeaderboardQuery) (report.Leaderboard, error)
}

func (f *fakeResearch) Ladder(context.Context, ktrdr.Operation) (*research.Ladder, error) {
	return nil, nil
}

func (f *fakeResearch) Start(_ context.Context, r research.Request, key ktrdr.IdempotencyKey) (research.Triggered, error) {
	return f.start(r, key)
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

func TestTrigger_AsksTheDesk(t *testing.T) {
	seed := uint64(7)
	want := research.Request{
		Brief: "trend", Model: "builtin", BypassGates: true, Force: true, Count: 3, Seed: &seed, Symbols: []string{"EURUSD"}, Timeframe: "1h",
	}
	desk := &fakeResearch{start: func(r research.Request, key ktrdr.IdempotencyKey) (research.Triggered, error) {
		if !reflect.DeepEqual(r, want) {
			t.Errorf("request %+v, want %+v", r, want)
		}
		return research.Triggered{Operation: testOp, Run: "run_1", Replayed: strings.HasSuffix(key.Key, " again")}, nil
	}}
	st := serve(t, &fakeEngine{}, func(c *Config) { c.Research = desk })
	for key, replay := range map[string]string{"": "", "first": "", "again": "true"} {
		var with []func(*http.Request)
		if key != "" {
			with = append(with, header(api.HeaderKey, key))
		}
		a := st.send(t, http.MethodPost, "/api/v1/agent/trigger",
			`{"brief":"trend","model":"builtin","bypass_gates":true,"force":true,"count":3,"seed":7,"symbols":["EURUSD"],"timeframe":"1h"}`, with...)
		var got research.Triggered
		mustData(t, a, http.StatusAccepted, &got)
		if got.Operation != testOp || got.Run != "run_1" || a.header.Get(api.HeaderReplay) != replay {
			t.Errorf("key %q: answer %+v, %s %q", key, got, api.HeaderReplay, a.header.Get(api.HeaderReplay))
		}
	}
}

func TestTrigger_OfADryRunIsAnsweredWithoutAnOperation(t *testing.T) {
	desk := &fakeResearch{start: func(r research.Request, _ ktrdr.IdempotencyKey) (research.Triggered, error) {
		if !r.DryRun {
			t.Error("it is no dry run any more")
		}
		return research.Triggered{Operations: []research.TriggeredResearch{}, Preview: &research.Preview{Count: 3}}, nil
	}}
	st := serve(t, &fakeEngine{}, func(c *Config) { c.Research = desk })
	var got research.Triggered
	mustData(t, st.send(t, http.MethodPost, "/api/v1/agent/trigger", `{"brief":"trend","dry_run":true}`), http.StatusOK, &got)
	if got.Preview == nil || got.Preview.Count != 3 || len(got.Operations) != 0 {
		t.Errorf("answer %+v", got)
	}
}

func TestValidate_SaysWhatIsWrongAndWhere(t *testing.T) {
	st := serve(t, &fakeEngine{}, func(c *Config) { c.Desk = &fakeDesk{} })
	var got strategy.Validation
	mustData(t, st.send(t, http.MethodPost, "/api/v1/strategies/validate", `{"strategy_yaml":"name: x\nunknown: {}\n"}`), http.StatusOK, &got)
	if got.Valid || len(got.Problems) == 0 || got.Problems[0].Line == 0 || got.Strategy != nil {
		t.Errorf("answer %+v, want problems with their lines", got)
	}
	example := strategy.Examples()[0]
	body, err := json.Marshal(api.ValidateRequest{Strategy: string(example.Source)})
	if err != nil {
		t.Fatal(err)
	}
	mustData(t, st.send(t, http.MethodPost, "/api/v1/strategies/validate", string(body)), http.StatusOK, &got)
	if !got.Valid || got.Strategy == nil || len(got.Strategy.Features) == 0 {
		t.Errorf("%s: %+v, want the facts of a valid strategy", example.Name, got)
	}
}

func TestCompare_TakesIDsWithCommasOrOneByOne(t *testing.T) {
	desk := &comparing{fakeResearch: &fakeResearch{}}
	st := serve(t, &fakeEngine{}, func(c *Config) { c.Research = desk })
	for _, query := range []string{"ids=aaaa,bbbb", "ids=aaaa&ids=bbbb"} {
		var got report.Compared
		mustData(t, st.send(t, http.MethodGet, "/api/v1/compare?"+query, ""), http.StatusOK, &got)
		if got.Trials != 7 || strings.Join(desk.ids, " ") != "aaaa bbbb" {
			t.Errorf("%s: %v compared, answer %+v", query, desk.ids, got)
		}
	}
	refusedWith(t, "one", st.send(t, http.MethodGet, "/api/v1/compare?ids=a", ""), "", http.StatusBadRequest, ktrdr.CodeInvalid)
}

type comparing struct {
	*fakeResearch
	ids []string
}

func (c *comparing) Compare(_ context.Context, ids []string) (report.Compared, error) {
	if c.ids = ids; len(ids) < report.FewestCompared {
		return report.Compared{}, ktrdr.Errorf(ktrdr.CodeInvalid, "too few")
	}
	return report.Compared{Trials: 7}, nil
}

func TestTrigger_SaysWhatIsWrong(t *testing.T) {
	full := ktrdr.AtCapacity(ktrdr.Capacity{Queue: "research", Active: 5, Limit: 5})
	for name, tc := range map[string]struct {
		desk   error
		body   string
		status int
		code   ktrdr.Code
	}{
		"no data": {
			desk: ktrdr.Errorf(ktrdr.CodeInvalid, "there are no bars"), body: `{}`, status: http.StatusUnprocessableEntity, code: ktrdr.CodeInvalid,
		},
		"no room":          {desk: full, body: `{}`, status: http.StatusConflict, code: ktrdr.CodeAtCapacity},
		"an unknown field": {body: `{"goal":"x"}`, status: http.StatusBadRequest, code: ktrdr.CodeInvalid},
		"a broken seed":    {body: `{"seed":-1}`, status: http.StatusBadRequest, code: ktrdr.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			desk := &fakeResearch{start: func(research.Request, ktrdr.IdempotencyKey) (research.Triggered, error) {
				if tc.desk == nil {
					t.Error("the desk was asked")
				}
				return research.Triggered{}, tc.desk
			}}
			st := serve(t, &fakeEngine{}, func(c *Config) { c.Research = desk })
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
	var got api.CancelReply
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
