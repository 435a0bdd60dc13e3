package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// posts is a webhook's receiver that remembers which ids it was sent.
type posts struct {
	mu  sync.Mutex
	ids map[string]int
}

func (p *posts) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var m struct {
		ID string `json:"id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m) // what is no message is counted as the empty id
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[m.ID]++
}

func (p *posts) of(id string) (of, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.ids {
		all += n
	}
	return p.ids[id], all
}

// Two backends keep the same runs and have the same webhook. Each run is reported
// once.
func TestRuns_TwoBackendsTellTheWebhookOnce(t *testing.T) {
	t.Parallel()
	hook := &posts{ids: map[string]int{}}
	server := httptest.NewServer(hook)
	t.Cleanup(server.Close)
	l := newLab(t, labtest.Postgres, labtest.Calm)
	l.Serve("KTRDR_WEBHOOK=" + server.URL)
	l.Second().Serve("KTRDR_WEBHOOK=" + server.URL)
	l.Researcher()
	l.Researcher()
	var runs []string
	for range 4 {
		made, err := l.client.Trigger(t.Context(), research.Request{Count: 2}, "")
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, made.Run)
	}
	for _, id := range runs {
		l.eventually("the end of "+id+" to be told", func() bool { return !l.Run(id).ToldAt.IsZero() })
	}
	for _, id := range runs {
		if n, all := hook.of(id); n != 1 || all != len(runs) {
			t.Errorf("%s was told %d times of %d in all, want once of %d", id, n, all, len(runs))
		}
	}
}

// A run is cancelled in the middle of a generation, while other work keeps the
// store busy. By the instants that the store keeps, nothing of it starts
// afterwards.
func TestRuns_ACancelledRunStartsNothingAfterwards(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.ServeWith(2, "KTRDR_MAX_RESEARCHES=6", "KTRDR_GENERATION=8", "KTRDR_INJECT=delay=50ms:training:busy,delay=50ms:backtesting:busy")
		for range 3 {
			l.Researcher()
		}
		var load []ktrdr.OperationID
		for range 20 {
			load = append(load, l.Submit(dummy.Spec{Steps: 40, StepMS: 5, CheckpointEvery: 2}))
		}
		made, err := l.client.Trigger(t.Context(), research.Request{Brief: "keep them busy", Count: 60, BypassGates: true}, "")
		if err != nil {
			t.Fatal(err)
		}
		other, err := l.client.Trigger(t.Context(), research.Request{Brief: "the other run", Count: 2, BypassGates: true}, "")
		if err != nil {
			t.Fatal(err)
		}
		l.eventually("the middle of a generation", func() bool {
			run := l.Run(made.Run)
			return run.Ended() >= 10 && run.Ended()%8 != 0
		})
		said := l.must("cancel", made.Run, "--reason", "enough", "--follow")
		for _, want := range []string{made.Run + " is CANCELLED: it starts nothing more", "CANCELLED: 60 created", "Reason: enough"} {
			if !strings.Contains(said, want) {
				t.Errorf("cancel does not say %q:\n%s", want, said)
			}
		}
		run := l.Run(made.Run)
		if run.State != ktrdr.RunCancelled || run.Open != 0 || run.EndedAt.IsZero() || run.Cancelled == 0 || run.Completed+run.Rejected+
			run.Failed+run.Cancelled != 60 {
			t.Errorf("the run is %+v, want all 60 of it ended", run)
		}
		l.startsNothingAfter(run)
		l.RunEnds(other.Run)
		if run := l.Run(other.Run); run.State != ktrdr.RunCompleted || run.Cancelled != 0 {
			t.Errorf("the other run is %+v, want it to complete", run)
		}
		for _, id := range load {
			l.Ends(id, ktrdr.Completed)
		}
		l.startsNothingAfter(l.Run(made.Run))
	})
}

// startsNothingAfter checks every research of a cancelled run, and its children.
func (l *lab) startsNothingAfter(run ktrdr.Run) {
	l.t.Helper()
	page, err := l.client.List(l.t.Context(), ktrdr.OperationQuery{Run: run.ID, Limit: 1000})
	if err != nil || len(page.Operations) != run.Created || page.Next != "" {
		l.t.Fatalf("%d researches of the run, %v, want %d", len(page.Operations), err, run.Created)
	}
	children := 0
	for _, op := range page.Operations {
		l.startedBefore(op, run)
		for _, child := range l.Children(op.ID) {
			children++
			l.startedBefore(child, run)
		}
	}
	if children == 0 {
		l.t.Error("no research of the run has a child, so nothing was in the middle of anything")
	}
}

func (l *lab) startedBefore(op ktrdr.Operation, run ktrdr.Run) {
	l.t.Helper()
	if op.CreatedAt.After(run.CancelledAt) || op.StartedAt.After(run.CancelledAt) || op.ClaimedAt.After(run.CancelledAt) {
		l.t.Errorf("%s was created at %s, started at %s and claimed at %s, after its run was cancelled at %s",
			op.ID, op.CreatedAt, op.StartedAt, op.ClaimedAt, run.CancelledAt)
	}
	if !op.Status.Terminal() {
		l.t.Errorf("%s is %s after the end of its run", op.ID, op.Status)
	}
}

// Every view of a run is asked for by the beginning of its id, and all show the
// same numbers of trials and looks.
func TestRuns_AreListedFollowedAndShown(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.ServeWith(2)
		if said := l.must("runs"); !strings.Contains(said, "No run yet. Start one with `ktrdr research") {
			t.Errorf("without runs:\n%s", said)
		}
		before, err := l.client.Trigger(t.Context(), research.Request{Brief: "a run before it", BypassGates: true, Force: true}, "")
		if err != nil {
			t.Fatal(err)
		}
		l.RunEnds(before.Run) // a look of its own would change the number of looks between two views
		made, err := l.client.Trigger(t.Context(), research.Request{Brief: "trend on 1h", Count: 3, BypassGates: true}, "")
		if err != nil {
			t.Fatal(err)
		}
		short := made.Run[:12]
		says := func(said string, parts ...string) {
			t.Helper()
			for _, part := range parts {
				if !strings.Contains(said, part) {
					t.Errorf("%q is missing in:\n%s", part, said)
				}
			}
		}
		says(l.must("follow", short), "RESEARCH  STRATEGY", "claimed: adjusted p <= 0.02 on the holdout",
			short+" COMPLETED: 3 created, 3 completed")
		run := l.RunEnds(made.Run)
		says(l.must("runs"), "RUN           STATE      PRICES   CREATED", short+"  COMPLETED", "trend on 1h", "a run before it")
		says(l.must("runs", "--state", "completed,cancelled"), short)
		if said := l.must("runs", "--state", "given_up"); strings.Contains(said, short) {
			t.Errorf("a completed run is listed as given up:\n%s", said)
		}
		says(l.must("status", short), made.Run+"  COMPLETED  trend on 1h", "3 created, 3 completed", "1 of 1 closed")

		var board report.Leaderboard
		if err := json.Unmarshal([]byte(l.must("leaderboard", "--run", short, "--json")), &board); err != nil || len(board.Rows) != 3 {
			t.Fatalf("leaderboard %+v, %v, want three rows", board, err)
		}
		says(l.must("leaderboard", "--run", short, "--symbol", "EURUSD", "--timeframe", "1h"), board.Summary, board.Thresholds)
		if said := l.must("leaderboard", "--symbol", "GBPUSD"); !strings.Contains(said, "No research that ended fits --symbol GBPUSD") {
			t.Errorf("of another symbol:\n%s", said)
		}
		l.oneNumber(board, run)
		l.sideBySide(board)
		for _, unknown := range [][]string{
			{"follow", "run_00000000"}, {"cancel", "run_00000000"}, {"leaderboard", "--run", "run_00000000"}, {"report", "--run", "run_00000000"},
		} {
			if said, code := l.Command(unknown...); code != 2 || !strings.Contains(said, "there is no run") {
				t.Errorf("ktrdr %s: exit %d\n%s", strings.Join(unknown, " "), code, said)
			}
		}
		if said, code := l.Command("cancel", short); code != 1 || !strings.Contains(said, "has ended (COMPLETED): there is nothing to cancel") {
			t.Errorf("a run that has ended is cancelled: exit %d\n%s", code, said)
		}
	})
}

