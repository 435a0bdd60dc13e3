package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

const testRun = "run_0123456789abcdef"

// setRun changes the run, as a committed transaction would.
func (f *fakeEngine) setRun(r ktrdr.Run) {
	f.mu.Lock()
	f.run = r
	f.mu.Unlock()
	f.happen(ktrdr.Event{Kind: ktrdr.EventCompleted, Operation: testOp})
}

func (f *fakeEngine) FindRun(_ context.Context, id string) (ktrdr.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runReads++
	if id != f.run.ID && (!f.shortRuns || !strings.HasPrefix(f.run.ID, id)) {
		return ktrdr.Run{}, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no run %q", id)
	}
	return f.run, nil
}

func (f *fakeEngine) Runs(_ context.Context, q ktrdr.RunQuery) (ktrdr.RunPage, error) {
	return f.runs(q)
}

func (f *fakeEngine) CancelRun(_ context.Context, id, by, reason string) (ktrdr.Run, error) {
	return f.cancelRun(id, by, reason)
}

func (f *fakeEngine) Looks(_ context.Context, q ktrdr.LookQuery) (ktrdr.LookPage, error) {
	return f.looks(q)
}

// LookOf and Trials know of nothing unless a test says so: every result is asked
// for its row in the ledger.
func (f *fakeEngine) LookOf(_ context.Context, op ktrdr.OperationID) (ktrdr.Look, error) {
	if f.lookOf == nil {
		return ktrdr.Look{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no look of %s", op)
	}
	return f.lookOf(op)
}

func (f *fakeEngine) Trials(_ context.Context, q ktrdr.TrialQuery) (ktrdr.TrialPage, error) {
	if f.trials == nil {
		return ktrdr.TrialPage{}, nil
	}
	return f.trials(q)
}

func TestRuns_AreReadInPagesOfAState(t *testing.T) {
	var asked ktrdr.RunQuery
	engine := &fakeEngine{runs: func(q ktrdr.RunQuery) (ktrdr.RunPage, error) {
		asked = q
		return ktrdr.RunPage{Next: "next"}, nil
	}}
	st := serve(t, engine)
	a := st.send(t, http.MethodGet, "/api/v1/runs?state=running,given_up&state=CANCELLED&limit=7&cursor=c", "")
	want := ktrdr.RunQuery{State: []ktrdr.RunState{ktrdr.RunRunning, ktrdr.RunGivenUp, ktrdr.RunCancelled}, Limit: 7, Cursor: "c"}
	if !reflect.DeepEqual(asked, want) || string(a.parsed.Data) != "[]" || a.parsed.Next != "next" {
		t.Errorf("asked %+v, answered %s, want %+v and an empty list", asked, a.body, want)
	}
	refusedWith(t, "unknown state", st.send(t, http.MethodGet, "/api/v1/runs?state=asleep", ""), "", http.StatusBadRequest, ktrdr.CodeInvalid)
	refusedWith(t, "limit too large", st.send(t, http.MethodGet, "/api/v1/runs?limit=1001", ""), "", http.StatusBadRequest, ktrdr.CodeInvalid)
	refusedWith(t, "unknown run", st.send(t, http.MethodGet, "/api/v1/runs/run_1", ""), "", http.StatusNotFound, ktrdr.CodeNotFound)
}

func TestRuns_ACancelNamesTheToken(t *testing.T) {
	var said []string
	engine := &fakeEngine{run: ktrdr.Run{ID: testRun}, cancelRun: func(id, by, reason string) (ktrdr.Run, error) {
		said = []string{id, by, reason}
		return ktrdr.Run{ID: id, State: ktrdr.RunCancelled, CancelledBy: by, CancelReason: reason}, nil
	}}
	st := serve(t, engine)
	var run ktrdr.Run
	mustData(t, st.send(t, http.MethodDelete, "/api/v1/runs/"+testRun+"?reason=enough", ""), http.StatusOK, &run)
	if want := []string{testRun, "test", "enough"}; !slices.Equal(said, want) || run.State != ktrdr.RunCancelled {
		t.Errorf("cancelled with %q, want %q; answered %+v", said, want, run)
	}
	refusedWith(t, "long reason", st.send(t, http.MethodDelete, "/api/v1/runs/"+testRun+"?reason="+strings.Repeat("x", 500+1), ""), "",
		http.StatusBadRequest, ktrdr.CodeInvalid)

	open := serve(t, engine, func(c *Config) { c.Auth = false })
	mustData(t, open.send(t, http.MethodDelete, "/api/v1/runs/"+testRun, ""), http.StatusOK, &run)
	if run.CancelledBy != "no token" {
		t.Errorf("without tokens it was cancelled by %q, want that it says so", run.CancelledBy)
	}
}

func TestLooks_AreFiltered(t *testing.T) {
	var asked ktrdr.LookQuery
	engine := &fakeEngine{run: ktrdr.Run{ID: testRun}, looks: func(q ktrdr.LookQuery) (ktrdr.LookPage, error) {
		asked = q
		return ktrdr.LookPage{Looks: []ktrdr.Look{{Key: "k", Before: 3}}, Next: "next"}, nil
	}}
	st := serve(t, engine)
	path := "/api/v1/looks?run=" + testRun + "&market=mkt_1&research=" + string(testOp) + "&claims=true&limit=2&cursor=c"
	var looks []ktrdr.Look
	a := st.send(t, http.MethodGet, path, "")
	mustData(t, a, http.StatusOK, &looks)
	want := ktrdr.LookQuery{Run: testRun, Market: "mkt_1", Research: testOp, Claims: true, Limit: 2, Cursor: "c"}
	if asked != want || len(looks) != 1 || looks[0].Before != 3 || a.parsed.Next != "next" {
		t.Errorf("asked %+v, want %+v; answered %s", asked, want, a.body)
	}
	refusedWith(t, "no operation", st.send(t, http.MethodGet, "/api/v1/looks?research=x", ""), "", http.StatusBadRequest, ktrdr.CodeInvalid)
}

// The stream sends the row at once and again when it has changed, and ends with
// the run. Events that do not change the row send nothing.
func TestRunEvents_SendTheRowWheneverItHasChanged(t *testing.T) {
	st := serve(t, &fakeEngine{})
	run := ktrdr.Run{ID: testRun, State: ktrdr.RunRunning}
	st.engine.setRun(run)
	r := st.open(t, "/api/v1/runs/"+testRun+"/events")
	row := func() (got ktrdr.Run) {
		t.Helper()
		e, ok := r.next()
		if !ok || e.kind != api.EventRun {
			t.Fatalf("%+v, %v, want a row", e, ok)
		}
		if err := json.Unmarshal([]byte(e.data), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := row(); got.Created != 0 || got.State != ktrdr.RunRunning {
		t.Errorf("first %+v, want the row as it is", got)
	}
	st.engine.happen(event(ktrdr.EventClaimed))
	for deadline := time.Now().Add(10 * time.Second); st.engine.reads() < 2; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("an event did not make the stream read the row")
		}
	}
	run.Created, run.Open = 8, 8
	st.engine.setRun(run)
	if got := row(); got.Created != 8 {
		t.Errorf("then %+v, want the row with its researches", got)
	}
	run.State, run.Open, run.Claims, run.EndedAt = ktrdr.RunCompleted, 0, 1, time.Date(2026, 11, 15, 7, 0, 0, 0, time.UTC)
	st.engine.setRun(run)
	if got := row(); got.Claims != 1 || got.EndedAt.IsZero() {
		t.Errorf("last %+v, want the row as it ended", got)
	}
	if e, ok := r.next(); !ok || e.kind != api.EventEnd {
		t.Errorf("after the end %+v, %v, want an event that says so", e, ok)
	}
	if e, ok := r.next(); ok {
		t.Errorf("and then %+v, want the stream to be over", e)
	}
	if n := st.engine.reads(); n > 5 {
		t.Errorf("the row was read %d times for 3 changes, want one read for each hint", n)
	}
}

func (f *fakeEngine) reads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runReads
}

