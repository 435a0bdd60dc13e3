package research

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/num"
)

// TestStore is what a Tester needs of the engine.
type TestStore interface {
	Notes
	FindRun(ctx context.Context, id string) (ktrdr.Run, error)
	Runs(ctx context.Context, q ktrdr.RunQuery) (ktrdr.RunPage, error)
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	Market(ctx context.Context, id string) (ktrdr.Market, error)
	ReserveTest(ctx context.Context, run string, markets []string, before int) (ktrdr.RunTest, error)
	Submit(ctx context.Context, op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error)
}

// Tester creates tests of runs on permuted copies of their bars.
type Tester struct{ Store TestStore }

// RunTestRequest asks for the test of a run.
type RunTestRequest struct {
	ID   string `path:"id" json:"-" doc:"the run; its id may be shortened as long as it names one run"`
	Null Null   `json:"null,omitempty"` // flips, blocks or both; absent means flips
	// that are searched at most; absent means 5 / threshold - 1, such as 199 for the first run of a market
	Copies int `json:"copies,omitempty" zero:"refused"`
}

// TestRun creates the test of a run that has ended. A run is tested once: again it returns
// the first test. CodeConflict says why a run cannot be tested.
func (t Tester) TestRun(ctx context.Context, r RunTestRequest) (ktrdr.Operation, error) {
	if r.Null == "" {
		r.Null = Flips
	}
	if err := r.Null.Validate(); err != nil {
		return ktrdr.Operation{}, err
	}
	run, err := t.Store.FindRun(ctx, r.ID)
	if err != nil {
		return ktrdr.Operation{}, err
	}
	if !run.Test.EndedAt.IsZero() {
		return ktrdr.Operation{}, refused("run %s was tested: p = %.3g, and at most %.3g is allowed. A run is tested once",
			ktrdr.ShortRun(run.ID), *run.Test.P, run.Test.Threshold)
	}
	if run.EndedAt.IsZero() {
		return ktrdr.Operation{}, refused("run %s has not ended: test it then. `ktrdr follow %s` waits for it", ktrdr.ShortRun(run.ID),
			ktrdr.ShortRun(run.ID))
	}
	return t.create(ctx, &run, r)
}

// TestEnding creates the test of a run that is about to end, of which nothing is open any
// more. Its request asked for the test.
func (t Tester) TestEnding(ctx context.Context, run ktrdr.Run) error {
	run.State = ktrdr.RunCompleted
	_, err := t.create(ctx, &run, RunTestRequest{ID: run.ID, Null: Flips})
	return err
}

func (t Tester) create(ctx context.Context, run *ktrdr.Run, r RunTestRequest) (ktrdr.Operation, error) {
	spec, err := t.spec(ctx, run, r.Null)
	if err != nil {
		return ktrdr.Operation{}, err
	}
	before, err := t.before(ctx, run, spec.Search.Markets)
	if err != nil {
		return ktrdr.Operation{}, err
	}
	reserved, err := t.Store.ReserveTest(ctx, run.ID, text.Map(spec.Search.Markets, func(m SymbolMarket) string { return m.Market }), before)
	if err != nil {
		return ktrdr.Operation{}, err
	}
	spec.Before = reserved.Before
	rank, err := evidence.NewSequential(spec.Threshold(), r.Copies)
	if err != nil {
		return ktrdr.Operation{}, wrong("%w", err)
	}
	spec.Copies = CopyCounts{Most: rank.Most, Stop: rank.Stop}
	if err := spec.Validate(); err != nil {
		return ktrdr.Operation{}, wrong("%w", err)
	}
	op := ktrdr.NewOperation{Type: ktrdr.FactoryTest, HasPlan: true, Priority: calibrationPriority}
	if op.Spec, err = encode(spec); err != nil {
		return ktrdr.Operation{}, err
	}
	if op.Metadata, err = json.Marshal(about{Brief: "test of run " + ktrdr.ShortRun(run.ID)}); err != nil {
		return ktrdr.Operation{}, err
	}
	return t.Store.Submit(ctx, op, ktrdr.IdempotencyKey{Key: "factory test " + run.ID, Body: sha256.Sum256([]byte(run.ID))})
}

func refused(format string, args ...any) error {
	return ktrdr.Errorf(ktrdr.CodeConflict, format, args...)
}

// spec is that of the test of a run, without its number.
func (t Tester) spec(ctx context.Context, run *ktrdr.Run, null Null) (FactoryTestSpec, error) {
	name := ktrdr.ShortRun(run.ID)
	switch {
	case run.State != ktrdr.RunCompleted:
		return FactoryTestSpec{}, refused("run %s is %s: only a whole run can be compared with copies", name, run.State)
	case run.Created > MaxTested:
		return FactoryTestSpec{}, refused("run %s has %d researches, and each copy is searched as often: at most %d can be tested",
			name, run.Created, MaxTested)
	}
	ops, err := t.researches(ctx, run)
	if err != nil {
		return FactoryTestSpec{}, err
	}
	first, err := ktrdr.ParseSpec[Spec](ops[0].Spec)
	if err != nil {
		return FactoryTestSpec{}, err
	}
	if err := t.testable(ctx, name, first); err != nil {
		return FactoryTestSpec{}, err
	}
	s := FactoryTestSpec{Search: first, Null: null, Seed: num.Mix(first.RunSeed, 0xfac7), Version: FactoryVersion}
	s.Search.Holdout, s.Search.Sealed = nil, nil
	for i, op := range ops {
		if op.Status != ktrdr.Completed {
			return s, refused("research %s of run %s is %s: resume or retry it, or start the run again", op.ID.Tail(), name, op.Status)
		}
		result, err := resultOf[Result](&op)
		if err != nil {
			return s, err
		}
		s.Researches = append(s.Researches, Tested{
			Operation: op.ID, Hash: result.ResultHash, Others: max(0, op.Trials-first.At(i).OwnTrials(run.Planned)),
		})
	}
	return s, nil
}

