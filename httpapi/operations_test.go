package httpapi

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/resilience"
)

// mustData decodes a success's data.
func mustData(t testing.TB, a *answer, status int, into any) {
	t.Helper()
	if a.status != status || a.parsed.Success == nil || !*a.parsed.Success || a.parsed.Error != nil {
		t.Fatalf("answer = %d %s, want %d and success", a.status, a.body, status)
	}
	if err := json.Unmarshal(a.parsed.Data, into); err != nil {
		t.Fatalf("data = %s: %v", a.parsed.Data, err)
	}
}

func TestErrors_EachCodeHasItsStatus(t *testing.T) {
	var next error
	st := serve(t, &fakeEngine{operation: func(ktrdr.OperationID) (ktrdr.Operation, error) { return ktrdr.Operation{}, next }})
	for code, status := range map[ktrdr.Code]int{
		ktrdr.CodeInvalid: 422, ktrdr.CodeNotFound: 404, ktrdr.CodeNoCheckpoint: 404,
		ktrdr.CodeConflict: 409, ktrdr.CodeStaleEpoch: 409, ktrdr.CodeKeyReused: 409, ktrdr.CodeMismatch: 409,
		ktrdr.CodeProtocol: 426, ktrdr.CodeUnauthorized: 401, ktrdr.CodeForbidden: 403, ktrdr.CodeTooLarge: 413,
		ktrdr.CodeUnavailable: 503, ktrdr.CodeUnknownResult: 503, ktrdr.CodeNoSpace: 507,
		ktrdr.CodeInternal: 500, ktrdr.CodeCorrupt: 500,
	} {
		next = ktrdr.Errorf(code, "a sentence about it")
		a := st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp), "")
		refusedWith(t, string(code), a, "", status, code)
		e := a.parsed.Error
		if e.Class != code.Class() || e.Severity != code.Severity() || e.Retryable != code.Retryable() {
			t.Errorf("%s: error = %+v, want the code's class, severity and retryable", code, e)
		}
		if (a.header.Get("Retry-After") != "") != (status == 503) {
			t.Errorf("%s: Retry-After = %q", code, a.header.Get("Retry-After"))
		}
	}
}

func TestErrors_WhatHappensInsideStaysInside(t *testing.T) {
	for name, err := range map[string]error{
		"an error of another package": errors.New("password authentication failed for hunter2"),
		"one of ours":                 ktrdr.Errorf(ktrdr.CodeInternal, "row 7 of hunter2 cannot be read"),
	} {
		t.Run(name, func(t *testing.T) {
			st := serve(t, &fakeEngine{operation: func(ktrdr.OperationID) (ktrdr.Operation, error) { return ktrdr.Operation{}, err }})
			a := st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp), "")
			refusedWith(t, name, a, "", http.StatusInternalServerError, ktrdr.CodeInternal)
			if strings.Contains(string(a.body), "hunter2") {
				t.Errorf("the client was told %s", a.body)
			}
			if !strings.Contains(st.logged.String(), "hunter2") {
				t.Error("the log does not have the details")
			}
		})
	}
}

func TestErrors_ATransitionTellsItsFacts(t *testing.T) {
	st := serve(t, &fakeEngine{finish: func(f ktrdr.Finished) error {
		return &ktrdr.TransitionError{
			ID: f.Operation, Input: ktrdr.Finish, From: ktrdr.Running, Epoch: 7, Given: f.Epoch, Code: ktrdr.CodeStaleEpoch,
		}
	}})
	a := st.send(t, http.MethodPost, "/api/v1/workers/finish", `{"operation_id":"`+string(testOp)+`","epoch":3,"outcome":"COMPLETED"}`)
	refusedWith(t, "stale", a, "", http.StatusConflict, ktrdr.CodeStaleEpoch)
	want := &api.Details{Operation: testOp, Status: ktrdr.Running, Epoch: 7, GivenEpoch: 3}
	if diff := cmp.Diff(want, a.parsed.Error.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

func TestServer_SurvivesAPanic(t *testing.T) {
	st := serve(t, &fakeEngine{operation: func(ktrdr.OperationID) (ktrdr.Operation, error) { panic("boom 4711") }})
	for range 3 {
		a := st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp), "")
		refusedWith(t, "panic", a, "", http.StatusInternalServerError, ktrdr.CodeInternal)
		if strings.Contains(string(a.body), "4711") {
			t.Errorf("the client was told %s", a.body)
		}
	}
	if log := st.logged.String(); !strings.Contains(log, "boom 4711") || !strings.Contains(log, "operations_test.go") {
		t.Error("the log lacks the panic or its stack")
	}
}

