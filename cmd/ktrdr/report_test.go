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

func TestPlaceBefore_SkipsNothingAndNearlyAllThatIsOlder(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *sqlstore.Store) {
		if at, err := placeBefore(t.Context(), s, time.Now()); err != nil || at != (ktrdr.Cursor{}) {
			t.Errorf("in an empty log: %v, %v", at, err)
		}
		for i := range 150 {
			if err := s.SetPaused(t.Context(), i%2 == 0); err != nil {
				t.Fatal(err)
			}
		}
		all, err := s.Events(t.Context(), ktrdr.EventQuery{Limit: 1000})
		if err != nil || len(all) != 150 {
			t.Fatalf("%d events, %v", len(all), err)
		}
		for i, e := range all {
			place, err := placeBefore(t.Context(), s, e.At)
			if err != nil {
				t.Fatal(err)
			}
			rest, err := s.Events(t.Context(), ktrdr.EventQuery{After: place, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			older := 0
			for _, r := range rest {
				if r.At.Before(e.At) {
					older++
				}
			}
			if len(rest) < len(all)-i || older > 0 {
				t.Fatalf("before event %d: %d follow, %d of them older; want at least %d, and none", i, len(rest), older, len(all)-i)
			}
		}
		if place, err := placeBefore(t.Context(), s, time.Now().Add(time.Hour)); err != nil || place == (ktrdr.Cursor{}) {
			t.Errorf("after the last: %v, %v; want the end and not the beginning", place, err)
		}
	})
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

		read := func(from time.Time, roots map[ktrdr.OperationID]bool) *httpapi.ReportModelCalls {
			t.Helper()
			l := &lookback{desk: researchDesk{calls: s}, out: httpapi.Report{From: from}, roots: roots}
			if err := l.readCalls(ctx); err != nil {
				t.Fatal(err)
			}
			return l.out.Models
		}
		want := &httpapi.ReportModelCalls{Calls: 4, Failed: 1, InFlight: 1, USD: 0.065, ByModel: []httpapi.ReportModel{
			{Model: "b/small", Calls: 2, USD: 0.0525}, {Model: "a/large", Calls: 2, Failed: 1, USD: 0.0125},
		}}
		if diff := cmp.Diff(want, read(time.Now().Add(-time.Hour), nil)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := read(time.Now().Add(time.Hour), nil); got != nil {
			t.Errorf("calls before the span: %+v", got)
		}
		if got := read(time.Time{}, map[ktrdr.OperationID]bool{"op_other": true}); got != nil {
			t.Errorf("calls of another run: %+v", got)
		}
	})
}

func TestReasons_GroupFailuresByWhatTheySay(t *testing.T) {
	r := reasons{}
	fail := func(id, message string, checkpoint bool) {
		op := &ktrdr.Operation{ID: ktrdr.OperationID(id), Status: ktrdr.Failed, ErrorMessage: message, Error: &ktrdr.Failure{Code: ktrdr.CodeFailed}}
		if checkpoint {
			op.Checkpoint = &ktrdr.CheckpointInfo{}
		}
		r.add(op)
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
	if len(r) > mostKept+1 || len(r.list()) > mostReasons {
		t.Errorf("%d reasons are kept and %d shown, want at most %d and %d", len(r), len(r.list()), mostKept+1, mostReasons)
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

// More operations than a page holds are counted all, and those that ended before
// the span are not.
func TestReport_CountsEveryPageOfTheSpan(t *testing.T) {
	l := newLab(t)
	l.serve("--workers", "2", "--agents", "0")
	c := l.client()
	const many = reportPage + 30
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
	sharpe, net := 1.314, 0.12
	proof := httpapi.Evidence{
		TestSharpe: &sharpe, HoldoutSharpe: new(0.914), Deflated: new(0.981), Trials: 130, Openings: 2, Luck: new(0.011), BuyAndHold: new(0.021), CostPerSide: new(0.00015),
	}
	from := time.Date(2026, 11, 14, 21, 0, 0, 0, time.UTC)
	r := httpapi.Report{
		From: from, To: from.Add(10 * time.Hour), Summary: "1 research claims an edge.",
		Researches: httpapi.ReportResearches{
			Ended: 9, Outcomes: map[string]int{"completed": 5, "gate_rejected": 3, "failed": 1}, Active: 2, Waiting: 4, Claims: 1, Holdouts: 2, Trials: 8, Ledger: 130,
		},
		Claims: []httpapi.ReportClaim{{
			Operation: "op_agent_research_20261114_220000_1a2b3c4d", Strategy: "trend_1", Summary: "An edge is claimed: with 130 trials counted.",
			Sharpe: &sharpe, NetReturn: net, MaxDrawdown: 0.05, Trades: 120, Holdout: true, Evidence: proof,
		}},
		Leaders:  []httpapi.Experiment{{Operation: "op_agent_research_20261114_220000_1a2b3c4d", Strategy: "trend_1", Verdict: "promising", Claim: true, Sharpe: &sharpe, NetReturn: &net, Trades: 120, Evidence: proof}},
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
		"8 trials; all 130 of the ledger count against luck. In this time the holdout was opened 2 times.",
		"TEST SHARPE  HOLDOUT  DEFLATED  TRIALS  HOLD  COST   NET RETURN  DRAWDOWN  TRADES",
		"1.31         0.91     0.98      130     2.1%  1.5bp  12.0%       5.0%      120", "with 130 trials counted",
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
