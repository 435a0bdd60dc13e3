package sqlstore

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

// sortsFew is the questions that sort, but not more than the workers, the types,
// a generation, the first of each run, a batch, the best of each market, or a
// page.
var sortsFew = []string{
	"workers", "counts", "finalist", "next in line", "next alone", "waiting of a run", "best trials", "best trials of a run",
	"trials that lost",
	"page of trials", "trials of a run", "look of a trial", "ended since", "events of processes", "pauses",
}

// Each question that is asked all day long is answered from its own index,
// however many operations there are. SQLite is asked, whose choice does not
// depend on what the tables hold.
func TestStore_QuestionsHaveTheirIndex(t *testing.T) {
	many := ktrdr.OperationQuery{Limit: 50}
	active, stopped := many, many
	active.ActiveOnly = true
	stopped.Resumable = true
	later := many
	later.Cursor = placeCursor(0, "op_dummy_1")
	listed := func(q ktrdr.OperationQuery) (query, []any) {
		text, args, err := (&Store{types: storetest.Types(nil)}).listQuery(&q)
		if err != nil {
			t.Fatal(err)
		}
		return text, args
	}
	ran := func(q ktrdr.RunQuery) (query, []any) {
		text, args, err := runsQuery(&q)
		if err != nil {
			t.Fatal(err)
		}
		return text, args
	}
	tried := func(q ktrdr.TrialQuery) (query, []any) {
		if q.ByScore {
			return bestQuery(q, earned, false)
		}
		text, args, err := trialsQuery(q)
		if err != nil {
			t.Fatal(err)
		}
		return text, args
	}
	looked := func(q ktrdr.LookQuery) (query, []any) {
		text, args, err := looksQuery(q)
		if err != nil {
			t.Fatal(err)
		}
		return text, args
	}
	s0 := &Store{} // of SQLite
	questions := map[string]struct {
		index string
		ask   func() (query, []any)
	}{
		"open generations":  {"operations_run (run=?)", func() (query, []any) { return selectOpenRuns, nil }},
		"newest of a run":   {"operations_of_run (run=?)", func() (query, []any) { return selectOpenRuns, nil }},
		"open runs":         {"runs_open", func() (query, []any) { return selectOpenRuns, nil }},
		"untold runs":       {"runs_untold", func() (query, []any) { return selectUntold, nil }},
		"open of a run":     {"operations_run (run=? AND generation<?)", func() (query, []any) { return closeGeneration, []any{"r", 3} }},
		"anything of a run": {"operations_run (run=?)", func() (query, []any) { return endRun, []any{"r"} }},
		"finalist": {"operations_researches (run=? AND generation=?)", func() (query, []any) {
			return selectFinalists, []any{
				"r",
				3, 2,
			}
		}},
		"last generations":    {"operations_researches (run=? AND generation>?)", func() (query, []any) { return tallyGenerations, []any{"r"} }},
		"waiting of a run":    {"operations_run (run=?)", func() (query, []any) { return cancelWaiting, []any{"r", "", "", 500} }},
		"researches of a run": {"operations_of_run (run=?)", func() (query, []any) { return listed(ktrdr.OperationQuery{Limit: 50, Run: "r"}) }},
		"later researches of a run": {"operations_of_run (run=? AND (created_at,id)<(?,?))", func() (query, []any) {
			return listed(ktrdr.OperationQuery{Limit: 50, Run: "r", Cursor: later.Cursor})
		}},
		"cancelled run": {
			"SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)", func() (query, []any) {
				return claimNext, []any{0, ktrdr.Dummy, "w", "", "k"}
			},
		},
		"page of runs":    {"runs_page", func() (query, []any) { return ran(ktrdr.RunQuery{Limit: 50}) }},
		"page of trials":  {"trials_page", func() (query, []any) { return tried(ktrdr.TrialQuery{Limit: 50}) }},
		"trials of a run": {"trials_run (run=?)", func() (query, []any) { return tried(ktrdr.TrialQuery{Limit: 50, Run: "r"}) }},
		"best trials":     {"trials_best (market_id=?)", func() (query, []any) { return tried(ktrdr.TrialQuery{Limit: 20, ByScore: true}) }},
		"best trials of a run": {"trials_best_run (run=? AND market_id=?)", func() (query, []any) {
			return tried(ktrdr.TrialQuery{Limit: 20, ByScore: true, Run: "r"})
		}},
		"trials that lost": {"trials_sharpe (sharpe<?)", func() (query, []any) { return bestQuery(ktrdr.TrialQuery{Limit: 20}, lost, false) }},
		"look of a trial":  {"looks_research (research_id=?)", func() (query, []any) { return tried(ktrdr.TrialQuery{Limit: 50}) }},
		"page of looks":    {"looks_page", func() (query, []any) { return looked(ktrdr.LookQuery{Limit: 50}) }},
		"looks of a run":   {"looks_run (run=?)", func() (query, []any) { return looked(ktrdr.LookQuery{Limit: 50, Run: "r"}) }},
		"claims":           {"looks_claims", func() (query, []any) { return looked(ktrdr.LookQuery{Limit: 50, Claims: true}) }},
		"end of a trial":   {"trials_operation (operation_id=?)", func() (query, []any) { return endTrial, make([]any, 15) }},
		"markets of a run": {"trials_run (run=?)", func() (query, []any) { return tallyRun, []any{"r"} }},
		"runs of a span":   {"runs_ended", func() (query, []any) { return tallySince, []any{1} }},
		"without a model":  {"COVERING INDEX trials_unaided", func() (query, []any) { return tallySince, []any{1} }},
		"ended since":      {"COVERING INDEX operations_done", func() (query, []any) { return endedSince, []any{1} }},
		"failures since":   {"operations_done", func() (query, []any) { return s0.fields(failuresSince, "error", "code"), []any{1, 500} }},
		"failures of a run": {"operations_failures (run=? AND completed_at>?)", func() (query, []any) {
			return s0.fields(failuresOfRun, "error", "code"), []any{"r", 1, 500}
		}},
		"events of processes": {
			"events_machine (at>?)", func() (query, []any) { return s0.fields(countMachine, "data", "code", "by", "held_by"), []any{1} },
		},
		"pauses": {"events_machine (at>?", func() (query, []any) { return selectPauses, []any{1} }},
		"newest series": {
			"market_series_market (market_id=? AND symbol=? AND timeframe=?", func() (query, []any) { return selectNewestSeries, nil },
		},
		"next to claim": {"COVERING INDEX operations_queue", func() (query, []any) {
			return `SELECT id FROM operations WHERE ` + claimable + `$2` + queueOrder, []any{0, ktrdr.Dummy}
		}},
		"answer to a question": {"llm_calls_key", func() (query, []any) { return selectAnswered, []any{"op_dummy_1", "k"} }},
		"questions in flight":  {"COVERING INDEX llm_calls_key", func() (query, []any) { return countUnsettled, []any{"op_dummy_1", "k"} }},
		"spent today":          {"COVERING INDEX llm_calls_day", func() (query, []any) { return selectSpending, []any{"op_dummy_1"} }},
		"spent by a research":  {"COVERING INDEX llm_calls_root", func() (query, []any) { return selectSpending, []any{"op_dummy_1"} }},
		"spent long ago":       {"llm_spent", func() (query, []any) { return selectSpending, []any{"op_dummy_1"} }},
		"calls that are old":   {"llm_calls_day (at<?)", func() (query, []any) { return expireCalls, []any{1, 500} }},
		"calls of a research":  {"llm_calls_root", func() (query, []any) { return selectCallsOf, []any{"op_dummy_1", 50} }},
		"changes of a breaker": {"name=?", func() (query, []any) { return selectChangesOf, []any{"provider:a", 50} }},
		"newest changes":       {"breaker_history_at", func() (query, []any) { return selectChanges, []any{50} }},
		"values of a checkpoint": {
			"sqlite_autoindex_thread_values_1 (tenant=? AND thread_id=? AND ns=? AND channel=? AND version=? AND hash=?)", func() (query, []any) {
				return selectValues[2], threeFor(4)
			},
		},
		"sizes of values": {
			"sqlite_autoindex_thread_values_1 (tenant=? AND thread_id=? AND ns=? AND channel=? AND version=? AND hash=?)", func() (query, []any) {
				return selectValueSizes[2], threeFor(4)
			},
		},
		"newest of a thread":    {"checkpoint_id=?", func() (query, []any) { return latestForeign, []any{"", "t", ""} }},
		"researches to compact": {"operations_compactable", func() (query, []any) { return selectCompactable, []any{20, 0} }},
		"children of those":     {"operations_children (parent_id=?)", func() (query, []any) { return selectCompactable, []any{20, 0} }},
		"blobs still named": {
			"checkpoint_blobs USING PRIMARY KEY (sha256=?)", func() (query, []any) { return selectNamed[1], []any{"a", "b"} },
		},
		"values that are blobs": {"values_blobs", func() (query, []any) { return blobsIn("thread_values"), []any{"", 50} }},
		"page of a type": {"operations_page", func() (query, []any) {
			return listed(ktrdr.OperationQuery{Limit: 50, Type: []ktrdr.Type{ktrdr.Dummy}})
		}},
		"page of types": {"operations_page", func() (query, []any) {
			return listed(ktrdr.OperationQuery{Limit: 50, Type: []ktrdr.Type{ktrdr.Dummy, ktrdr.Training}})
		}},
		"page of a status": {"operations_page", func() (query, []any) {
			return listed(ktrdr.OperationQuery{Limit: 50, Status: []ktrdr.Status{ktrdr.Completed}})
		}},
		"live parents":   {"operations_live", func() (query, []any) { return selectLiveParents, []any{"", parentsAtOnce} }},
		"next in line":   {"operations_turn (run=? AND generation=?)", func() (query, []any) { return selectTurn, []any{"q", 1} }},
		"next alone":     {"operations_alone (queue=?)", func() (query, []any) { return selectTurn, []any{"q", 1} }},
		"line":           {"operations_line", func() (query, []any) { return selectInLine, []any{"q", 50} }},
		"ended":          {"operations_ended", func() (query, []any) { return selectOut, []any{"q", newest} }},
		"out of line":    {"operations_started", func() (query, []any) { return selectStarted, []any{"q"} }},
		"work of a line": {"operations_children", func() (query, []any) { return selectWork, []any{"q"} }},
		"room in line":   {"operations_started", func() (query, []any) { return countTaken, []any{"q", 1} }},
		"ready in line":  {"operations_turn (run=? AND generation=?)", func() (query, []any) { return countTaken, []any{"q", 1} }},
		"silent workers": {"operations_live", func() (query, []any) {
			return treatQuery(`has_plan = 0 AND `+isLive+` AND COALESCE(heartbeat_at, claimed_at) <= {now} - $1`, 1), []any{int64(1), ""}
		}},
		"workers":        {"operations_live", func() (query, []any) { return selectWorkers, []any{int64(1)} }},
		"first page":     {"operations_page", func() (query, []any) { return listed(many) }},
		"a later page":   {"operations_page", func() (query, []any) { return listed(later) }},
		"active page":    {"operations_active", func() (query, []any) { return listed(active) }},
		"resumable page": {"operations_stopped", func() (query, []any) { return listed(stopped) }},
		"family":         {"operations_children", func() (query, []any) { return selectFamily, []any{"op_dummy_1"} }},
		"counts":         {"COVERING INDEX operations_counts", func() (query, []any) { return selectCounts, nil }},
		"outlook":        {"operations_live", func() (query, []any) { return selectOutlook, []any{int64(1), int64(1)} }},
		"events of one": {"events_operation", func() (query, []any) {
			return sqliteEvents.ofOne, []any{0, 0, 10, "op_dummy_1"}
		}},
	}
	s := openStore(t, filepath.Join(t.TempDir(), "ktrdr.db"), nil)
	for name, q := range questions {
		text, args := q.ask()
		plan := planOf(t, s, text, args)
		if !strings.Contains(plan, q.index) || !slices.Contains(sortsFew, name) && strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s is not answered by %s alone:\n%s", name, q.index, plan)
		}
	}
}

func planOf(t *testing.T, s *Store, text query, args []any) string {
	t.Helper()
	plan, err := readAll(t.Context(), s, func(row scanner) (line string, err error) {
		var id, parent, unused int
		err = row.Scan(&id, &parent, &unused, &line)
		return line, err
	}, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Join(plan, "\n")
}

// threeFor is arguments for that number of values.
func threeFor(values int) []any { return make([]any, 3+3*values) }