func TestServer_WhatJSONCannotHoldIsAFailure(t *testing.T) {
	st := serve(t, &fakeEngine{operation: func(ktrdr.OperationID) (ktrdr.Operation, error) {
		return ktrdr.Operation{
			ID: testOp, Spec: json.RawMessage(`{}`), Metadata: json.RawMessage(`{}`), Progress: ktrdr.Progress{Percentage: math.NaN()},
		}, nil
	}})
	a := st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp), "")
	refusedWith(t, "NaN", a, "", http.StatusInternalServerError, ktrdr.CodeInternal)
}

func TestOperations_QueriesReachTheEngineAsMeant(t *testing.T) {
	var got ktrdr.OperationQuery
	st := serve(t, &fakeEngine{list: func(q ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
		got = q
		return ktrdr.OperationPage{Next: "c2"}, nil
	}})
	a := st.send(t, http.MethodGet,
		"/api/v1/operations?status=running,FAILED&status=pending&type=DUMMY&active_only=1&resumable=true&roots=0&parent="+string(testOp)+
			"&sort=OLDEST&limit=7&cursor=c1", "")
	var data []ktrdr.Operation
	mustData(t, a, http.StatusOK, &data)
	if string(a.parsed.Data) != "[]" || a.parsed.Next != "c2" {
		t.Errorf("data = %s, next_cursor = %q, want [] and c2", a.parsed.Data, a.parsed.Next)
	}
	want := ktrdr.OperationQuery{
		Status: []ktrdr.Status{ktrdr.Running, ktrdr.Failed, ktrdr.Pending}, Type: []ktrdr.Type{ktrdr.Dummy},
		ActiveOnly: true, Resumable: true, Parent: testOp, Brief: true, Sort: ktrdr.Oldest, Limit: 7, Cursor: "c1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	for _, bad := range []string{
		"status=DONE", "sort=loudest", "type=nothing", "active_only=maybe", "limit=0", "limit=1001", "limit=-1", "limit=ten", "limit=1&limit=2",
		"parent=x", "parents=x", "Status=RUNNING", "cursor=" + strings.Repeat("x", 2000), "cursor=%00", "cursor=%ff", "limit=%zz", "a;b=1",
	} {
		refusedWith(t, bad, st.send(t, http.MethodGet, "/api/v1/operations?"+bad, ""), "", http.StatusBadRequest, ktrdr.CodeInvalid)
	}
}

