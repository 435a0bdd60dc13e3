package sqlstore

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

// endsAtOnce is a plan that ends a research at once, as its metadata says.
type endsAtOnce struct{}

// end is how a research of a test ends.
type end struct {
	Outcome ktrdr.Status `json:"outcome"`
	Rung    string       `json:"rung"`
	Z       *float64     `json:"z"`
	Sharpe  *float64     `json:"sharpe"`
	Unaided bool         `json:"unaided"`
	Message string       `json:"message"`
}

func (endsAtOnce) Next(parent ktrdr.Operation, _ []ktrdr.Operation, _ ktrdr.Why) (ktrdr.Decision, error) {
	var e end
	if err := json.Unmarshal(parent.Metadata, &e); err != nil || e.Outcome == "" {
		return ktrdr.Decision{}, err
	}
	f := &ktrdr.Finished{Outcome: e.Outcome, Rung: e.Rung, Score: e.Z, Result: parent.Metadata}
	if e.Outcome == ktrdr.Failed {
		f.ErrorMessage, f.Error = e.Message, ktrdr.NewFailure(ktrdr.CodeFailed, errors.New(e.Message))
	}
	return ktrdr.Decision{Finish: f}, nil
}

// reporting is a store in which researches end at once.
type reporting struct {
	*testing.T
	s      *Store
	market string
	n      int
}

// eachReporting runs a test on both stores, with one market.
func eachReporting(t *testing.T, test func(l *reporting)) {
	t.Helper()
	for name, url := range map[string]func(testing.TB) string{"SQLite": InstalledSQLite, "PostgreSQL": InstalledPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			types := storetest.Types(nil)
			types[ktrdr.AgentResearch] = ktrdr.Definition{Plan: endsAtOnce{}, Ledger: func(op ktrdr.Operation) ktrdr.LedgerEntry {
				var e end
				_ = json.Unmarshal(op.Result, &e)
				return ktrdr.LedgerEntry{Trial: &ktrdr.TrialFigures{Strategy: "s", Sharpe: e.Sharpe, SharpeZ: e.Z, AlphaZ: e.Z, Unaided: e.Unaided}}
			}}
			s, err := Open(t.Context(), Config{URL: url(t), Types: types})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			l := &reporting{T: t, s: s}
			l.market = l.newMarket("EURUSD")
			test(l)
		})
	}
}

func (l *reporting) newMarket(symbol string) string {
	l.Helper()
	l.n++
	m, err := l.s.AddSeries(l.Context(), ktrdr.NewSeries{MarketSeries: ktrdr.MarketSeries{
		Symbol: symbol, Timeframe: "1h", Hash: ktrdr.Hash{byte(l.n)}, Bars: 10, Reason: "test",
		Prices: ktrdr.Artifact{Name: "prices", SHA256: ktrdr.Hash{byte(l.n)}, Size: 1},
	}})
	if err != nil {
		l.Fatal(err)
	}
	return m.Market
}

// research creates a research of a run that ends as it says.
func (l *reporting) research(run string, index int, e end, markets ...string) ktrdr.Operation {
	l.Helper()
	if len(markets) == 0 {
		markets = []string{l.market}
	}
	about, err := json.Marshal(e)
	if err != nil {
		l.Fatal(err)
	}
	n := ktrdr.NewOperation{
		Type: ktrdr.AgentResearch, BackendLocal: true, HasPlan: true, Spec: json.RawMessage(`{}`), Metadata: about,
		Queue:  &ktrdr.Queue{Name: "research", Limit: 100, Force: true, Run: run, Index: index},
		NewRun: &ktrdr.NewRun{Size: 8, Planned: 8}, Trial: &ktrdr.NewTrial{Own: 1},
	}
	for _, m := range markets {
		n.Trial.Markets = append(n.Trial.Markets, ktrdr.TrialMarket{Market: m, Symbols: "EURUSD", Timeframes: "1h"})
	}
	op, err := l.s.Create(l.Context(), n, ktrdr.IdempotencyKey{})
	if err != nil {
		l.Fatal(err)
	}
	if e.Outcome != "" && op.Status != e.Outcome {
		l.Fatalf("%s is %s: %s, want %s", op.ID, op.Status, op.ErrorMessage, e.Outcome)
	}
	return op
}