func TestRunEvents_AReaderOfJSONGetsTheRowOnce(t *testing.T) {
	st := serve(t, &fakeEngine{})
	st.engine.setRun(ktrdr.Run{ID: testRun, State: ktrdr.RunRunning, Goal: "trend"})
	var run ktrdr.Run
	mustData(t, st.send(t, http.MethodGet, "/api/v1/runs/"+testRun+"/events", "", header("Accept", api.ContentJSON)), http.StatusOK, &run)
	if run.Goal != "trend" {
		t.Errorf("got %+v, want the row", run)
	}
	refusedWith(t, "unknown run", st.send(t, http.MethodGet, "/api/v1/runs/run_0/events", ""), "", http.StatusNotFound, ktrdr.CodeNotFound)
}

func TestClient_FollowsARunThroughBrokenConnections(t *testing.T) {
	st := serve(t, &fakeEngine{})
	run := ktrdr.Run{ID: testRun, State: ktrdr.RunRunning}
	st.engine.setRun(run)
	var created []int
	for r, err := range newClient(t, st, ktrdr.ScopeAdmin).FollowRun(t.Context(), testRun) {
		if err != nil {
			t.Fatal(err)
		}
		if n := len(created); n > 0 && created[n-1] == r.Created {
			continue // the row again, on a new connection
		}
		created = append(created, r.Created)
		switch len(created) {
		case 1:
			st.cut()
			run.Created = 1
		case 2:
			run.Created, run.EndedAt = 2, time.Now()
		}
		st.engine.setRun(run)
	}
	if want := []int{0, 1, 2}; !slices.Equal(created, want) {
		t.Errorf("followed %v, want %v", created, want)
	}
}

