package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// TestLists_RowsAreSmallWhateverTheyStandFor fills an operation and a run with all
// that they can hold. A row keeps to a few hundred bytes; the answer about one has
// the rest.
func TestLists_RowsAreSmallWhateverTheyStandFor(t *testing.T) {
	yaml := json.RawMessage(`{"strategy_yaml":"` + strings.Repeat("YAML ", 4000) + `"}`)
	at := time.Date(2026, 1, 14, 22, 0, 0, 0, time.UTC)
	long := strings.Repeat("ä", 5000)
	op := ktrdr.Operation{
		ID: testOp, Root: testOp, Type: ktrdr.AgentResearch, Status: ktrdr.Failed, Phase: "TRAINING", Spec: yaml, State: yaml, Metadata: yaml,
		Result: yaml,
		Run:    testRun, Session: 7, Progress: ktrdr.Progress{Percentage: 40, CurrentStep: "training", Context: yaml}, ErrorMessage: long,
		Error: ktrdr.NewFailure(ktrdr.CodeOrphaned, ktrdr.Errorf(ktrdr.CodeOrphaned, "%s", long)), CreatedAt: at, StartedAt: at, CompletedAt: at,
		Checkpoint: &ktrdr.CheckpointInfo{ID: "c"},
	}
	run := ktrdr.Run{ID: testRun, Goal: long, Request: yaml, State: ktrdr.RunCompleted, CreatedAt: at, EndedAt: at, Size: 8, Planned: 3}
	st := serve(t, &fakeEngine{
		run:       run,
		operation: func(ktrdr.OperationID) (ktrdr.Operation, error) { return op, nil },
		list: func(ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
			return ktrdr.OperationPage{Operations: []ktrdr.Operation{op}}, nil
		},
		runs: func(ktrdr.RunQuery) (ktrdr.RunPage, error) { return ktrdr.RunPage{Runs: []ktrdr.Run{run}}, nil },
		looks: func(ktrdr.LookQuery) (ktrdr.LookPage, error) {
			return ktrdr.LookPage{Looks: []ktrdr.Look{{Key: "k", Spans: yaml, LookResult: ktrdr.LookResult{Result: yaml}}}}, nil
		},
	})
	for _, path := range []string{
		"/operations", "/operations/" + string(testOp) + "/children", "/runs", "/runs/" + testRun + "/events", "/looks",
	} {
		a := st.send(t, http.MethodGet, "/api/v1"+path, "", header("Accept", "application/json"))
		if n := len(a.body); a.status != http.StatusOK || n > 1200 || strings.Contains(string(a.body), "YAML") {
			t.Errorf("%s: %d with %d bytes, want a row of at most 1200 without the strategy: %.300s", path, a.status, n, a.body)
		}
	}
	for _, path := range []string{"/operations/" + string(testOp), "/runs/" + testRun} {
		if a := st.send(t, http.MethodGet, "/api/v1"+path, ""); !strings.Contains(string(a.body), "YAML") ||
			!strings.Contains(string(a.body), long) {
			t.Errorf("%s: %d %.300s, want all of it", path, a.status, a.body)
		}
	}
	var rows []api.OperationRow
	mustData(t, st.send(t, http.MethodGet, "/api/v1/operations", ""), http.StatusOK, &rows)
	if r := rows[0]; r.ErrorCode != ktrdr.CodeOrphaned || !r.Resumable || !strings.HasSuffix(r.ErrorMessage, "ä…") ||
		r.Progress.Percentage != 40 || r.Run != testRun {
		t.Errorf("the row is %+v", r)
	}
}

