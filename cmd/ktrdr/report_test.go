package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestSinceText_ReadsTimesAsPeopleSayThem(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 15, 7, 30, 0, 0, berlin)
	for name, is := range map[string]struct{ text, want string }{
		"nothing":                {"", ""},
		"the last spell":         {"last", "last"},
		"hours":                  {"12h", "12h"},
		"days":                   {"7d", "168h"},
		"a time of last evening": {"22:00", "2026-11-14T21:00:00Z"},
		"a time of this morning": {"06:00", "2026-11-15T05:00:00Z"},
		"a local time":           {"2026-11-14T22:00", "2026-11-14T21:00:00Z"},
		"with a blank":           {"2026-11-14 22:00:30", "2026-11-14T21:00:30Z"},
		"a day":                  {"2026-11-14", "2026-11-13T23:00:00Z"},
		"with a zone":            {"2026-11-14T22:00:00+02:00", "2026-11-14T20:00:00Z"},
	} {
		if got, err := sinceText(is.text, now); err != nil || got != is.want {
			t.Errorf("%s: %q means %q (%v), want %q", name, is.text, got, err, is.want)
		}
	}
	for _, text := range []string{"tomorrow", "-2h", "0s", "2026-11-15T08:00", "25:00"} {
		if got, err := sinceText(text, now); exitCode(err) != exitUsage {
			t.Errorf("%q means %q (%v), want wrong usage", text, got, err)
		}
	}
}

// onBothStores runs a test on SQLite and on PostgreSQL.
func onBothStores(t *testing.T, test func(t *testing.T, s *sqlstore.Store)) {
	t.Helper()
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "ktrdr.db") },
		"postgres": func(t *testing.T) string { t.Helper(); return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: url(t), Plans: plans(), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			test(t, s)
		})
	}
}

func TestSpellBegan_GoesBackToTheLastQuietHours(t *testing.T) {
	now := time.Date(2026, 11, 15, 7, 0, 0, 0, time.UTC)
	run := func(ago, lasted time.Duration) ktrdr.Run {
		r := ktrdr.Run{CreatedAt: now.Add(-ago)}
		if lasted > 0 {
			r.EndedAt = r.CreatedAt.Add(lasted)
		}
		return r
	}
	for name, c := range map[string]struct {
		runs []ktrdr.Run
		ago  time.Duration
	}{
		"no run at all":                  {nil, usualSpan},
		"one run":                        {[]ktrdr.Run{run(time.Hour, time.Minute)}, time.Hour},
		"one after the other":            {[]ktrdr.Run{run(time.Hour, time.Minute), run(6*time.Hour, time.Hour), run(20*time.Hour, time.Hour)}, 6 * time.Hour},
		"a long run before":              {[]ktrdr.Run{run(time.Hour, time.Minute), run(9*time.Hour, 7*time.Hour)}, 9 * time.Hour},
		"a run that is still open":       {[]ktrdr.Run{run(time.Hour, time.Minute), run(30*time.Hour, 0)}, 30 * time.Hour},
		"quiet for longer than the rest": {[]ktrdr.Run{run(time.Hour, time.Minute), run(10*time.Hour, time.Hour)}, time.Hour},
	} {
		if got := now.Sub(spellBegan(c.runs, now)); got != c.ago {
			t.Errorf("%s: it began %v ago, want %v", name, got, c.ago)
		}
	}
}