// oneNumber checks that leaderboard, report, memory and results agree on the
// trials and looks of the market.
func (l *lab) oneNumber(board report.Leaderboard, run ktrdr.Run) {
	l.t.Helper()
	first := board.Rows[0]
	trials, looks := first.MarketTrials, first.MarketLooks
	if trials != 4 || board.Markets != 1 || looks < run.Looks {
		l.t.Errorf("the leaderboard counts %d trials and %d looks on %d markets, want 4 trials on 1", trials, looks, board.Markets)
	}
	ctx := l.t.Context()
	report, err := l.client.Report(ctx, "", run.ID)
	if err != nil || report.Researches.Trials != trials || report.Researches.Looks != looks || report.Researches.Ended != 3 ||
		report.Summary != board.Summary {
		l.t.Errorf("the report says %q and counts %+v, %v; want %q, %d trials and %d looks", report.Summary, report.Researches, err,
			board.Summary, trials, looks)
	}
	memory, _, err := l.client.Memory(ctx, research.MemoryQuery{Kind: "trials", Run: run.ID})
	if err != nil || len(memory.Trials) != 3 || memory.Counts["trials"] != int64(trials) || memory.Counts["looks"] != int64(looks) ||
		memory.Trials[0].MarketTrials != trials || memory.Trials[0].MarketLooks != looks {
		l.t.Errorf("memory counts %v and %d trials, %v; want %d and %d", memory.Counts, len(memory.Trials), err, trials, looks)
	}
	if text, err := json.Marshal(memory.Trials[0]); err != nil || len(text) > 1000 {
		l.t.Errorf("a trial is %d bytes, %v, want a few hundred", len(text), err)
	}
	result, _, err := l.client.Results(ctx, first.Operation, nil, 0, "")
	if err != nil || result.Trial == nil || result.Trial.MarketTrials != trials || result.Trial.MarketLooks != looks {
		l.t.Errorf("the result's trial is %+v, %v; want %d trials and %d looks", result.Trial, err, trials, looks)
	}
	if said := l.must("results", string(first.Operation)); !strings.Contains(said,
		fmt.Sprintf("EURUSD 1h, prices made up: %d trials and ", trials)) || !strings.Contains(said, "this one: "+first.Standing) {
		l.t.Errorf("results do not show the trials, or %q:\n%s", first.Standing, said)
	}
}