// look confirms a research.
func (l *reporting) look(of ktrdr.Operation, claim bool) {
	l.Helper()
	look := &ktrdr.NewLook{Kind: ktrdr.LookConfirmation, Research: of.ID, Markets: []string{l.market}}
	op, err := l.s.Create(l.Context(), ktrdr.NewOperation{
		Type: ktrdr.AgentConfirm, BackendLocal: true, Run: of.Run, Spec: json.RawMessage(`{}`), Look: look,
	}, ktrdr.IdempotencyKey{})
	if err != nil {
		l.Fatal(err)
	}
	mustRaw(l.T, l.s, `UPDATE looks SET ended_at = reserved_at, claim = $2, adjusted_p = 0.01 WHERE operation_id = $1`, op.ID, bit(claim))
}

// instant waits until the clock of the store has gone on, and returns it.
func (l *reporting) instant() time.Time {
	l.Helper()
	read := func() (us int64) {
		if err := l.s.readOne(l.Context(), func(r queryer) error { return r.row(l.Context(), `SELECT {now}`).Scan(&us) }); err != nil {
			l.Fatal(err)
		}
		return us
	}
	first := read()
	for {
		if now := read(); now > first+2000 {
			return instant(now)
		}
	}
}

func TestReports_CountWhatEndedSince(t *testing.T) {
	eachReporting(t, func(l *reporting) {
		l.research("run_old", 0, end{Outcome: ktrdr.Completed, Rung: ktrdr.RungFinalist})
		from := l.instant()
		l.research("run_a", 0, end{Outcome: ktrdr.Completed, Rung: ktrdr.RungFinalist})
		l.research("run_a", 1, end{Outcome: ktrdr.Completed, Rung: "nothing"})
		l.research("run_a", 2, end{Outcome: ktrdr.Completed, Rung: "nothing"})
		l.research("run_a", 3, end{Outcome: ktrdr.Completed, Rung: ktrdr.RungRejected})
		l.research("run_a", 4, end{Outcome: ktrdr.Failed})
		l.research("run_a", 5, end{}) // it still runs
		got, err := l.s.EndedSince(l.Context(), from)
		want := []ktrdr.EndedCount{
			{Type: ktrdr.AgentResearch, Status: ktrdr.Completed, Rung: "finalist", N: 1},
			{Type: ktrdr.AgentResearch, Status: ktrdr.Completed, Rung: "gate_rejected", N: 1},
			{Type: ktrdr.AgentResearch, Status: ktrdr.Completed, Rung: "nothing", N: 2},
			{Type: ktrdr.AgentResearch, Status: ktrdr.Failed, N: 1},
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			l.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestReports_ListFailuresNewestFirst(t *testing.T) {
	eachReporting(t, func(l *reporting) {
		old := l.research("run_a", 0, end{Outcome: ktrdr.Failed, Message: "old"})
		from := l.instant()
		newer := l.research("run_a", 1, end{Outcome: ktrdr.Failed, Message: "disk full"})
		l.instant()
		x := running(l.T, l.s) // of no run, and without a checkpoint
		if _, err := l.s.Finish(l.Context(), ktrdr.Finished{
			Operation: x.op, Epoch: 1, Outcome: ktrdr.Failed, ErrorMessage: "broken", Error: ktrdr.NewFailure(ktrdr.CodePanic, errors.New("broken")),
		}); err != nil {
			l.Fatal(err)
		}
		l.research("run_a", 2, end{Outcome: ktrdr.Completed, Rung: "nothing"})
		failed := func(op ktrdr.Operation, message string) ktrdr.FailedOperation {
			return ktrdr.FailedOperation{ID: op.ID, Type: ktrdr.AgentResearch, Code: ktrdr.CodeFailed, Message: message, Resumable: true}
		}
		dummy := ktrdr.FailedOperation{ID: x.op, Type: ktrdr.Dummy, Code: ktrdr.CodePanic, Message: "broken"}
		for name, c := range map[string]struct {
			q    ktrdr.FailureQuery
			want []ktrdr.FailedOperation
		}{
			"since":      {ktrdr.FailureQuery{Since: from}, []ktrdr.FailedOperation{dummy, failed(newer, "disk full")}},
			"of a run":   {ktrdr.FailureQuery{Run: "run_a"}, []ktrdr.FailedOperation{failed(newer, "disk full"), failed(old, "old")}},
			"both":       {ktrdr.FailureQuery{Run: "run_a", Since: from}, []ktrdr.FailedOperation{failed(newer, "disk full")}},
			"the newest": {ktrdr.FailureQuery{Limit: 1}, []ktrdr.FailedOperation{dummy}},
		} {
			got, err := l.s.Failures(l.Context(), c.q)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				l.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
		if _, err := l.s.Failures(l.Context(), ktrdr.FailureQuery{Limit: 1001}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			l.Errorf("a limit of 1001: %v, want CodeInvalid", err)
		}
	})
}

// Every release says in a field who made it, so that nothing reads the sentence.
func TestReports_CountTheEventsOfProcesses(t *testing.T) {
	eachReporting(t, func(l *reporting) {
		ctx := l.Context()
		mustRaw(l.T, l.s, `INSERT INTO events (operation_id, kind, at, epoch, data) VALUES ('', 'paused', 1, 0, '{}')`)
		from := l.instant()
		register := func(id ktrdr.WorkerID, types ...ktrdr.Type) {
			l.Helper()
			if _, err := l.s.RegisterWorker(ctx, ktrdr.Registration{
				Protocol: ktrdr.Protocol, Worker: ktrdr.Worker{ID: id, Types: types, Slots: 1},
			}); err != nil {
				l.Fatal(err)
			}
		}
		register("w-1", ktrdr.Dummy)
		register("w-2", ktrdr.Dummy)
		if _, err := l.s.RegisterWorker(ctx, ktrdr.Registration{
			Protocol: ktrdr.Protocol, Worker: ktrdr.Worker{ID: "w-3", HeldBy: "b-1", Slots: 1},
		}); err != nil {
			l.Fatal(err)
		}
		x := running(l.T, l.s)
		x.release(1)
		x.claim(2)
		if err := l.s.Release(ctx, ktrdr.Released{Operation: x.op, Epoch: 2, Reason: "test", AfterSeconds: 0.000001}); err != nil {
			l.Fatal(err)
		}
		for _, data := range []string{
			`{"code":"orphaned","worker_id":"w-1"}`, `{"code":"orphaned","worker_id":"w-1"}`, `{"code":"poison","worker_id":"w-2"}`,
			`{"code":"failed","worker_id":"w-9"}`,
		} {
			mustRaw(l.T, l.s, `INSERT INTO events (operation_id, kind, at, epoch, data) VALUES ('op_1', 'failed', $1, 1, $2)`, micros(from), data)
		}
		for i := range 11 {
			for _, paused := range []bool{true, false} {
				if err := l.s.SetPaused(ctx, paused); err != nil {
					l.Fatal(i, err)
				}
				l.instant()
			}
		}
		m, err := l.s.MachineSince(ctx, from)
		if err != nil {
			l.Fatal(err)
		}
		want := []ktrdr.EventCount{
			{Kind: "failed", Code: "failed", N: 1},
			{Kind: "failed", Code: "orphaned", N: 2},
			{Kind: "failed", Code: "poison", N: 1},
			{Kind: "paused", N: 11},
			{Kind: "released", By: "release", N: 1},
			{Kind: "released", By: "wait", N: 1},
			{Kind: "unpaused", N: 11},
			{Kind: "worker_registered", N: 2},
			{Kind: "worker_registered", HeldBy: "b-1", N: 1},
		}
		if diff := cmp.Diff(want, m.Events); diff != "" {
			l.Errorf("(-want +got):\n%s", diff)
		}
		if n := len(m.Pauses); n != 20 || m.Pauses[0].Kind != ktrdr.EventPaused || m.Pauses[n-1].Kind != ktrdr.EventUnpaused ||
			m.Pauses[n-1].At.Before(m.Pauses[0].At) {
			l.Errorf("%d events of pauses, want the newest 20 with the oldest first: %+v", n, m.Pauses)
		}
	})
}

func TestReports_WorkOfADeadBackendIsReleasedByRecovery(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		from := time.Now().Add(-time.Hour)
		op, err := s.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy, BackendLocal: true, Spec: json.RawMessage(`{}`)},
			ktrdr.IdempotencyKey{})
		if err != nil {
			t.Fatal(err)
		}
		if task, err := s.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1},
			"b-1"); err != nil || task == nil || task.Operation != op.ID {
			t.Fatalf("claim %+v, %v", task, err)
		}
		if _, err := s.Start(t.Context(), ktrdr.Backend{ID: "b", Incarnation: "b-2"},
			ktrdr.RecoveryPolicy{Timeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
		m, err := s.MachineSince(t.Context(), from)
		if err != nil || len(m.Events) != 2 || m.Events[0] != (ktrdr.EventCount{Kind: ktrdr.EventBackendStarted, N: 1}) ||
			m.Events[1] != (ktrdr.EventCount{Kind: ktrdr.EventReleased, By: ktrdr.ReleasedByRecovery, N: 1}) {
			t.Errorf("%+v, %v, want a start and one release by recovery", m.Events, err)
		}
	})
}

// Report, leaderboard, memory and results show the same numbers: those of the
// market.
func TestTally_SumsUpTheCountersOfTheMarkets(t *testing.T) {
	eachReporting(t, func(l *reporting) {
		second := l.newMarket("USDCAD")
		l.newMarket("GBPUSD") // that nothing was tried on
		first := l.research("run_old", 0, end{Outcome: ktrdr.Completed, Rung: ktrdr.RungFinalist})
		l.look(first, true)
		mustRaw(l.T, l.s, `UPDATE runs SET ended_at = {now}, state = 'COMPLETED' WHERE id = 'run_old'`)
		l.research("run_long", 0, end{Outcome: ktrdr.Completed, Rung: "nothing", Unaided: true}, second)
		from := l.instant()
		l.research("run_new", 0, end{Outcome: ktrdr.Completed, Rung: "nothing"})
		a := l.research("run_new", 1, end{Outcome: ktrdr.Completed, Rung: ktrdr.RungFinalist, Unaided: true})
		l.look(a, false)
		for name, c := range map[string]struct {
			q    ktrdr.TallyQuery
			want ktrdr.Tally
		}{
			"all":           {ktrdr.TallyQuery{}, ktrdr.Tally{Markets: 2, Trials: 4, Looks: 2, Claims: 1, Unaided: 2}},
			"a run":         {ktrdr.TallyQuery{Run: "run_new"}, ktrdr.Tally{Markets: 1, Trials: 3, Looks: 2, Unaided: 1}},
			"an old run":    {ktrdr.TallyQuery{Run: "run_old"}, ktrdr.Tally{Markets: 1, Trials: 3, Looks: 2, Claims: 1}},
			"since":         {ktrdr.TallyQuery{Since: from}, ktrdr.Tally{Markets: 2, Trials: 4, Looks: 2, Unaided: 1}}, // run_long is open
			"in the future": {ktrdr.TallyQuery{Since: time.Now().Add(time.Hour)}, ktrdr.Tally{Markets: 2, Trials: 4, Looks: 2}},
		} {
			got, err := l.s.Tally(l.Context(), c.q)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				l.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
		if _, err := l.s.Tally(l.Context(), ktrdr.TallyQuery{Run: "run_none"}); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			l.Errorf("of a run that is not there: %v, want CodeNotFound", err)
		}
		if _, err := l.s.Tally(l.Context(), ktrdr.TallyQuery{Run: "run_new", Since: from}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			l.Errorf("of a run since an instant: %v, want CodeInvalid", err)
		}
	})
}

// A market that was tried or looked at by hand is of the span, without any run.
func TestTally_SinceCountsWhatWasDoneByHand(t *testing.T) {
	eachReporting(t, func(l *reporting) {
		looked := l.newMarket("USDCAD")
		l.newMarket("GBPUSD")
		byHand := func(market string) {
			l.Helper()
			n := ktrdr.NewOperation{
				Type: ktrdr.Dummy, Spec: json.RawMessage(`{}`), Trial: &ktrdr.NewTrial{
					Own: 1, Markets: []ktrdr.TrialMarket{{Market: market, Symbols: "S"}},
				},
			}
			if _, err := l.s.Create(l.Context(), n, ktrdr.IdempotencyKey{}); err != nil {
				l.Fatal(err)
			}
		}
		byHand(looked)
		from := l.instant()
		markets := func() int {
			l.Helper()
			tally, err := l.s.Tally(l.Context(), ktrdr.TallyQuery{Since: from})
			if err != nil {
				l.Fatal(err)
			}
			return tally.Markets
		}
		if n := markets(); n != 0 {
			l.Errorf("%d markets before anything was done, want none", n)
		}
		byHand(l.market)
		if n := markets(); n != 1 {
			l.Errorf("%d markets after a trial, want 1", n)
		}
		if _, err := l.s.ReserveLook(l.Context(), ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "k", Markets: []string{looked}}); err != nil {
			l.Fatal(err)
		}
		if n := markets(); n != 2 {
			l.Errorf("%d markets after a look at another, want 2", n)
		}
	})
}