func TestOperations_ASubmitIsKeyedByRouteTokenAndBody(t *testing.T) {
	byKey := map[string]ktrdr.Operation{}
	bodies := map[string]ktrdr.Hash{}
	st := serve(t, &fakeEngine{submit: func(op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
		made := ktrdr.Operation{ID: op.ID, Status: ktrdr.Pending}
		if op.ID == "" {
			made.ID = ktrdr.NewOperationID(op.Type, time.Now())
		}
		if key.Key == "" {
			return made, nil
		}
		if old, ok := byKey[key.Key]; ok {
			if bodies[key.Key] != key.Body {
				return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeKeyReused, "the key came with another body")
			}
			return old, nil
		}
		byKey[key.Key], bodies[key.Key] = made, key.Body
		return made, nil
	}})
	start := func(body string, options ...func(*http.Request)) *answer {
		return st.send(t, http.MethodPost, "/api/v1/dummy/start", body, options...)
	}
	var first, second, unkeyed api.Started
	key := header(api.HeaderKey, "key-1")
	mustData(t, start(`{"steps":1}`, key), http.StatusAccepted, &first)
	again := start(`{"steps":1}`, key)
	mustData(t, again, http.StatusAccepted, &second)
	if first.Operation != second.Operation || again.header.Get(api.HeaderReplay) != "true" {
		t.Errorf("again = %s, %s: %q, want %s and true", second.Operation, api.HeaderReplay, again.header.Get(api.HeaderReplay), first.Operation)
	}
	refusedWith(t, "other body", start(`{"steps":2}`, key), "", http.StatusConflict, ktrdr.CodeKeyReused)
	refusedWith(t, "other spelling", start(`{"steps": 1}`, key), "", http.StatusConflict, ktrdr.CodeKeyReused)
	plain := start(`{"steps":1}`)
	mustData(t, plain, http.StatusAccepted, &unkeyed)
	if unkeyed.Operation == first.Operation || plain.header.Get(api.HeaderReplay) != "" {
		t.Error("a request without a key was taken for a repetition")
	}
	secret, other := NewToken("other", ktrdr.ScopeAdmin)
	_ = st.engine.AddToken(t.Context(), other)
	var theirs api.Started
	mustData(t, start(`{"steps":1}`, key, header("Authorization", "Bearer "+secret.Reveal())), http.StatusAccepted, &theirs)
	if theirs.Operation == first.Operation {
		t.Error("one token got the answer to another's request")
	}
	for _, bad := range []string{strings.Repeat("k", 201), "with space", "tab\there", "ümlaut"} {
		refusedWith(t, bad, start(`{"steps":1}`, header(api.HeaderKey, bad)), "", http.StatusBadRequest, ktrdr.CodeInvalid)
	}
}

func TestOperations_ARetryIsKeyedByItsOperation(t *testing.T) {
	var keys []ktrdr.IdempotencyKey
	st := serve(t, &fakeEngine{retry: func(id ktrdr.OperationID, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
		keys = append(keys, key)
		return ktrdr.Operation{ID: testOp + "0", Status: ktrdr.Pending, RetryOf: id}, nil
	}})
	for _, id := range []ktrdr.OperationID{testOp, testOp + "1"} {
		var out api.Started
		a := st.send(t, http.MethodPost, "/api/v1/operations/"+string(id)+"/retry", "", header(api.HeaderKey, "k"))
		mustData(t, a, http.StatusAccepted, &out)
		if out.RetryOf != id {
			t.Errorf("retry_of = %s, want %s", out.RetryOf, id)
		}
	}
	if keys[0].Key == keys[1].Key {
		t.Error("one key stands for the retries of two operations")
	}
}