func TestMachineOf_CountsByWhatEventsSayInTheirFields(t *testing.T) {
	at := time.Date(2026, 11, 15, 7, 0, 0, 0, time.UTC)
	got := machineOf(ktrdr.MachineCounts{
		Events: []ktrdr.EventCount{
			{Kind: ktrdr.EventBackendStarted, N: 3},
			{Kind: ktrdr.EventBackendDied, N: 1},
			{Kind: ktrdr.EventWorkerRegistered, HeldBy: "b-1", N: 100},
			{Kind: ktrdr.EventWorkerRegistered, N: 4},
			{Kind: ktrdr.EventWorkerLeft, HeldBy: "b-1", N: 100},
			{Kind: ktrdr.EventWorkerLeft, N: 15},
			{Kind: ktrdr.EventWorkerLost, N: 2},
			{Kind: ktrdr.EventFailed, Code: ktrdr.CodeOrphaned, N: 5},
			{Kind: ktrdr.EventFailed, Code: ktrdr.CodePoison, N: 6},
			{Kind: ktrdr.EventFailed, Code: ktrdr.CodeBackendRestart, N: 7},
			{Kind: ktrdr.EventFailed, Code: ktrdr.CodeFailed, N: 100},
			{Kind: ktrdr.EventReleased, By: ktrdr.ReleasedByRecovery, N: 8},
			{Kind: ktrdr.EventReleased, By: ktrdr.ReleasedByWorker, N: 9},
			{Kind: ktrdr.EventReleased, By: ktrdr.ReleasedToWait, N: 100},
			{Kind: ktrdr.EventReported, N: 10},
			{Kind: ktrdr.EventResumed, N: 11},
			{Kind: ktrdr.EventCheckpointSkipped, N: 12},
			{Kind: ktrdr.EventWriteRefused, N: 13},
			{Kind: ktrdr.EventBreaker, N: 14},
			{Kind: ktrdr.EventPaused, N: 1},
		},
		Pauses: []ktrdr.Event{
			{Kind: ktrdr.EventUnpaused, At: at.Add(time.Minute)},
			{Kind: ktrdr.EventPaused, At: at.Add(time.Hour)},
			{Kind: ktrdr.EventUnpaused, At: at.Add(2 * time.Hour)},
			{Kind: ktrdr.EventPaused, At: at.Add(3 * time.Hour)},
		},
	}, at)
	want := httpapi.ReportMachine{
		BackendStarts: 3, BackendDeaths: 1, WorkersJoined: 4, WorkersLeft: 15, WorkersLost: 2, Orphaned: 5, Poisoned: 6, Interrupted: 7, Requeued: 8, Released: 9, Reported: 10, Resumed: 11,
		CheckpointsSkipped: 12, WritesRefused: 13, BreakerChanges: 14,
		Pauses: []httpapi.ReportPause{{From: at, To: at.Add(time.Minute)}, {From: at.Add(time.Hour), To: at.Add(2 * time.Hour)}, {From: at.Add(3 * time.Hour)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadCalls_CountsWhatWasChargedInTheSpan(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *sqlstore.Store) {
		ctx := t.Context()
		op, err := s.Create(ctx, ktrdr.NewOperation{Type: ktrdr.Dummy, Spec: json.RawMessage(`{"steps":1}`)}, ktrdr.IdempotencyKey{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.RegisterWorker(ctx, ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: ktrdr.Worker{ID: "w", Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1}}); err != nil {
			t.Fatal(err)
		}
		task, err := s.Claim(ctx, ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1}, "")
		if err != nil || task == nil {
			t.Fatalf("claim: %v, %v", task, err)
		}
		ask := func(key byte, model string, end *ktrdr.CallEnd) {
			t.Helper()
			c, err := s.ReserveCall(ctx, ktrdr.NewCall{
				Operation: op.ID, Epoch: task.Epoch, Key: ktrdr.Hash{key}, Model: model, Most: 50_000, Daily: 1e6, Research: 1e6,
			})
			if err == nil && end != nil {
				end.ID = c.ID
				err = s.SettleCall(ctx, *end)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		ask(1, "a/large", &ktrdr.CallEnd{Status: ktrdr.CallAnswered, Cost: 12_500, Answer: json.RawMessage(`{}`)})
		ask(2, "a/large", &ktrdr.CallEnd{Status: ktrdr.CallFailed, Error: "503"})
		ask(3, "b/small", &ktrdr.CallEnd{Status: ktrdr.CallAnswered, Cost: 2_500, Answer: json.RawMessage(`{}`)})
		ask(4, "b/small", nil)
		ask(5, "a/large", &ktrdr.CallEnd{Status: ktrdr.CallFailed, Error: ktrdr.NotAsked}) // which nobody was sent

		read := func(from time.Time, run string) *httpapi.ReportModelCalls {
			t.Helper()
			l := &lookback{desk: researchDesk{calls: s}, out: httpapi.Report{From: from}, query: httpapi.ReportQuery{Run: run}}
			if err := l.readCalls(ctx); err != nil {
				t.Fatal(err)
			}
			return l.out.Models
		}
		want := &httpapi.ReportModelCalls{Calls: 4, Failed: 1, InFlight: 1, USD: 0.065, ByModel: []httpapi.ReportModel{
			{Model: "b/small", Calls: 2, USD: 0.0525}, {Model: "a/large", Calls: 2, Failed: 1, USD: 0.0125},
		}}
		if diff := cmp.Diff(want, read(time.Now().Add(-time.Hour), "")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := read(time.Now().Add(time.Hour), ""); got != nil {
			t.Errorf("calls before the span: %+v", got)
		}
		if got := read(time.Unix(0, 0), "run_other"); got != nil {
			t.Errorf("calls of another run: %+v", got)
		}
	})
}

func TestReasons_GroupFailuresByWhatTheySay(t *testing.T) {
	r := reasons{}
	fail := func(id, message string, checkpoint bool) {
		r.add(&ktrdr.FailedOperation{ID: ktrdr.OperationID(id), Message: message, Code: ktrdr.CodeFailed, Resumable: checkpoint})
	}
	fail("op_1", "TRAINING: op_training_20261115_083802_8afdba58: the disk is full", false)
	fail("op_2", "TRAINING: op_training_20261115_083803_00000001: the disk is full", true)
	fail("op_3", "TRAINING: op_training_20261115_083804_00000002: the disk is full", true)
	fail("op_4", "never began", false)
	want := []httpapi.ReportFailure{
		{Reason: "TRAINING: the disk is full", Code: "failed", Count: 3, Resumable: 2, Operations: []ktrdr.OperationID{"op_2", "op_3", "op_1"}, Next: "ktrdr resume op_2"},
		{Reason: "never began", Code: "failed", Count: 1, Operations: []ktrdr.OperationID{"op_4"}, Next: "ktrdr retry op_4"},
	}
	if diff := cmp.Diff(want, r.list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range 1000 { // every one says something else
		fail("op_n", strings.Repeat("x", 500)+" "+strings.Repeat("y", i), false)
		fail("op_n", time.Duration(i).String(), false)
	}
	if n := len(r.list()); n != mostReasons {
		t.Errorf("%d reasons are shown, want the %d most frequent", n, mostReasons)
	}
}

// reports polls a report until it tells what is waited for.
func (l *lab) reports(what string, ok func(httpapi.Report) bool, args ...string) httpapi.Report {
	l.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; <-time.After(100 * time.Millisecond) {
		r := decode[httpapi.Report](l.t, l.must(append([]string{"report", "--json"}, args...)...))
		if ok(r) {
			return r
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("no report of %s: %+v", what, r)
		}
	}
}

func (l *lab) client() *httpapi.Client {
	l.t.Helper()
	token, err := readToken(filepath.Join(l.data, tokenFile))
	if err != nil {
		l.t.Fatal(err)
	}
	c, err := httpapi.NewClient(l.url, token, httpapi.ClientOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// All operations of the span are counted, and those that ended before it are not.
func TestReport_CountsAllOfTheSpan(t *testing.T) {
	l := newLab(t)
	l.serve("--workers", "2", "--agents", "0")
	c := l.client()
	const many = 230
	for range many {
		if _, err := c.StartDummy(t.Context(), dummy.Spec{Steps: 1}, ""); err != nil {
			t.Fatal(err)
		}
	}
	completed := func(n int64) func(httpapi.Report) bool {
		return func(r httpapi.Report) bool { return len(r.Others) == 1 && r.Others[0].N == n }
	}
	l.reports("all that ended", completed(many))
	first := l.reports("the same, begun after the last had ended", completed(many))
	if _, err := c.StartDummy(t.Context(), dummy.Spec{Steps: 1}, ""); err != nil {
		t.Fatal(err)
	}
	l.reports("the one that ended since", completed(1), "--since", first.To.Format(time.RFC3339Nano))
}

// written is a report as it is printed, in a zone of its own.
func written(r httpapi.Report, write func(io.Writer, []section)) string {
	var b strings.Builder
	write(&b, reportSections(r, time.FixedZone("CET", 3600)))
	return b.String()
}

func TestReport_IsReadOnOneScreen(t *testing.T) {
	best := leader(ktrdr.Trial{
		TrialFigures: ktrdr.TrialFigures{Strategy: "trend_1", Sharpe: new(1.314), Alpha: new(0.021), NetReturn: new(0.12)},
		MarketTrials: 130, MarketLooks: 2, Look: "op_look", LookEnded: true, Claim: true, Adjusted: new(0.011),
	}, new(0.981))
	best.Holdout = &httpapi.Holdout{Sharpe: new(0.914), Low: new(0.1), High: new(1.7), Shrunk: new(0.6)}
	from := time.Date(2026, 11, 14, 21, 0, 0, 0, time.UTC)
	r := httpapi.Report{
		From: from, To: from.Add(10 * time.Hour), Summary: claimsOnMarkets(1, 1),
		Researches: httpapi.ReportResearches{
			Ended: 9, Outcomes: map[string]int{"completed": 5, "gate_rejected": 3, "failed": 1}, Active: 2, Waiting: 4, Finalists: 2, Claims: 1, Looks: 2, Trials: 130, Markets: 1,
		},
		Claims: []httpapi.Leader{best}, Leaders: []httpapi.Leader{best},
		Failures: []httpapi.ReportFailure{{Reason: "TRAINING: <b>disk</b> | full\x1b[2J", Count: 1, Resumable: 1, Next: "ktrdr resume op_x"}},
		Machine: httpapi.ReportMachine{
			BackendStarts: 2, WorkersLost: 1, Orphaned: 3, Resumed: 3, Requeued: 1,
			Pauses: []httpapi.ReportPause{{From: from.Add(time.Hour), To: from.Add(2 * time.Hour)}, {From: from.Add(9 * time.Hour)}},
		},
		Models:   &httpapi.ReportModelCalls{Calls: 12, Failed: 1, USD: 0.34},
		Problems: []string{"only 100 MB of disk are free; free some space"},
	}
	text := written(r, writeText)
	for _, part := range []string{
		"Sat 2026-11-14 22:00 to Sun 2026-11-15 08:00 CET (10h0m)",
		"9 researches ended: 5 completed, 3 gate rejected, 1 failed.", "2 are active and 4 wait.",
		"1 claim on 1 market; luck alone gives up to 0.02.", "2 finalists passed every check on the test part.", "So far 130 trials and 2 looks at holdouts are counted on 1 market.",
		"MARKET     PRICES   RUN           SHARPE  ALPHA  DEFL  RETURN  TRIALS  LOOKS  RESULT",
		"EURUSD 1h  unknown  run_01234567  1.31    2.1%   0.98  12.0%   130     2      claimed",
		"holdout Sharpe 0.91 (95 % interval 0.10 to 1.70, shrunk for selection 0.60)",
		"1 × TRAINING: <b>disk</b> | full [2J", "`ktrdr resume op_x`",
		"2 backend starts, 1 worker was lost.", "3 operations lost their worker, 1 taken over from a dead backend, 3 resumed.",
		"Paused from 23:00 to 00:00 CET.", "Paused from 07:00 to now: go on with `ktrdr unpause`.",
		"12 calls, 1 failed, 0 not settled: $0.3400.", "free some space",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
	if lines := strings.Count(text, "\n"); lines > 40 {
		t.Errorf("%d lines are more than a screen", lines)
	}
	mark := written(r, writeMarkdown)
	for _, part := range []string{"# Sat 2026-11-14 22:00", "## Claims", "| RESEARCH | STRATEGY |", "|---|", `&lt;b>disk&lt;/b> \| full`} {
		if !strings.Contains(mark, part) {
			t.Errorf("%q is missing in:\n%s", part, mark)
		}
	}
	if quiet := written(httpapi.Report{From: from, To: from.Add(time.Hour), Summary: "Nothing was researched."}, writeText); strings.Count(quiet, "\n") != 2 {
		t.Errorf("a quiet night has much to tell:\n%s", quiet)
	}
}
