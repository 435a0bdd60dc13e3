package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
)

// someRun is one of the two runs of this life.
func (w *twins) someRun() string {
	return w.lifeName(draw(w, "of the runs", "run", "run", "run", "other"))
}

// compareRun compares a run, which may not exist.
func (w *twins) compareRun(run string) {
	w.Helper()
	_, _ = w.both("run", func(s ktrdr.Store) (any, error) { return s.Run(w.ctx, run) })
}

// happened counts what changed something.
func (w *twins) happened(kind ktrdr.EventKind, answer any, err error) {
	if changed, ok := answer.(bool); ok && changed && err == nil {
		w.told[kind]++
	}
}

func (w *twins) closeGeneration() { w.closeOf(w.someRun()) }

// closeOf closes the next generation of a run, mostly.
func (w *twins) closeOf(run string) {
	generation := 0
	if row, err := w.stores[0].Run(w.ctx, run); err == nil {
		generation = row.Closed + draw(w, "generations on", 0, 0, 0, 1)
	}
	best, _ := w.both("finalist", func(s ktrdr.Store) (any, error) { return s.Finalists(w.ctx, run, generation, 1) })
	id := ktrdr.OperationID(w.name("op_confirm"))
	var finalist *ktrdr.Operation
	if list, _ := best.([]ktrdr.Operation); len(list) > 0 {
		finalist = &list[0]
	}
	answer, err := w.both("close", func(s ktrdr.Store) (any, error) {
		if finalist == nil {
			return s.CloseGeneration(w.ctx, run, generation, nil)
		}
		n := confirmation(run, generation, finalist.ID, w.market[s])
		n.ID, n.Type, n.BackendLocal = id, ktrdr.Dummy, false
		return s.CloseGeneration(w.ctx, run, generation, &n)
	})
	w.happened(ktrdr.EventGenerationClosed, answer, err)
	if changed, _ := answer.(bool); changed && finalist != nil {
		w.ops = append(w.ops, id)
	}
	w.compareRun(run)
}

// lookByHand creates an operation that looks at the holdout, maybe with a key
// that was used before.
func (w *twins) lookByHand() {
	id, key := ktrdr.OperationID(w.name("op_look")), draw(w, "key", "", w.lifeName("l1"), w.lifeName("l2"))
	answer, err := w.both("look by hand", func(s ktrdr.Store) (any, error) {
		n := looking(key, w.market[s])
		n.ID, n.Trial.Key = id, key
		return s.Create(w.ctx, n, ktrdr.IdempotencyKey{})
	})
	if _, ok := answer.(ktrdr.Operation); ok && err == nil {
		w.ops = append(w.ops, id)
	}
}

// retry tries an operation again, whether it has ended or not.
func (w *twins) retry() {
	of := w.someOp()
	id, run := ktrdr.OperationID(w.name("op_retry")), w.someRun()
	queued := draw(w, "queued", false, true)
	if _, err := w.both("retry", func(s ktrdr.Store) (any, error) {
		n := ktrdr.NewOperation{Type: ktrdr.Dummy}
		if queued {
			n = inRun(run, 0, 0, treeSpec{Named: true, Children: 1})
			n.Queue.Name = w.lifeName("line")
		}
		n.ID, n.RetryOf = id, of
		return s.Create(w.ctx, n, ktrdr.IdempotencyKey{})
	}); err == nil {
		w.ops = append(w.ops, id)
	}
}

func (w *twins) cancelRun() { w.cancelOf(w.someRun()) }

func (w *twins) cancelOf(run string) {
	answer, err := w.both("cancel run", func(s ktrdr.Store) (any, error) { return s.CancelRun(w.ctx, run, "a user", "enough") })
	if _, ok := answer.(ktrdr.Run); ok && err == nil {
		w.told[ktrdr.EventRunCancelled]++
	}
	_, _ = w.both("cancel batch", func(s ktrdr.Store) (any, error) { return s.CancelBatch(w.ctx, run) })
	w.compareRun(run)
}

func (w *twins) giveUp() { w.giveUpOf(w.someRun()) }