func TestOperations_AnswersHaveTheirShapes(t *testing.T) {
	checkpoint := ktrdr.CheckpointInfo{ID: "0000000001.0000000002", Type: ktrdr.CheckpointPeriodic, Epoch: 1, Seq: 2}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	op := ktrdr.Operation{
		ID: testOp, Type: ktrdr.Dummy, Status: ktrdr.Cancelled, Result: json.RawMessage(`{"hash":"x"}`), Checkpoint: &checkpoint,
		Spec: json.RawMessage(`{}`), Metadata: json.RawMessage(`{}`), Attempts: 2, StartedAt: began, CompletedAt: began.Add(90 * time.Second),
	}
	var reason string
	st := serve(t, &fakeEngine{
		operation: func(ktrdr.OperationID) (ktrdr.Operation, error) { return op, nil },
		cancel: func(id ktrdr.OperationID, why string) (ktrdr.Operation, []ktrdr.OperationID, error) {
			reason = why
			return op, []ktrdr.OperationID{id, id + "1"}, nil
		},
		resume: func(ktrdr.OperationID) (ktrdr.Operation, error) { return op, nil },
		list: func(q ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
			return ktrdr.OperationPage{Operations: []ktrdr.Operation{{ID: q.Parent + "1", Parent: q.Parent}}}, nil
		},
	})
	base := "/api/v1/operations/" + string(testOp)

	var cancelled api.CancelReply
	mustData(t, st.send(t, http.MethodDelete, base+"?reason=too+slow", ""), http.StatusOK, &cancelled)
	if diff := cmp.Diff(api.CancelReply{Operation: testOp, Status: ktrdr.Cancelled, Children: []ktrdr.OperationID{testOp + "1"}},
		cancelled); diff != "" || reason != "too slow" {
		t.Errorf("cancel, reason %q (-want +got):\n%s", reason, diff)
	}
	var resumed api.ResumeReply
	mustData(t, st.send(t, http.MethodPost, base+"/resume", ""), http.StatusOK, &resumed)
	if resumed.ResumedFrom == nil || resumed.ResumedFrom.ID != checkpoint.ID {
		t.Errorf("resumed_from = %+v, want %s", resumed.ResumedFrom, checkpoint.ID)
	}
	var results api.Results
	mustData(t, st.send(t, http.MethodGet, base+"/results", ""), http.StatusOK, &results)
	if string(results.Results) != `{"hash":"x"}` || results.Type != ktrdr.Dummy {
		t.Errorf("results = %+v", results)
	}
	var numbers api.OperationMetrics
	mustData(t, st.send(t, http.MethodGet, base+"/metrics", ""), http.StatusOK, &numbers)
	if numbers.RunningSeconds != 90 || numbers.Attempts != 2 {
		t.Errorf("metrics = %+v, want 90 s and 2 attempts", numbers)
	}
	var children []ktrdr.Operation
	mustData(t, st.send(t, http.MethodGet, base+"/children?limit=5", ""), http.StatusOK, &children)
	if len(children) != 1 || children[0].Parent != testOp {
		t.Errorf("children = %+v", children)
	}
}

func TestPause_SaysWhichWay(t *testing.T) {
	var calls []bool
	st := serve(t, &fakeEngine{setPaused: func(p bool) error { calls = append(calls, p); return nil }})
	for _, body := range []string{`{"paused":true}`, `{"paused":false}`} {
		var out api.Pause
		mustData(t, st.send(t, http.MethodPost, "/api/v1/pause", body), http.StatusOK, &out)
	}
	if !slices.Equal(calls, []bool{true, false}) {
		t.Errorf("calls = %v, want true, false", calls)
	}
	refusedWith(t, "neither", st.send(t, http.MethodPost, "/api/v1/pause", `{}`), "", http.StatusUnprocessableEntity, ktrdr.CodeInvalid)
}