// TestRuns_AShortIdIsResolvedEverywhere asks with the id that `ktrdr runs` prints.
func TestRuns_AShortIdIsResolvedEverywhere(t *testing.T) {
	var asked []string
	desk := &fakeResearch{
		memory: func(q research.MemoryQuery) (research.MemoryPage, string, error) {
			asked = append(asked, q.Run)
			return research.MemoryPage{}, "", nil
		},
		leaders: func(q report.LeaderboardQuery) (report.Leaderboard, error) {
			asked = append(asked, q.Run)
			return report.Leaderboard{}, nil
		},
	}
	st := serve(t, &fakeEngine{
		run: ktrdr.Run{ID: testRun}, shortRuns: true,
		list: func(q ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
			asked = append(asked, q.Run)
			return ktrdr.OperationPage{}, nil
		},
		looks: func(q ktrdr.LookQuery) (ktrdr.LookPage, error) {
			asked = append(asked, q.Run)
			return ktrdr.LookPage{}, nil
		},
		cancelRun: func(id, _, _ string) (ktrdr.Run, error) { asked = append(asked, id); return ktrdr.Run{ID: id}, nil },
	}, func(c *Config) { c.Research = desk })
	short := testRun[:12]
	for _, path := range []string{"/memory?run=", "/leaderboard?run=", "/operations?run=", "/looks?run="} {
		if a := st.send(t, http.MethodGet, "/api/v1"+path+short, ""); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := st.send(t, http.MethodDelete, "/api/v1/runs/"+short, ""); a.status != http.StatusOK {
		t.Errorf("cancel: %d %s", a.status, a.body)
	}
	if len(asked) != 5 {
		t.Errorf("%d were asked, want 5", len(asked))
	}
	for _, run := range asked {
		if run != testRun {
			t.Errorf("asked for the run %q, want %q", run, testRun)
		}
	}
	refusedWith(t, "unknown run", st.send(t, http.MethodGet, "/api/v1/operations?run=run_ffff", ""), "", http.StatusNotFound,
		ktrdr.CodeNotFound)
}

// TestEvents_AreFilteredByKind reads pages and a stream of one kind. The cursor of
// a page passes what was left out.
func TestEvents_StartWithRecentOnes(t *testing.T) {
	engine := &fakeEngine{}
	st := serve(t, engine)
	for _, kind := range []ktrdr.EventKind{ktrdr.EventCreated, ktrdr.EventClaimed, ktrdr.EventCompleted} {
		engine.happen(ktrdr.Event{Kind: kind, Operation: testOp})
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	var streamed []ktrdr.EventKind
	for e, err := range newClient(t, st, ktrdr.ScopeRead).FollowRecentEvents(ctx, 2) {
		if err != nil {
			t.Fatal(err)
		}
		if streamed = append(streamed, e.Kind); len(streamed) == 3 {
			break
		}
		if len(streamed) == 2 {
			engine.happen(ktrdr.Event{Kind: ktrdr.EventBackendDied})
		}
	}
	if want := []ktrdr.EventKind{ktrdr.EventClaimed, ktrdr.EventCompleted, ktrdr.EventBackendDied}; !slices.Equal(streamed, want) {
		t.Errorf("streamed %v, want %v", streamed, want)
	}
	for query, want := range map[string]int{
		"recent=0": http.StatusBadRequest, "recent=1001": http.StatusBadRequest, "recent=1000": http.StatusOK,
	} {
		if a := st.send(t, http.MethodGet, "/api/v1/events?"+query, "", header("Accept", "application/json")); a.status != want {
			t.Errorf("%s: %d, want %d", query, a.status, want)
		}
	}
	a := st.send(t, http.MethodGet, "/api/v1/events?recent=3&after=1-3", "", header("Accept", "application/json"))
	var events []ktrdr.Event
	if mustData(t, a, http.StatusOK, &events); len(events) != 1 || events[0].Kind != ktrdr.EventBackendDied {
		t.Errorf("after a cursor: %+v", events)
	}
}

func TestEvents_AreFilteredByKind(t *testing.T) {
	engine := &fakeEngine{}
	st := serve(t, engine)
	for range 3 {
		engine.happen(ktrdr.Event{Kind: ktrdr.EventCompleted, Operation: testOp})
	}
	engine.happen(ktrdr.Event{Kind: ktrdr.EventWorkerLost, Data: json.RawMessage(`{"worker_id":"w"}`)})
	engine.happen(ktrdr.Event{Kind: ktrdr.EventCompleted, Operation: testOp})
	a := st.send(t, http.MethodGet, "/api/v1/events?after=0-0&kind=worker_lost,BACKEND_DIED", "", header("Accept", "application/json"))
	var events []ktrdr.Event
	mustData(t, a, http.StatusOK, &events)
	last, err := engine.LastEvent(t.Context())
	if err != nil || len(events) != 1 || events[0].Kind != ktrdr.EventWorkerLost || a.parsed.Next != last.String() {
		t.Errorf("%+v, next %q, want the lost worker and the cursor %s (%v)", events, a.parsed.Next, last, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	var streamed []ktrdr.EventKind
	cl := newClient(t, st, ktrdr.ScopeRead)
	for e, err := range cl.FollowEvents(ctx, "", client.FromBeginning, ktrdr.EventWorkerLost, ktrdr.EventBackendDied) {
		if err != nil {
			t.Fatal(err)
		}
		if streamed = append(streamed, e.Kind); len(streamed) == 2 {
			break
		}
		engine.happen(ktrdr.Event{Kind: ktrdr.EventCompleted, Operation: testOp})
		engine.happen(ktrdr.Event{Kind: ktrdr.EventBackendDied})
	}
	if !slices.Equal(streamed, []ktrdr.EventKind{ktrdr.EventWorkerLost, ktrdr.EventBackendDied}) {
		t.Errorf("streamed %v, want what was asked for, before and after", streamed)
	}
	engine.happen(ktrdr.Event{Kind: ktrdr.EventCompleted, Operation: testOp})
	engine.happen(ktrdr.Event{Kind: ktrdr.EventPhase, Operation: testOp})
	engine.operation = func(ktrdr.OperationID) (ktrdr.Operation, error) {
		return ktrdr.Operation{ID: testOp, Status: ktrdr.Completed}, nil
	}
	n := 0
	for e, err := range newClient(t, st, ktrdr.ScopeRead).FollowEvents(ctx, testOp, ktrdr.Cursor{}, ktrdr.EventPhase) {
		if n++; err != nil || e.Kind != ktrdr.EventPhase {
			t.Errorf("event %s, %v", e.Kind, err)
		}
	}
	if n != 1 || ctx.Err() != nil {
		t.Errorf("%d events of one kind (%v), want one, and that the stream ends with the operation", n, ctx.Err())
	}
	refusedWith(t, "unknown kind", st.send(t, http.MethodGet, "/api/v1/events?kind=birthday", ""), "",
		http.StatusBadRequest, ktrdr.CodeInvalid)
}

// TestLists_LeadersAndMemoryAreSmallRows fills a page with all that a row can hold.
// The filters, the order and the cursor reach the part that answers, and its cursor
// comes back.
func TestLists_LeadersAndMemoryAreSmallRows(t *testing.T) {
	const rows, most = 50, 1200 // bytes of a row
	long := strings.Repeat("YAML ", 4000)
	trial := ktrdr.Trial{
		Key: "k", Operation: testOp, Type: ktrdr.AgentResearch, Run: testRun, CreatedAt: time.Date(2026, 1, 14, 22, 0, 0, 0, time.UTC),
		Market: "mkt_0123456789abcdef", Symbols: "EURUSD GBPUSD", Timeframes: "1h 4h",
		TrialFigures: ktrdr.TrialFigures{Strategy: "rsi_mean_reversion"},
	}
	var asked []any
	desk := &fakeResearch{
		leaders: func(q report.LeaderboardQuery) (report.Leaderboard, error) {
			asked = append(asked, q)
			b := report.Leaderboard{Summary: "no claim", Next: "20"}
			for i := range rows {
				b.Rows = append(b.Rows, report.Leader{Rank: i + 1, Trial: trial, Standing: "not an edge"})
			}
			return b, nil
		},
		memory: func(q research.MemoryQuery) (research.MemoryPage, string, error) {
			asked = append(asked, q)
			m := research.MemoryPage{Kind: q.Kind}
			for range rows {
				m.Experiments = append(m.Experiments, research.ExperimentRow{
					Operation: testOp, RunPosition: research.RunPosition{Run: testRun}, Status: "completed", Summary: "no edge",
					Note: json.RawMessage(`{"strategy_yaml":"` + long + `","history":"` + long + `"}`), Trial: &trial,
				})
				m.Hypotheses = append(m.Hypotheses, research.HypothesisRow{HypothesisNote: research.HypothesisNote{Text: "a trend lasts"}})
				m.Trials = append(m.Trials, trial)
			}
			return m, "next-page", nil
		},
	}
	st := serve(t, &fakeEngine{run: ktrdr.Run{ID: testRun}}, func(c *Config) { c.Research = desk })
	for path, next := range map[string]string{
		"/leaderboard?run=" + testRun + "&symbol=EURUSD&timeframe=1h&sort=sharpe&limit=50&cursor=0": "20",
		"/memory?run=" + testRun + "&kind=experiments&limit=50&cursor=c":                            "next-page",
		"/memory?run=" + testRun + "&kind=hypotheses&limit=50&cursor=c":                             "next-page",
		"/memory?run=" + testRun + "&kind=trials&limit=50&cursor=c":                                 "next-page",
	} {
		a := st.send(t, http.MethodGet, "/api/v1"+path, "")
		if n := len(a.body) / rows; a.status != http.StatusOK || n > most || strings.Contains(string(a.body), "YAML") ||
			strings.Contains(string(a.body), "history") {
			t.Errorf("%s: %d with %d bytes a row, want at most %d without strategy and history: %.300s", path, a.status, n, most, a.body)
		}
		if a.parsed.Next != next {
			t.Errorf("%s: the next page begins at %q, want %q", path, a.parsed.Next, next)
		}
	}
	leaders := report.LeaderboardQuery{Run: testRun, Symbol: "EURUSD", Timeframe: "1h", Sort: "sharpe", Limit: 50, Cursor: "0"}
	if len(asked) != 4 || !slices.Contains(asked, any(leaders)) ||
		!slices.Contains(asked, any(research.MemoryQuery{Kind: "trials", Run: testRun, Limit: 50, Cursor: "c"})) {
		t.Errorf("asked for %+v", asked)
	}
	for path, says := range map[string]string{
		"/leaderboard?sort=shrpe": "did you mean sharpe?", "/leaderboard?symbl=EURUSD": "did you mean symbol?",
		"/memory?kind=trails": "did you mean trials?", "/operations?status=runnin": "did you mean RUNNING?",
		"/operations?sort=newst": "did you mean newest?", "/runs?state=runnin": "did you mean RUNNING?",
	} {
		if a := st.send(t, http.MethodGet, "/api/v1"+path, ""); a.status != http.StatusBadRequest || !strings.Contains(string(a.body), says) {
			t.Errorf("%s: %d %s, want %q", path, a.status, a.body, says)
		}
	}
}
