package sqlstore

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

func TestLedger_AnEntryThatCannotBeStoredUndoesTheEnd(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		s.types[ktrdr.Dummy] = ktrdr.Definition{Ledger: func(ktrdr.Operation) ktrdr.LedgerEntry {
			return ktrdr.LedgerEntry{Look: &ktrdr.LookResult{Result: json.RawMessage(`{`)}}
		}}
		op := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
		task := claimDummy(t, s, "")
		if _, err := s.Finish(t.Context(), ktrdr.Finished{Operation: op.ID, Epoch: task.Epoch, Outcome: ktrdr.Completed}); err == nil {
			t.Error("a result was stored without what the ledger says of it")
		}
		wantStatus(t, s, op.ID, ktrdr.Running)
	})
}

func TestLedger_IsAskedOncePerEndAndOnlyOfWhatCompletes(t *testing.T) {
	eachStore(t, storetest.Types(fanOut(1)), func(t *testing.T, s *Store) {
		var asked []ktrdr.Status
		tell := func(op ktrdr.Operation) ktrdr.LedgerEntry {
			if op.Result == nil || op.CompletedAt.IsZero() {
				t.Errorf("asked about %s without its result or end", op.ID)
			}
			asked = append(asked, op.Status)
			return ktrdr.LedgerEntry{}
		}
		s.types = maps.Clone(s.types) // both stores of the test share one
		s.types[ktrdr.Dummy] = ktrdr.Definition{Ledger: tell}
		for _, outcome := range []ktrdr.Status{ktrdr.Completed, ktrdr.Failed, ktrdr.Cancelled} {
			create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
			task := claimDummy(t, s, "")
			f := ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: outcome, Result: json.RawMessage(`{"n":1}`)}
			for range 2 { // the first answer was lost
				if _, err := s.Finish(t.Context(), f); err != nil {
					t.Fatal(err)
				}
			}
		}
		stopped := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
		task := claimDummy(t, s, "")
		if _, _, err := s.Cancel(t.Context(), stopped.ID, "enough"); err != nil {
			t.Fatal(err)
		}
		finish(t, s, task, ktrdr.Completed) // too late
		if len(asked) != 1 || asked[0] != ktrdr.Completed {
			t.Errorf("asked about %v, want about the one that completed", asked)
		}
	})
}

// populateLedger fills the tables of the ledger by the store's own methods and
// returns the market.
func populateLedger(t *testing.T, s *Store) string {
	t.Helper()
	series, err := s.AddSeries(t.Context(), ktrdr.NewSeries{
		MarketSeries: ktrdr.MarketSeries{Symbol: "A", Timeframe: "1h", Hash: ktrdr.Hash{1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, ktrdr.NewOperation{
		ID: "op_dummy_1", Type: ktrdr.Dummy, Trial: &ktrdr.NewTrial{Markets: []ktrdr.TrialMarket{{Market: series.Market}}},
		Look: &ktrdr.NewLook{Kind: ktrdr.LookByHand, Markets: []string{series.Market}},
	})
	return series.Market
}

func TestTriggers_TheLedgerOnlyGrows(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		s.types[ktrdr.Dummy] = ktrdr.Definition{Ledger: func(ktrdr.Operation) ktrdr.LedgerEntry {
			return ktrdr.LedgerEntry{Look: &ktrdr.LookResult{Claim: true}}
		}}
		market := populateLedger(t, s)
		refuse := func(texts ...query) {
			t.Helper()
			for _, text := range texts {
				if err := raw(t, s, text); err == nil || !strings.Contains(err.Error(), ": a") && !strings.Contains(err.Error(), ": w") {
					t.Errorf("%s: %v, want a refusal", text, err)
				}
			}
		}
		refuse(`DELETE FROM trials`, `DELETE FROM looks`, `DELETE FROM look_markets`, `DELETE FROM markets`, `DELETE FROM market_series`,
			`UPDATE looks SET before = 0 - 1`, `UPDATE looks SET key = 'another'`, `UPDATE looks SET operation_id = 'another'`,
			`UPDATE operations SET trials = 0`, `UPDATE operations SET look = ''`)
		finish(t, s, claimDummy(t, s, ""), ktrdr.Completed)
		refuse(`UPDATE looks SET claim = 0`, `UPDATE looks SET ended_at = NULL, claim = 0`, `UPDATE looks SET strategy = 'another'`)
		look, err := s.LookOf(t.Context(), "op_dummy_1")
		if err != nil || !look.Claim || look.EndedAt.IsZero() {
			t.Errorf("look %+v, %v", look, err)
		}
		if m, err := s.Market(t.Context(), market); err != nil || m.Trials != 1 || m.Looks != 1 {
			t.Errorf("market %+v, %v, want 1 trial and 1 look", m, err)
		}
	})
}

func TestFresh_KnowsTheLedger(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		populateLedger(t, s)
		mustRaw(t, s, `INSERT INTO meta (key, value) VALUES ('restoring', '1')`)
		for i, table := range []string{"operations", "market_series", "looks"} {
			if fresh, err := s.Fresh(t.Context()); err != nil || fresh {
				t.Errorf("fresh = %t, %v, although %d tables hold something", fresh, err, 3-i)
			}
			mustRaw(t, s, query("DELETE FROM "+table))
		}
		if fresh, err := s.Fresh(t.Context()); err != nil || !fresh {
			t.Errorf("fresh = %t, %v, want true", fresh, err)
		}
		if _, err := s.AddSeries(t.Context(), ktrdr.NewSeries{MarketSeries: ktrdr.MarketSeries{Symbol: "B", Timeframe: "1h"}}); err != nil {
			t.Fatal(err)
		}
		if fresh, err := s.Fresh(t.Context()); err != nil || fresh {
			t.Errorf("fresh = %t, %v, although there is a series", fresh, err)
		}
	})
}