func TestTrials_AreSelectedByTimeClaimAndOperation(t *testing.T) {
	eachReporting(t, func(l *reporting) {
		z := func(x float64) *float64 { return &x }
		old := l.research("run_a", 0, end{Outcome: ktrdr.Completed, Rung: ktrdr.RungFinalist, Z: z(9), Sharpe: z(3)})
		l.look(old, true)
		from := l.instant()
		weak := l.research("run_a", 1, end{Outcome: ktrdr.Completed, Rung: "nothing", Z: z(1), Sharpe: z(1)})
		strong := l.research("run_b", 0, end{Outcome: ktrdr.Completed, Rung: ktrdr.RungFinalist, Z: z(2), Sharpe: z(2), Unaided: true})
		l.research("run_b", 1, end{Outcome: ktrdr.Failed})
		ids := func(q ktrdr.TrialQuery) (all []ktrdr.OperationID) {
			l.Helper()
			page, err := l.s.Trials(l.Context(), q)
			if err != nil {
				l.Fatal(err)
			}
			for _, t := range page.Trials {
				all = append(all, t.Operation)
				if t.MarketTrials != 4 || t.MarketLooks != 1 {
					l.Errorf("%s: %d trials and %d looks on its market, want 4 and 1", t.Operation, t.MarketTrials, t.MarketLooks)
				}
			}
			return all
		}
		for name, c := range map[string]struct {
			q    ktrdr.TrialQuery
			want []ktrdr.OperationID
		}{
			"that ended since": {ktrdr.TrialQuery{Since: from}, []ktrdr.OperationID{strong.ID, weak.ID}},
			"of operations":    {ktrdr.TrialQuery{Of: []ktrdr.OperationID{weak.ID, old.ID}}, []ktrdr.OperationID{weak.ID, old.ID}},
			"of a run":         {ktrdr.TrialQuery{Run: "run_a", Ended: true}, []ktrdr.OperationID{weak.ID, old.ID}},
		} {
			if diff := cmp.Diff(c.want, ids(c.q)); diff != "" {
				l.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		page, err := l.s.Trials(l.Context(), ktrdr.TrialQuery{ByScore: true, Since: from, Limit: 1})
		if err != nil || len(page.Trials) != 1 || page.Trials[0].Operation != strong.ID || !page.Trials[0].Unaided || page.Trials[0].LookEnded {
			l.Errorf("the best since: %+v, %v, want %s", page.Trials, err, strong.ID)
		}
		page, err = l.s.Trials(l.Context(), ktrdr.TrialQuery{Of: []ktrdr.OperationID{old.ID}})
		if err != nil || len(page.Trials) != 1 || !page.Trials[0].Claim || !page.Trials[0].LookEnded || page.Trials[0].Adjusted == nil {
			l.Errorf("the claimed one: %+v, %v", page.Trials, err)
		}
		looks, err := l.s.Looks(l.Context(), ktrdr.LookQuery{Since: from})
		if err != nil || len(looks.Looks) != 0 {
			l.Errorf("looks since: %+v, %v, want none", looks.Looks, err)
		}
	})
}

// The event of an end says of what type the operation is, so that nothing reads
// the type out of an id.
func TestEvents_AnEndSaysTypeAndRung(t *testing.T) {
	eachReporting(t, func(l *reporting) {
		op := l.research("run_a", 0, end{Outcome: ktrdr.Completed, Rung: ktrdr.RungRejected})
		events, err := l.s.Events(l.Context(), ktrdr.EventQuery{Operation: op.ID, Limit: 100})
		if err != nil || len(events) == 0 {
			l.Fatal(events, err)
		}
		var said struct {
			Type string `json:"operation_type"`
			Rung string `json:"rung"`
			To   string `json:"to"`
		}
		last := events[len(events)-1]
		if err := json.Unmarshal(last.Data, &said); err != nil || said.Type != "agent_research" || said.Rung != "gate_rejected" ||
			said.To != "COMPLETED" {
			l.Errorf("the end says %s, %v", last.Data, err)
		}
	})
}

// What an earlier version wrote has the columns that reports ask for.
func TestOpen_AnOlderDatabaseCanBeReported(t *testing.T) {
	onOldDatabases(t, func(t *testing.T, url string, _ time.Time) {
		s, err := open(t.Context(), Config{URL: url}, stepsUpTo(t, "00012~"))
		if err != nil {
			t.Fatal(err)
		}
		var id ktrdr.OperationID
		if err := s.readOne(t.Context(), func(r queryer) error {
			return r.row(t.Context(), `SELECT n.operation_id FROM notes AS n JOIN operations AS o ON o.id = n.operation_id
				WHERE n.kind = 'trial' AND o.status = 'COMPLETED' ORDER BY n.operation_id LIMIT 1`).Scan(&id)
		}); err != nil {
			t.Fatal(err)
		}
		mustRaw(t, s,
			`UPDATE operations SET result = '{"success":true,"instead":["Designed by the program itself"],"outcome":"completed"}' WHERE id = $1`, id)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, url, nil)
		for what, text := range map[string]query{
			"trials that ended, without an instant": `SELECT COUNT(*) FROM trials AS t JOIN operations AS o ON o.id = t.operation_id
				WHERE t.ended = 1 AND o.completed_at IS NOT NULL AND (t.ended_at IS NULL OR t.ended_at <> o.completed_at)`,
			"markets without an instant": `SELECT COUNT(*) FROM markets WHERE tried_at = 0`,
		} {
			var n int
			if err := s.readOne(t.Context(), func(r queryer) error { return r.row(t.Context(), text).Scan(&n) }); err != nil || n != 0 {
				t.Errorf("%s: %d, %v, want none", what, n, err)
			}
		}
		page, err := s.Trials(t.Context(), ktrdr.TrialQuery{Of: []ktrdr.OperationID{id}})
		if err != nil || len(page.Trials) != 1 || !page.Trials[0].Unaided {
			t.Errorf("the trial without a model is %+v, %v", page.Trials, err)
		}
		tally, err := s.Tally(t.Context(), ktrdr.TallyQuery{})
		if err != nil || tally.Unaided != 1 || tally.Markets == 0 {
			t.Errorf("tally %+v, %v, want one without a model", tally, err)
		}
	})
}