func TestClient_CarriesRunsAndLooks(t *testing.T) {
	engine := &fakeEngine{
		run: ktrdr.Run{ID: testRun, Goal: "trend"},
		runs: func(q ktrdr.RunQuery) (ktrdr.RunPage, error) {
			return ktrdr.RunPage{Runs: []ktrdr.Run{{ID: testRun, State: q.State[0], Size: q.Limit, Goal: q.Cursor}}, Next: "more"}, nil
		},
		cancelRun: func(id, _, reason string) (ktrdr.Run, error) {
			return ktrdr.Run{ID: id, CancelReason: reason}, nil
		},
		looks: func(q ktrdr.LookQuery) (ktrdr.LookPage, error) {
			text, err := json.Marshal(q)
			return ktrdr.LookPage{Looks: []ktrdr.Look{{Key: string(text)}}}, err
		},
	}
	st := serve(t, engine)
	c := newClient(t, st, ktrdr.ScopeAdmin)
	ctx := t.Context()
	if run, err := c.Run(ctx, testRun); err != nil || run.Goal != "trend" {
		t.Errorf("run %+v, %v", run, err)
	}
	if _, err := c.Run(ctx, "run_0"); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		t.Errorf("an unknown run: %v, want CodeNotFound", err)
	}
	page, err := c.Runs(ctx, ktrdr.RunQuery{State: []ktrdr.RunState{ktrdr.RunCancelled}, Limit: 3, Cursor: "at"})
	if err != nil || page.Next != "more" || page.Runs[0].State != ktrdr.RunCancelled || page.Runs[0].Size != 3 || page.Runs[0].Goal != "at" {
		t.Errorf("runs %+v, %v", page, err)
	}
	if run, err := c.CancelRun(ctx, testRun, "why not"); err != nil || run.CancelReason != "why not" {
		t.Errorf("cancelled %+v, %v", run, err)
	}
	q := ktrdr.LookQuery{Run: testRun, Market: "mkt", Research: testOp, Claims: true, Limit: 5, Cursor: "c"}
	want, _ := json.Marshal(q)
	if looks, err := c.Looks(ctx, q); err != nil || looks.Looks[0].Key != string(want) {
		t.Errorf("looks %+v, %v, want the query %s", looks, err, want)
	}
}

func TestResults_ShowTheRowOfTheLedgerAndTheLooks(t *testing.T) {
	op := ktrdr.Operation{ID: testOp, Status: ktrdr.Completed}
	engine := &fakeEngine{
		operation: func(ktrdr.OperationID) (ktrdr.Operation, error) { return op, nil },
		trials: func(q ktrdr.TrialQuery) (ktrdr.TrialPage, error) {
			if !slices.Equal(q.Of, []ktrdr.OperationID{testOp}) {
				t.Errorf("asked for %+v, want the operation", q)
			}
			return ktrdr.TrialPage{Trials: []ktrdr.Trial{{Market: "mkt", MarketTrials: 9, MarketLooks: 2}}}, nil
		},
		looks: func(q ktrdr.LookQuery) (ktrdr.LookPage, error) {
			return ktrdr.LookPage{Looks: []ktrdr.Look{{Key: "of " + string(q.Research)}}}, nil
		},
		lookOf: func(id ktrdr.OperationID) (ktrdr.Look, error) { return ktrdr.Look{Key: "by " + string(id)}, nil },
	}
	st := serve(t, engine)
	for name, c := range map[string]struct {
		kind   ktrdr.Type
		parent ktrdr.OperationID
		trials bool
		look   string
	}{
		"a research":            {ktrdr.AgentResearch, "", true, "of " + string(testOp)},
		"a confirmation":        {ktrdr.AgentConfirm, "", true, "by " + string(testOp)},
		"a backtest by hand":    {ktrdr.Backtesting, "", true, "by " + string(testOp)},
		"a part of a research":  {ktrdr.Backtesting, "op_parent", false, ""},
		"no trial of any kind":  {ktrdr.Dummy, "", false, ""},
		"a training by a model": {ktrdr.Training, "op_parent", false, ""},
	} {
		op.Type, op.Parent = c.kind, c.parent
		var r api.Results
		mustData(t, st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp)+"/results", ""), http.StatusOK, &r)
		look := ""
		if len(r.Looks) > 0 {
			look = r.Looks[0].Key
		}
		if (r.Trial != nil) != c.trials || look != c.look || c.trials && r.Trial.MarketTrials != 9 {
			t.Errorf("%s: trial %+v and look %q, want a trial: %v, and %q", name, r.Trial, look, c.trials, c.look)
		}
	}
}
