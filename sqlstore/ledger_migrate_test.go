package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pressly/goose/v3"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
	"github.com/ktrdr/ktrdr/storetest"
)

// oldVersion writes rows as the version before the ledger did.
type oldVersion struct {
	*testing.T
	s       *Store
	session int
	notes   int
}

// oldRow is what an operation of that version differs in.
type oldRow struct {
	kind      ktrdr.Type
	status    ktrdr.Status
	parent    ktrdr.OperationID
	retryOf   ktrdr.OperationID
	spec      string
	result    string
	reason    string // why it was cancelled
	claimed   int64
	completed int64
	saved     bool // it has a checkpoint
}

func (o *oldVersion) operation(id ktrdr.OperationID, run string, generation, index int, r oldRow) {
	o.Helper()
	root, depth, queue := id, 0, ""
	if r.parent != "" {
		root, depth = r.parent, 1
	}
	var session sql.NullInt64
	if run != "" {
		o.session++
		queue, session = "research", sql.NullInt64{Int64: int64(o.session), Valid: true}
	}
	metadata := "{}"
	if run != "" {
		metadata = fmt.Sprintf(`{"brief":"goal of %s","model":"builtin","run":%q}`, run, run)
	}
	var done, checkpoint any
	if r.completed > 0 {
		done = r.completed
	}
	if r.saved {
		checkpoint = "1"
	}
	mustRaw(o.T, o.s, `INSERT INTO operations (id, operation_type, status, epoch, parent_id, root_id, root_created_at, depth, spec, metadata,
		result,
			cancel_reason, cancel_requested, retry_of, created_at, claimed_at, heartbeat_at, completed_at, ckpt_id,
			queue, run, generation, idx, session, has_plan, is_backend_local)
		VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $6, $14, $14, $15, $16, $17, $18, $19, $20, $21, $22, 1)`,
		id, r.kind, r.status, optional(r.parent), root, int64(100+o.session), depth, string(orObject(json.RawMessage(r.spec))), metadata,
		optional(r.result),
		r.reason, bit(r.reason != "" && r.completed == 0), optional(r.retryOf), r.claimed, done, checkpoint,
		queue, run, generation, index, session, bit(queue != ""))
}

func (o *oldVersion) note(kind, key string, op ktrdr.OperationID, run string, data string) {
	o.Helper()
	o.notes++
	mustRaw(o.T, o.s,
		`INSERT INTO notes (id, kind, key, run, generation, idx, operation_id, at, data) VALUES ($1, $2, $3, $4, 0, 0, $5, $6, $7)`,
		o.notes, kind, key, run, op, int64(1000+o.notes), data)
}

// researchSpec is the part of an old spec that the migration reads.
func researchSpec(size int, until time.Time, planned int, sealed string, symbols ...string) string {
	var bars, seals []string
	for _, s := range symbols {
		bars = append(bars,
			fmt.Sprintf(`{"symbol":%q,"timeframe":"4h","name":"b","size":1},{"symbol":%q,"timeframe":"1h","name":"b","size":1}`, s, s))
		seals = append(seals, fmt.Sprintf(`{"symbol":%q,"timeframe":"1h","from":%q,"to":"2024-01-01T00:00:00Z"}`, s, sealed))
	}
	text := fmt.Sprintf(`{"generation_size":%d,"trials":{"count":1,"planned":%d},"bars":[%s],"sealed":[%s]`, size, planned,
		strings.Join(bars, ","), strings.Join(seals, ","))
	if !until.IsZero() {
		text += fmt.Sprintf(`,"until":%q`, until.Format(time.RFC3339Nano))
	}
	return text + "}"
}

