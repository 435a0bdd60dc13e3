package report

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
)

func TestReport_SaysWhatCameAfterAClaim(t *testing.T) {
	bar := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, l := range map[string]*ktrdr.ClaimLife{
		"":                                   nil,
		"40 bars after the claim, e = 2.5; ": {Rung: ktrdr.ClaimConfirmed, Bars: 40, E: 2.5},
		"living: 40 bars after the claim, an edge since the bar of 2024-03-01 12:00 (e = 25)": {
			Rung: ktrdr.ClaimLiving, Bars: 40, E: 25, Detected: bar,
		},
		"retired at the bar of 2024-03-01 12:00": {Rung: ktrdr.ClaimRetired, Bars: 40, Retired: bar},
	} {
		if got := sinceLine(l); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// written is a report as it is printed, in a zone of its own.
func written(r Report, write func(io.Writer, Report, *time.Location)) string {
	var b strings.Builder
	write(&b, r, time.FixedZone("CET", 3600))
	return b.String()
}

// Who reads only the report learns where each finalist stands, what would move it on, and whether it lives
// on one seed or one setting.
func TestReport_SaysWhereEachFinalistStands(t *testing.T) {
	finalist := leader(ktrdr.Trial{TrialFigures: ktrdr.TrialFigures{Strategy: "trend_1"}, MarketTrials: 8}, nil)
	finalist.Ladder = &research.Ladder{Rung: "confirmed", Rungs: []research.LadderRung{
		{Rung: "finalist", Reached: true, P: new(0.0095)},
		{Rung: "candidate", Next: "The run was not tested."},
		{Rung: "confirmed", Reached: true, P: new(0.004)},
		{Rung: "living", EValue: new(2.234), Next: "40 bars so far."},
	}}
	path := func(sharpe float64) evidence.Path { return evidence.Path{Sharpe: &sharpe} }
	finalist.Examination = &evidence.Examination{
		Summary: "Fragile: it lives on roc_24.period 24.", Paths: []evidence.Path{path(1.5), path(1.25)}, Pooled: &evidence.Path{},
		Seeds: []*float64{new(1.4), nil, new(-0.3)},
	}
	claim := finalist
	claim.Operation, claim.Claim, claim.LookEnded, claim.Adjusted = "op_agent_research_20261114_210000_0badcafe", true, true, new(0.004)
	for name, r := range map[string]Report{
		"a claim": {Claims: []Leader{claim}, Leaders: []Leader{claim}}, "a finalist": {Leaders: []Leader{finalist}},
	} {
		row := append(r.Claims, r.Leaders...)[0]
		for _, write := range []func(io.Writer, Report, *time.Location){WriteText, WriteMarkdown} {
			said := written(r, write)
			for _, want := range []string{
				"ladder: confirmed (finalist yes, p = 0.0095, candidate no, confirmed yes, p = 0.004, living no, e = 2.23).",
				"not candidate: The run was not tested.", "not living: 40 bars so far.", "examination: Fragile: it lives on roc_24.period 24.",
				"Sharpe ratio of each path: 1.50, 1.25; of each network alone: 1.40, -, -0.30.",
			} {
				if want = row.Operation.Tail() + ": " + want; strings.Count(said, want) != 1 {
					t.Errorf("%s: %q is there %d times, want once:\n%s", name, want, strings.Count(said, want), said)
				}
			}
		}
	}
}

func TestReport_IsReadOnOneScreen(t *testing.T) {
	best := leader(ktrdr.Trial{
		TrialFigures: ktrdr.TrialFigures{Strategy: "trend_1", Sharpe: new(1.314), Alpha: new(0.021), NetReturn: new(0.12)},
		MarketTrials: 130, MarketLooks: 2, Look: "op_look", LookEnded: true, Claim: true, Adjusted: new(0.011),
	}, new(0.981))
	best.Holdout = &Holdout{Sharpe: new(0.914), Low: new(0.1), High: new(1.7), Shrunk: new(0.6)}
	best.Calibration = "This lab claimed an edge on 1 of 99 copies of this market without one."
	from := time.Date(2026, 11, 14, 21, 0, 0, 0, time.UTC)
	r := Report{
		From: from, To: from.Add(10 * time.Hour), Summary: "1 claim on 1 market; luck alone gives up to 0.02.",
		Researches: Researches{
			Ended: 9, Outcomes: map[string]int{"completed": 5, "gate_rejected": 3, "failed": 1}, Active: 2, Waiting: 4, Finalists: 2, Claims: 1,
			Looks: 2, Trials: 130, Markets: 1,
		},
		Claims: []Leader{best}, Leaders: []Leader{best},
		Failures: []FailureReason{{Reason: "TRAINING: <b>disk</b> | full\x1b[2J", Count: 1, Resumable: 1, Next: "ktrdr resume op_x"}},
		Machine: Machine{
			BackendStarts: 2, WorkersLost: 1, Orphaned: 3, Resumed: 3, Requeued: 1,
			Pauses: []Pause{{From: from.Add(time.Hour), To: from.Add(2 * time.Hour)}, {From: from.Add(9 * time.Hour)}},
		},
		Models:   &ModelCalls{Calls: 12, Failed: 1, USD: 0.34},
		Problems: []string{"only 100 MB of disk are free; free some space"},
	}
	text := written(r, WriteText)
	for _, part := range []string{
		"Sat 2026-11-14 22:00 to Sun 2026-11-15 08:00 CET (10h0m)",
		"9 researches ended: 5 completed, 3 gate rejected, 1 failed.", "2 are active and 4 wait.",
		"1 claim on 1 market; luck alone gives up to 0.02.", "2 finalists passed every check on the test part.",
		"So far 130 trials and 2 looks at holdouts are counted on 1 market.",
		"MARKET     PRICES   RUN           SHARPE  ALPHA  DEFL  RETURN  TRIALS  LOOKS  RESULT",
		"EURUSD 1h  unknown  run_01234567  1.31    2.1%   0.98  12.0%   130     2      claimed",
		"holdout Sharpe 0.91 (95 % interval 0.10 to 1.70, shrunk for selection 0.60)",
		best.Operation.Tail() + ": This lab claimed an edge on 1 of 99 copies of this market without one.",
		"1 × TRAINING: <b>disk</b> | full [2J", "`ktrdr resume op_x`",
		"2 backend starts, 1 worker was lost.", "3 operations of dead workers, 1 taken over from a dead backend, 3 resumed.",
		"Paused from 23:00 to 00:00 CET.", "Paused from 07:00 to now: end the pause with `ktrdr unpause`.",
		"12 calls, 1 failed, 0 not settled: $0.3400.", "free some space",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
	if lines := strings.Count(text, "\n"); lines > 40 {
		t.Errorf("%d lines are more than a screen", lines)
	}
	mark := written(r, WriteMarkdown)
	for _, part := range []string{"# Sat 2026-11-14 22:00", "## Claims", "| RESEARCH | STRATEGY |", "|---|", `&lt;b>disk&lt;/b> \| full`} {
		if !strings.Contains(mark, part) {
			t.Errorf("%q is missing in:\n%s", part, mark)
		}
	}
	if quiet := written(Report{From: from, To: from.Add(time.Hour), Summary: "Nothing was researched."},
		WriteText); strings.Count(quiet, "\n") != 2 {
		t.Errorf("a report of nothing is long:\n%s", quiet)
	}
}