func TestCheckpoints_AgesAreDays(t *testing.T) {
	var age time.Duration
	st := serve(t, &fakeEngine{
		cleanup: func(a time.Duration) (int, int, error) { age = a; return 3, 4, nil },
		checkAt: func(op ktrdr.OperationID, id string) (ktrdr.Checkpoint, error) {
			return ktrdr.Checkpoint{Operation: op, CheckpointInfo: ktrdr.CheckpointInfo{ID: id}, State: json.RawMessage(`{"step":1}`)}, nil
		},
	})
	for query, want := range map[string]time.Duration{"": 30 * 24 * time.Hour, "?max_age_days=0.5": 12 * time.Hour, "?max_age_days=0": 0} {
		var out api.CleanupReply
		mustData(t, st.send(t, http.MethodPost, "/api/v1/checkpoints/cleanup"+query, ""), http.StatusOK, &out)
		if age != want || out != (api.CleanupReply{Checkpoints: 3, Blobs: 4}) {
			t.Errorf("%q: age = %v, answer = %+v, want %v", query, age, out, want)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "-1", "1e300", ""} {
		refusedWith(t, bad, st.send(t, http.MethodPost, "/api/v1/checkpoints/cleanup?max_age_days="+bad, ""), "",
			http.StatusBadRequest, ktrdr.CodeInvalid)
	}
	var one ktrdr.Checkpoint
	mustData(t, st.send(t, http.MethodGet, "/api/v1/checkpoints/"+string(testOp)+"?id=7", ""), http.StatusOK, &one)
	if one.ID != "7" || string(one.State) != `{"step":1}` {
		t.Errorf("checkpoint = %+v", one)
	}
}

func TestHealth_IsBareAndTellsTheBalancer(t *testing.T) {
	up := true
	st := serve(t, &fakeEngine{health: func() ktrdr.Health {
		return ktrdr.Health{Status: "ok", Store: ktrdr.StoreHealth{OK: up}}
	}})
	a := st.send(t, http.MethodGet, "/api/v1/health", "", header("Authorization", ""))
	var h ktrdr.Health
	if err := json.Unmarshal(a.body, &h); err != nil || a.status != http.StatusOK || h.Status != "ok" || a.parsed.Success != nil {
		t.Errorf("health = %d %s, want 200 and a bare object", a.status, a.body)
	}
	up = false
	if a := st.send(t, http.MethodGet, "/api/v1/health", ""); a.status != http.StatusServiceUnavailable {
		t.Errorf("with the store away: status = %d, want 503", a.status)
	}
}

func TestHealth_ShowsTheDegradationLevelAndIsNotOkWhileOffline(t *testing.T) {
	f := &fakeResilience{}
	st := serve(t, &fakeEngine{health: func() ktrdr.Health {
		return ktrdr.Health{Status: "ok", Store: ktrdr.StoreHealth{OK: true}}
	}}, func(c *Config) { c.Resilience = f })
	for _, x := range []struct {
		level  resilience.Level
		status string
	}{{"FULL", "ok"}, {"DEGRADED", "ok"}, {"OFFLINE", "degraded"}} {
		f.level = x.level
		a := st.send(t, http.MethodGet, "/api/v1/health", "", header("Authorization", ""))
		var h ktrdr.Health
		if err := json.Unmarshal(a.body, &h); err != nil {
			t.Fatal(err)
		}
		if h.Degradation.Level != string(x.level) || h.Status != x.status || (h.Status == "ok") != (len(h.Problems) == 0) {
			t.Errorf("at level %s: %s, want status %s, and a problem unless it is ok", x.level, a.body, x.status)
		}
	}
}

func TestMetrics_ShowTheEngineAndTheServer(t *testing.T) {
	st := serve(t, &fakeEngine{})
	st.send(t, "BREW", "/api/v1/teapot?x=1", "")
	for _, path := range []string{"/metrics", "/api/v1/metrics"} {
		text := string(st.send(t, http.MethodGet, path, "").body)
		for _, want := range []string{
			`ktrdr_operations{status="RUNNING",type="dummy"} 2`, "ktrdr_orphans_total 3", "ktrdr_writes_refused_total 5",
			"ktrdr_heartbeats_lost_total 7",
			"ktrdr_workers_live 4", "ktrdr_potential_orphans 0", "ktrdr_heartbeat_lateness_seconds 1.5", "go_goroutines",
			`ktrdr_waiting_operations{type="training"} 0`, `ktrdr_waiting_operations{type="dummy"} 3`,
			`ktrdr_waiting_oldest_seconds{type="dummy"} 90`,
			`ktrdr_wanted_slots{type="training"} 0`, `ktrdr_wanted_slots{type="dummy"} 5`,
			`ktrdr_http_requests_total{code="404",method="other",route="unmatched"} 1`, "ktrdr_http_request_seconds_count",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %s", path, want)
			}
		}
	}
}