// theOldDatabase holds every kind of run, trial and look that the version before
// the ledger left.
func theOldDatabase(t *testing.T, s *Store, later time.Time) {
	t.Helper()
	o := &oldVersion{T: t, s: s}
	mustRaw(t, s, `INSERT INTO meta (key, value) VALUES ('restoring', '1')`)
	const sentence = "The run was cancelled"
	research := ktrdr.AgentResearch
	euro := researchSpec(2, later, 40, "2022-01-01T00:00:00Z", "EURUSD")
	hash := strings.Repeat("ab", 32)

	// Lasts until a time, in its second generation.
	o.operation("op_a1", "a", 0, 0,
		oldRow{kind: research, status: ktrdr.Completed, spec: euro, completed: 210, claimed: 200, result: `{"outcome":"completed",` +
			`"holdout_opened":true,"claim":true,"strategy_name":"trend","result_hash":"` + hash +
			`","backtest_result":{"net_return":0.5,"max_drawdown":0.25,"luck_p":0.01}}`})
	o.operation("op_a2", "a", 0, 1, oldRow{
		kind: research, status: ktrdr.Completed, spec: euro, completed: 220, claimed: 200,
		result: `{"outcome":"gate_rejected","summary":"a\u0000b \\\\u0000"}`,
	})
	o.operation("op_a3", "a", 1, 0, oldRow{kind: research, status: ktrdr.Running, spec: euro, claimed: 230})
	o.operation("op_a3c", "", 0, 0, oldRow{kind: ktrdr.Dummy, status: ktrdr.Running, parent: "op_a3", claimed: 231})
	o.operation("op_a4", "a", 1, 1, oldRow{kind: research, status: ktrdr.Pending, spec: euro})
	o.operation("op_a1x", "", 0, 0, oldRow{
		kind: ktrdr.AgentAssessment, status: ktrdr.Completed, parent: "op_a1", claimed: 205, completed: 209,
	})
	o.note("trial", "a/0/0", "op_a1", "a",
		`{"strategy_name":"trend","status":"evaluated","sharpe_ratio":1.5,"total_trades":9,"backtest_hash":"`+strings.Repeat("cd", 32)+`"}`)
	o.note("opening", "a/0/0", "op_a1", "a",
		`{"of":"op_a1","by":"op_a1x","spans":[{"symbol":"EURUSD","timeframe":"1h","to":"2024-02-01T00:00:00Z"},`+
			`{"symbol":"EURUSD","timeframe":"4h"}]}`)
	o.note("experiment", "a/0/0", "op_a1", "a", `{"strategy_name":"trend"}`)
	o.note("trial", "a/0/1", "op_a2", "a", `{"strategy_name":"flat","status":"gate_rejected","total_trades":0}`)

	// Was cancelled; the loop that did it was broken off.
	gold := researchSpec(8, time.Time{}, 7, "2021-06-01T00:00:00Z", "GOLD", "EURUSD")
	o.operation("op_b1", "b", 0, 0, oldRow{
		kind: research, status: ktrdr.Completed, spec: gold, claimed: 200, completed: 300,
		result: `{"outcome":"completed","holdout_opened":true,"claim":false}`,
	})
	o.operation("op_b2", "b", 0, 1, oldRow{
		kind: research, status: ktrdr.Cancelled, spec: gold, claimed: 200, completed: 310, reason: sentence, saved: true,
	})
	o.operation("op_b3", "b", 1, 0, oldRow{kind: research, status: ktrdr.Pending, spec: gold})
	o.note("trial", "b/0/0", "op_b1", "b", `{"strategy_name":"metal","status":"evaluated","sharpe_ratio":-1,"total_trades":3}`)
	o.note("opening", "b/0/0", "op_b1", "b", `{"of":"op_b1","by":"op_gone","spans":[{"symbol":"GOLD"}]}`)

	// Has ended; one failed before it met the data, and was tried again.
	late := researchSpec(8, time.Time{}, 3, "2023-01-01T00:00:00Z", "EURUSD")
	o.operation("op_c1", "c", 0, 0, oldRow{kind: research, status: ktrdr.Failed, spec: late, claimed: 200, completed: 400, saved: true})
	o.operation("op_c2", "c", 0, 0, oldRow{
		kind: research, status: ktrdr.Completed, spec: late, claimed: 200, completed: 410, retryOf: "op_c1", result: `{"outcome":"completed"}`,
	})
	o.operation("op_c3", "c", 0, 1, oldRow{kind: research, status: ktrdr.Cancelled, spec: late, completed: 405, reason: "by hand"})
	o.note("trial", "c/0/0", "op_c2", "c", `{"strategy_name":"again","status":"evaluated","sharpe_ratio":0.25,"total_trades":1}`)

	// Waits for its next generation.
	o.operation("op_d1", "d", 0, 0, oldRow{
		kind: research, status: ktrdr.Failed, spec: researchSpec(1, later, 1, "2020-01-01T00:00:00Z", "EURUSD"), claimed: 200, completed: 500,
	})
	// Was cancelled, and a person has resumed one of it.
	o.operation("op_e1", "e", 0, 0, oldRow{
		kind: research, status: ktrdr.Cancelled, spec: euro, claimed: 200, completed: 600, reason: sentence,
	})
	o.operation("op_e2", "e", 0, 1, oldRow{kind: research, status: ktrdr.Running, spec: euro, claimed: 610})
	// Its time is over.
	o.operation("op_f1", "f", 0, 0, oldRow{
		kind: research, status: ktrdr.Completed, spec: researchSpec(1, time.Unix(1e9, 0).UTC(), 1, "2020-01-01T00:00:00Z", "EURUSD"),
		claimed: 200, completed: 700,
	})

	// By hand.
	o.operation("op_t1", "", 0, 0, oldRow{
		kind: ktrdr.Training, status: ktrdr.Completed, spec: `{"bars":[{"symbol":"GOLD","timeframe":"1d"}]}`, claimed: 1, completed: 2,
		result: `{"result_hash":"` + hash + `"}`,
	})
	o.operation("op_t2", "", 0, 0, oldRow{
		kind: ktrdr.Backtesting, status: ktrdr.Completed,
		spec: `{"symbol":"GOLD","bars":[{"symbol":"OIL","timeframe":"1d"},{"symbol":"GOLD","timeframe":"1d"}]}`, claimed: 1, completed: 2,
	})
	o.note("trial", "model/1/GOLD", "op_t1", "", `{"strategy_name":"hand","status":"trained","total_trades":0}`)
	o.note("trial", "model/2/GOLD", "op_t2", "", `{"strategy_name":"hand","status":"evaluated","sharpe_ratio":2,"total_trades":5}`)
	o.note("opening", "op_t2", "op_t2", "", `{"of":"op_b1","by":"op_t2","spans":[{"symbol":"GOLD","timeframe":"1d"}]}`)
	o.note("opening", "op_t3", "op_gone", "", `{"by":"op_gone","spans":null}`)
	o.note("look", "model/1/GOLD/5", "op_t1", "", `{"by":"op_t1","spans":[{"symbol":"GOLD"}]}`)
	mustRaw(t, s, `DELETE FROM meta WHERE key = 'restoring'`)
}