// before counts the runs on the markets of a run that were created before it and have a
// test too, made or not. If only tests that are made counted, the best of many runs could
// be chosen and tested as the first. A cancelled run counts: it could have been chosen as well.
func (t Tester) before(ctx context.Context, run *ktrdr.Run, markets []SymbolMarket) (n int, err error) {
	on, err := t.marketsNow(ctx, markets)
	if err != nil {
		return 0, err
	}
	remembers := false // a run on these markets began with memory: so did all later ones that were not told to forget
	for q := (ktrdr.RunQuery{Sort: ktrdr.Oldest, Limit: 1000}); ; {
		page, err := t.Store.Runs(ctx, q)
		if err != nil {
			return 0, err
		}
		for i := range page.Runs {
			r := &page.Runs[i]
			if r.ID == run.ID {
				return n, nil
			}
			var asked struct{ Fresh bool }
			if len(r.Request) > 0 {
				if err := json.Unmarshal(r.Request, &asked); err != nil {
					return 0, fmt.Errorf("request of run %s: %w", r.ID, err)
				}
			}
			if remembers && !asked.Fresh {
				continue
			}
			is, err := t.rival(ctx, r, on)
			switch {
			case is:
				n++
			case ktrdr.CodeOf(err) == ktrdr.CodeConflict:
				remembers = remembers || errors.Is(err, errRemembers)
			case err != nil:
				return 0, err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return n, nil
		}
	}
}

// rival says whether a run is on one of some markets and may be tested; CodeConflict says why not.
func (t Tester) rival(ctx context.Context, run *ktrdr.Run, on map[string]bool) (bool, error) {
	page, err := t.Store.List(ctx, ktrdr.OperationQuery{
		Run: run.ID, Type: []ktrdr.Type{ktrdr.AgentResearch}, Sort: ktrdr.Oldest, Limit: 1,
	})
	if err != nil || len(page.Operations) == 0 {
		return false, err
	}
	spec, err := ktrdr.ParseSpec[Spec](page.Operations[0].Spec)
	if err != nil {
		return false, nil //nolint:nilerr // of an earlier version: it cannot be tested
	}
	its, err := t.marketsNow(ctx, spec.Markets)
	if err != nil {
		return false, err
	}
	for id := range its {
		if on[id] {
			err = t.testable(ctx, ktrdr.ShortRun(run.ID), spec)
			return err == nil, err
		}
	}
	return false, nil
}

// marketsNow are the ids of markets, and of those into which they were merged.
func (t Tester) marketsNow(ctx context.Context, markets []SymbolMarket) (map[string]bool, error) {
	ids := map[string]bool{}
	for _, m := range markets {
		now, err := t.Store.Market(ctx, m.Market)
		if err != nil {
			return nil, err
		}
		ids[now.ID] = true
	}
	return ids, nil
}

// errRemembers is in the refusal of a run that began with memory of its markets.
var errRemembers = errors.New("copies begin without")

// testable refuses a run whose search cannot be repeated on copies.
func (t Tester) testable(ctx context.Context, name string, s Spec) error {
	switch {
	case s.Model != Builtin || s.AssistantWait > 0:
		return refused("run %s was designed by a model or an assistant: only the built-in designer can be repeated on copies. "+
			"Start one without --model and --designer", name)
	case s.BypassGates:
		return refused("run %s bypassed the gates: start one without --bypass-gates", name)
	case len(s.Markets) == 0:
		return refused("run %s is of an earlier version, and names no market: start it again", name)
	case s.Horizon == "":
		return nil
	}
	past, err := NewMemory(t.Store).Recall(ctx, View{
		Run: s.Run, Horizon: s.Horizon, Symbols: text.Map(s.Markets, func(m SymbolMarket) string { return m.Symbol }), Sealed: s.HoldoutFrom,
	})
	if err == nil && len(past.Experiments) > 0 {
		err = refused("run %s began with the memory of %s, and %w: start a run with --fresh, and test that", name,
			text.Counted(len(past.Experiments), "experiment"), errRemembers)
	}
	return err
}

// researches are those of a run in their order: of each place the last that was created.
func (t Tester) researches(ctx context.Context, run *ktrdr.Run) ([]ktrdr.Operation, error) {
	byPlace := map[int]ktrdr.Operation{}
	for q := (ktrdr.OperationQuery{Run: run.ID, Type: []ktrdr.Type{ktrdr.AgentResearch}, Limit: 1000}); ; {
		page, err := t.Store.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, op := range page.Operations { // newest first
			if op.Queue == nil {
				continue
			}
			at := op.Queue.Generation*run.Size + op.Queue.Index
			if known, ok := byPlace[at]; !ok || known.Status != ktrdr.Completed && op.Status == ktrdr.Completed {
				byPlace[at] = op
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	all := make([]ktrdr.Operation, run.Created)
	for i := range all {
		op, ok := byPlace[i]
		if !ok {
			return nil, refused("research %d of run %s is missing: start the run again", i+1, ktrdr.ShortRun(run.ID))
		}
		all[i] = op
	}
	if len(all) == 0 {
		return nil, refused("run %s has no researches", ktrdr.ShortRun(run.ID))
	}
	return all, nil
}