func (w *twins) giveUpOf(run string) {
	answer, err := w.both("give up", func(s ktrdr.Store) (any, error) { return s.GiveUpRun(w.ctx, run, "no hope") })
	w.happened(ktrdr.EventRunGivenUp, answer, err)
}

// endRun closes what it can of a run and ends it.
func (w *twins) endRun() {
	run := w.someRun()
	w.closeOf(run)
	w.endOf(run)
}

func (w *twins) endOf(run string) {
	_, _ = w.both("settle", func(s ktrdr.Store) (any, error) { return nil, s.SettleRun(w.ctx, run) })
	answer, err := w.both("end run", func(s ktrdr.Store) (any, error) { return s.EndRun(w.ctx, run) })
	w.happened(ktrdr.EventRunEnded, answer, err)
	_, _ = w.both("tally", func(s ktrdr.Store) (any, error) { return s.TallyGenerations(w.ctx, run) })
	w.compareRun(run)
}

// completeRun is a run from its beginning to its end: its research fails at once.
func (w *twins) completeRun() {
	run := w.name("run")
	n := inRun(run, 0, 0, treeSpec{Named: true, Children: 1, Trouble: "panic", When: ktrdr.WhyCreated})
	n.Queue.Name, n.ID = w.name("line"), ktrdr.OperationID(w.name("op_run"))
	if _, err := w.both("whole run", func(s ktrdr.Store) (any, error) {
		n.Trial = on(1, w.market[s])
		return s.Create(w.ctx, n, ktrdr.IdempotencyKey{})
	}); err == nil {
		w.ops = append(w.ops, n.ID)
	}
	draw(w, "end", w.closeOf, w.giveUpOf, w.cancelOf)(run)
	w.endOf(run)
}

// compareLedger compares runs, the market, trials and looks, but for the ids that
// the stores gave to the market, and for the order of what was made in the same
// tick of a clock.
func (w *twins) compareLedger() {
	w.Helper()
	for _, run := range []string{w.lifeName("run"), w.lifeName("other")} {
		w.compareRun(run)
	}
	_, _ = w.both("market", func(s ktrdr.Store) (any, error) {
		m, err := s.Market(w.ctx, w.market[s])
		m.ID, m.Series = "", nil // each store has made up its own id
		return m, err
	})
	for _, byScore := range []bool{false, true} {
		answer, _ := w.both(fmt.Sprintf("trials, by score %v", byScore), func(s ktrdr.Store) (any, error) {
			page, err := s.Trials(w.ctx, ktrdr.TrialQuery{Market: w.market[s], ByScore: byScore, Limit: 1000})
			for i := range page.Trials {
				page.Trials[i].Market = ""
			}
			slices.SortFunc(page.Trials, func(a, b ktrdr.Trial) int { return cmp.Compare(a.Key, b.Key) })
			return page, err
		})
		w.told["trial"] += len(answer.(ktrdr.TrialPage).Trials)
	}
	answer, _ := w.both("looks", func(s ktrdr.Store) (any, error) {
		page, err := s.Looks(w.ctx, ktrdr.LookQuery{Market: w.market[s], Limit: 1000})
		for i := range page.Looks {
			for j := range page.Looks[i].Markets {
				page.Looks[i].Markets[j].Market = ""
			}
		}
		slices.SortFunc(page.Looks, func(a, b ktrdr.Look) int { return cmp.Compare(a.Key, b.Key) })
		return page, err
	})
	w.told["look"] += len(answer.(ktrdr.LookPage).Looks)
}

// saying is a result of which the ledger keeps something, mostly.
func (w *twins) saying() json.RawMessage {
	z := rapid.IntRange(-3, 3).Draw(w.T, "z")
	return draw(w, "saying", json.RawMessage(`{"ok":true}`), json.RawMessage(`{"odd":true}`), json.RawMessage(fmt.Sprintf(
		`{"trial":{"sharpe_ratio":%d.5,"sharpe_z":%d,"alpha_z":0.1},"look":{"p":0.25,"claim":true,"look_hash":%q}}`, z, z,
		ktrdr.Hash{byte(z + 9)})))
}