func onOldDatabases(t *testing.T, test func(t *testing.T, url string, later time.Time)) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where, later := url(t), time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
			old, err := open(t.Context(), Config{URL: where}, stepsUpTo(t, "00012~"))
			if err != nil {
				t.Fatal(err)
			}
			theOldDatabase(t, old, later)
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			test(t, where, later)
		})
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func micro(us int64) time.Time { return time.UnixMicro(us).UTC() }

func TestOpen_MakesTheLedgerOfAnOlderDatabase(t *testing.T) {
	onOldDatabases(t, func(t *testing.T, url string, later time.Time) {
		s := openStore(t, url, storetest.Types(fanOut(1)))
		runsOfTheOld(t, s, later)
		tradedOfTheOld(t, s)
		finishLive(t, s)
	})
}

func runsOfTheOld(t *testing.T, s *Store, later time.Time) {
	t.Helper()
	object := json.RawMessage("{}")
	for id, want := range map[string]ktrdr.Run{
		"a": {
			Goal: "goal of a", CreatedAt: micro(101), Until: later, Size: 2, Planned: 4, State: ktrdr.RunRunning, Generations: 2, Closed: 1,
			RunCounts: ktrdr.RunCounts{Created: 4, Open: 2, Completed: 1, Rejected: 1, Finalists: 1, Looks: 1, Claims: 1},
		},
		"b": {
			Goal: "goal of b", CreatedAt: micro(105), Size: 8, Planned: 3, State: ktrdr.RunCancelled, CancelledAt: micro(310),
			CancelReason: "The run was cancelled",
			Generations:  2, Closed: 1, RunCounts: ktrdr.RunCounts{Created: 3, Open: 1, Completed: 1, Cancelled: 1, Finalists: 1, Looks: 1},
		},
		"c": {
			Goal: "goal of c", CreatedAt: micro(108), Size: 8, Planned: 2, State: ktrdr.RunCompleted, EndedAt: micro(410), ToldAt: micro(410),
			Generations: 1, Closed: 1, RunCounts: ktrdr.RunCounts{Created: 2, Completed: 1, Failed: 1, Cancelled: 1},
		},
		"d": {
			Goal: "goal of d", CreatedAt: micro(111), Until: later, Size: 1, Planned: 1, State: ktrdr.RunRunning,
			Generations: 1, Closed: 1, RunCounts: ktrdr.RunCounts{Created: 1, Failed: 1},
		},
		"e": {
			Goal: "goal of e", CreatedAt: micro(112), Size: 2, Planned: 2, State: ktrdr.RunRunning,
			Generations: 1, Closed: 0, RunCounts: ktrdr.RunCounts{Created: 2, Open: 1, Cancelled: 1},
		},
		"f": {
			Goal: "goal of f", CreatedAt: micro(114), Until: time.Unix(1e9, 0).UTC(), Size: 1, Planned: 1, State: ktrdr.RunCompleted,
			EndedAt: micro(700), ToldAt: micro(700), Generations: 1, Closed: 1, RunCounts: ktrdr.RunCounts{Created: 1, Completed: 1},
		},
	} {
		want.ID, want.Request = id, object
		got, err := s.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "run "+id, got, want)
	}
	for id, want := range map[ktrdr.OperationID]struct {
		run, rung string
		trials    int
	}{
		"op_a1": {"a", "finalist", 40}, "op_a2": {"a", "gate_rejected", 40}, "op_a3": {"a", "", 40}, "op_a3c": {"a", "", 0},
		"op_a1x": {"a", "", 0},
		"op_c2":  {"c", "nothing", 3}, "op_t1": {"", "", 0},
	} {
		op, err := s.Operation(t.Context(), id)
		if err != nil || op.Run != want.run || op.Rung != want.rung || op.Trials != want.trials {
			t.Errorf("%s belongs to %q as %q and counts %d (%v), want %+v", id, op.Run, op.Rung, op.Trials, err, want)
		}
	}
	if err := s.readOne(t.Context(), func(r queryer) error {
		_, child, err := family(t.Context(), r, "op_a3")
		if err == nil && (len(child) != 1 || child[0].generation != 1) {
			t.Errorf("the child of a research of generation 1: %+v", child)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// tradedOfTheOld looks at markets, trials and looks.
func tradedOfTheOld(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	all, err := s.Markets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{} // by symbol
	if err := s.readOne(ctx, func(r queryer) error {
		return eachRow(ctx, r, func(row scanner) error {
			var symbol, id string
			err := row.Scan(&symbol, &id)
			ids[symbol] = id
			return err
		}, `SELECT symbol, id FROM markets`)
	}); err != nil {
		t.Fatal(err)
	}
	type market struct {
		Trials, Looks int
		Holdout       string
		LookedUntil   string // close of the last bar of its looks
	}
	got := map[string]market{}
	for _, m := range all {
		for symbol, id := range ids {
			if id == m.ID {
				got[symbol] = market{m.Trials, m.Looks, m.HoldoutFrom.Format(time.DateOnly), m.LookedUntil.Format(time.DateOnly)}
			}
		}
	}
	equal(t, "markets", got, map[string]market{
		// a1, a2 and c2 were noted, and b1; a3, a4, b3 and e2 are open; b2 and c1 can be resumed
		"EURUSD": {10, 1, "2023-01-01", "2024-02-01"},
		"GOLD":   {5, 2, "2021-06-01", "1970-01-01"}, // b1, b2, b3 and two by hand; the looks of b1 and of the backtest
		"OIL":    {1, 0, "0001-01-01", "0001-01-01"},
	})

	page, err := s.Trials(ctx, ktrdr.TrialQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []ktrdr.Type{"", ktrdr.AgentResearch} {
		listed, err := s.Trials(ctx, ktrdr.TrialQuery{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		listed.Trials = slices.DeleteFunc(listed.Trials, func(t ktrdr.Trial) bool { return kind != "" && t.Type != kind })
		points, err := s.TrialPoints(ctx, ktrdr.TrialQuery{Type: kind})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprintf("points of type %q", kind), points, storetest.PointsOf(listed.Trials))
	}
	trials := map[ktrdr.OperationID]ktrdr.Trial{}
	for _, one := range page.Trials {
		if _, twice := trials[one.Operation]; twice {
			t.Errorf("%s is listed twice", one.Operation)
		}
		trials[one.Operation] = one
	}
	if len(trials) != 12 {
		t.Errorf("%d trials are listed, want 12", len(trials))
	}
	first := trials["op_a1"]
	if first.Market != ids["EURUSD"] || first.Key != "a/0/0" || first.Timeframes != "1h 4h" || first.Symbols != "EURUSD" ||
		first.Strategy != "trend" ||
		*first.Sharpe != 1.5 || *first.NetReturn != 0.5 || *first.MaxDrawdown != 0.25 || first.Trades != 9 ||
		first.Hash.String() != strings.Repeat("ab", 32) ||
		!first.Claim || *first.Adjusted != 0.01 || first.Look != "op_a1x" || first.Run != "a" {
		t.Errorf("trial of op_a1: %+v", first)
	}
	if hand := trials["op_t2"]; hand.Market != ids["GOLD"] || *hand.Sharpe != 2 || hand.Run != "" {
		t.Errorf("a backtest by hand is on %s: %+v", hand.Market, hand)
	}
	best, err := s.Trials(ctx, ktrdr.TrialQuery{ByScore: true, Market: ids["EURUSD"]})
	if err != nil {
		t.Fatal(err)
	}
	var order []ktrdr.OperationID
	for _, one := range best.Trials {
		order = append(order, one.Operation)
	}
	equal(t, "the best on EURUSD, of those that completed", order, []ktrdr.OperationID{"op_a1", "op_c2", "op_a2"})
	looksOfTheOld(t, s, ids)
}

func looksOfTheOld(t *testing.T, s *Store, ids map[string]string) {
	t.Helper()
	euro, gold := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2021, 6, 1, 0, 0, 0, 0, time.UTC)
	page, err := s.Looks(t.Context(), ktrdr.LookQuery{})
	if err != nil {
		t.Fatal(err)
	}
	type look struct {
		Kind    ktrdr.LookKind
		Of, By  ktrdr.OperationID
		Run     string
		Numbers []ktrdr.LookMarket
		Before  int
		Claim   bool
		Ended   bool
		P       float64
	}
	got := map[string]look{}
	for _, k := range page.Looks {
		one := look{k.Kind, k.Research, k.Operation, k.Run, k.Markets, k.Before, k.Claim, !k.EndedAt.IsZero(), 0}
		if k.Adjusted != nil {
			one.P = *k.Adjusted
		}
		got[k.Key] = one
	}
	type at = []ktrdr.LookMarket
	equal(t, "looks", got, map[string]look{
		"a/0/0": {ktrdr.LookConfirmation, "op_a1", "op_a1x", "a", at{{Market: ids["EURUSD"], Number: 1, Holdout: euro}}, 0, true, true, 0.01},
		"b/0/0": {ktrdr.LookConfirmation, "op_b1", "op_gone", "b", at{{Market: ids["GOLD"], Number: 1, Holdout: gold}}, 0, false, true, 0},
		"op_t2": {ktrdr.LookByHand, "op_b1", "op_t2", "", at{{Market: ids["GOLD"], Number: 2, Holdout: gold}}, 1, false, true, 0},
		"op_t3": {ktrdr.LookByHand, "", "op_gone", "", nil, 0, false, true, 0},
	})
	if k, err := s.LookOf(t.Context(), "op_t2"); err != nil || k.Key != "op_t2" {
		t.Errorf("look of the backtest: %+v, %v", k, err)
	}
}

// finishLive finishes the live operations under the new rules.
func finishLive(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	claim := ktrdr.Claimed{Operation: "op_a3c", Epoch: 1}
	if _, err := s.Report(ctx, ktrdr.Heartbeat{Worker: "", Running: []ktrdr.Claimed{claim}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(ctx, ktrdr.Finished{Operation: claim.Operation, Epoch: claim.Epoch, Outcome: ktrdr.Completed}); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, s, "op_a3", ktrdr.Completed)
	if n, err := s.StartQueued(ctx, "research", 9); err != nil || n != 1 { // op_a4; op_b3 is of a cancelled run
		t.Errorf("%d started, %v, want 1", n, err)
	}
	wantStatus(t, s, "op_b3", ktrdr.Pending)
	finish(t, s, claimDummy(t, s, ""), ktrdr.Completed)
	for _, changed := range []bool{true, false} {
		if got, err := s.CloseGeneration(ctx, "a", 1, nil); err != nil || got != changed {
			t.Errorf("closed: %t, %v, want %t", got, err, changed)
		}
	}
	run, err := s.Run(ctx, "a")
	if err != nil || run.Open != 0 || run.Completed != 3 || run.Closed != 2 {
		t.Errorf("run %+v, %v", run, err)
	}
	for more := true; more; {
		if more, err = s.CancelBatch(ctx, "b"); err != nil {
			t.Fatal(err)
		}
	}
	wantStatus(t, s, "op_b3", ktrdr.Cancelled)
	if ended, err := s.EndRun(ctx, "b"); err != nil || !ended {
		t.Errorf("ended: %t, %v", ended, err)
	}
	euro, err := s.AddSeries(ctx, ktrdr.NewSeries{MarketSeries: ktrdr.MarketSeries{Symbol: "EURUSD", Timeframe: "1h", Hash: ktrdr.Hash{1}}})
	if err != nil {
		t.Fatal(err)
	}
	gold, err := s.AddSeries(ctx, ktrdr.NewSeries{
		MarketSeries: ktrdr.MarketSeries{Symbol: "GOLD", Timeframe: "1h", Hash: ktrdr.Hash{2}}, Same: []string{euro.Market},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Market(ctx, gold.Market)
	if err != nil || gold.Market != euro.Market || m.Trials != 15 || m.Looks != 3 || m.HoldoutFrom.Year() != 2023 {
		t.Errorf("the markets that were counted by name: %+v, %v, want all that both had", m, err)
	}
}

func TestOpen_TheLedgerCanBeTakenBack(t *testing.T) {
	onOldDatabases(t, func(t *testing.T, url string, _ time.Time) {
		s, err := open(t.Context(), Config{URL: url}, stepsUpTo(t, "00012~"))
		if err != nil {
			t.Fatal(err)
		}
		before := shapeOf(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := install(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			down(t, url) // the sums of reports
			down(t, url) // the ledger
		}
		s = openTest(t, url, stepsUpTo(t, "00012~"))
		equal(t, "schema", shapeOf(t, s), before)
		var run string
		if err := s.readOne(t.Context(), func(r queryer) error {
			return r.row(t.Context(), `SELECT run FROM operations WHERE id = 'op_a3c'`).Scan(&run)
		}); err != nil || run != "" {
			t.Errorf("a child belongs to %q, %v", run, err)
		}
	})
}

// shapeOf lists tables, columns, indexes, triggers and functions.
func shapeOf(t *testing.T, s *Store) []string {
	t.Helper()
	text := query(`SELECT type || ' ' || name || ' ' || COALESCE(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'`)
	if s.isPostgres() {
		text = `SELECT 'column ' || table_name || ' ' || column_name || ' ' || data_type FROM information_schema.columns
			WHERE table_schema = 'public'
			UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
			UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
			UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace`
	}
	var all []string
	if err := s.readOne(t.Context(), func(r queryer) (err error) {
		all, err = firstColumn(t.Context(), r, text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for i, line := range all { // SQLite keeps a table's text, in which a column that came and went leaves blanks
		all[i] = strings.Join(strings.Fields(line), " ")
	}
	slices.Sort(all)
	return all
}

// down takes the ledger back, and what came after it.
func down(t *testing.T, url string) {
	t.Helper()
	dialect, driver, name := gooseSQLite, "sqlite", url
	if strings.HasPrefix(url, "postgres") {
		dialect, driver = goosePostgres, "pgx"
	} else {
		name = dsn(url, "query_only(0)")
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	dir, err := fs.Sub(migrations, path.Join("migrations", folders[dialect]))
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(dialect, db, dir, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
}
