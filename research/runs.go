package research

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

const maxLasting = 7 * 24 * time.Hour

// RunStore is what a RunController needs of the engine.
type RunStore interface {
	OpenRuns(ctx context.Context) ([]ktrdr.OpenRun, error)
	CancelBatch(ctx context.Context, run string) (more bool, err error)
	SettleRun(ctx context.Context, run string) error
	Finalists(ctx context.Context, run string, generation, most int) ([]ktrdr.Operation, error)
	CloseGeneration(ctx context.Context, run string, generation int, confirm *ktrdr.NewOperation, examined ...ktrdr.Examined) (bool, error)
	TallyGenerations(ctx context.Context, run string) ([]ktrdr.GenerationTally, error)
	GiveUpRun(ctx context.Context, run, why string) (bool, error)
	EndRun(ctx context.Context, run string) (bool, error)
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	SubmitAll(ctx context.Context, ops []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) ([]ktrdr.Operation, error)
	Paused(ctx context.Context) (bool, error)
	Market(ctx context.Context, id string) (ktrdr.Market, error)
}

// RunController starts, examines, confirms and ends the generations of runs.
//
//	generation ends ──▶ its best two finalists are examined
//	examined ──close──▶ the best that is not fragile is confirmed, the next may start
//	all closed ──────until────▶ the next generation is created
//	           └─────else─────▶ the run ends
//	cancelled ──batches──▶ nothing is open ──▶ the run ends
//
// It remembers nothing. What is due it reads from the rows; every step is one
// conditional transaction. So any number of backends may control the same runs,
// and each step happens once, whatever dies between two of them.
type RunController struct {
	store   RunStore
	related FindRelated

	// Test creates the test of a run that ends and whose request asked for it. Again it
	// changes nothing; nil: no run is tested.
	Test func(ctx context.Context, run ktrdr.Run) error
}

// NewRunController makes a RunController. related may be nil: no finalist is then traded
// on related symbols.
func NewRunController(s RunStore, related FindRelated) *RunController {
	return &RunController{store: s, related: related}
}

// RunStep is one thing that a RunController did.
type RunStep struct {
	Run        string
	Did        string // examining, closed, confirming, started, given up, testing, ended
	Generation int
	Why        string // a finalist could not be confirmed, or the run not tested; else empty
}

// Advance does what is due now for every open run. waits says that time alone may
// make more due. One run's error stops no other run.
func (k *RunController) Advance(ctx context.Context, now time.Time) (did []RunStep, waits bool, err error) {
	runs, err := k.store.OpenRuns(ctx)
	if err != nil {
		return nil, true, err
	}
	var errs []error
	for i := range runs {
		done, err := k.advance(ctx, &runs[i], now)
		did = append(did, done...)
		if err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", runs[i].ID, err))
		}
	}
	return did, len(runs) > 0, errors.Join(errs...)
}

// creationTakes is how long the creation of a run may pause before it counts as ended.
const creationTakes = time.Minute

func (k *RunController) advance(ctx context.Context, run *ktrdr.OpenRun, now time.Time) ([]RunStep, error) {
	switch {
	case run.State == ktrdr.RunCancelled:
		return k.cancel(ctx, run)
	case run.State == ktrdr.RunGivenUp:
		return k.end(ctx, run)
	case run.Created < run.Planned && now.Sub(run.NewestAdded) >= creationTakes:
		if err := k.store.SettleRun(ctx, run.ID); err != nil {
			return nil, err
		}
		run.Planned = run.Created
	}
	return k.close(ctx, run, now)
}

func (k *RunController) cancel(ctx context.Context, run *ktrdr.OpenRun) ([]RunStep, error) {
	for more := run.OldestOpen >= 0; more; {
		var err error
		if more, err = k.store.CancelBatch(ctx, run.ID); err != nil {
			return nil, err
		}
	}
	return k.end(ctx, run)
}

// close closes ended generations. When all are closed it starts the next, or ends the run.
func (k *RunController) close(ctx context.Context, run *ktrdr.OpenRun, now time.Time) (did []RunStep, err error) {
	for run.Closed < run.Generations && (run.OldestOpen < 0 || run.OldestOpen > run.Closed) {
		if run.Closed+1 == run.Generations && run.Created < run.Planned {
			return did, nil // more of it is being created
		}
		c, err := k.closeOne(ctx, run.ID, run.Closed)
		if c.examined {
			did = append(did, RunStep{Run: run.ID, Did: "examining", Generation: run.Closed})
		}
		if err != nil || !c.changed {
			return did, err
		}
		did = append(did, RunStep{Run: run.ID, Did: "closed", Generation: run.Closed, Why: c.why})
		if c.confirming {
			did = append(did, RunStep{Run: run.ID, Did: "confirming", Generation: run.Closed})
			run.OldestOpen = run.Closed
		}
		run.Closed++
	}
	if run.Closed < run.Generations || run.OldestOpen >= 0 || run.Created < run.Planned {
		return did, nil
	}
	more, err := k.nextGeneration(ctx, run, now)
	return append(did, more...), err
}

// closing is how far a generation came.
type closing struct {
	why                           string // a finalist is not opened
	changed, confirming, examined bool   // examined: examinations are open
}

func (k *RunController) closeOne(ctx context.Context, run string, generation int) (c closing, err error) {
	list, told, open, err := k.candidates(ctx, run, generation)
	if err != nil || open {
		return closing{examined: err == nil}, err
	}
	c.why = told.why
	var confirm *ktrdr.NewOperation
	if best := bestOf(list); best != nil {
		confirm, c.confirming = &best.confirm, true
	}
	c.changed, err = k.store.CloseGeneration(ctx, run, generation, confirm, told.states...)
	return c, err
}

// unconfirmed says why a finalist can never be confirmed, however often it is tried.
type unconfirmed struct {
	of  ktrdr.OperationID
	why error
}

func (u *unconfirmed) Error() string {
	return fmt.Sprintf("finalist %s is not opened: %v", u.of, u.why)
}

// confirmation makes the operation that confirms a finalist, on the holdout that its
// research was given. A merge may have moved it since: bars before its start now are no
// holdout any more. A strategy of an assistant is confirmed on the newest holdout only:
// the assistant could read the bars before that.
func (k *RunController) confirmation(ctx context.Context, best *ktrdr.Operation) (ktrdr.NewOperation, error) {
	var from time.Time
	spec, err := ktrdr.ParseSpec[Spec](best.Spec)
	if err != nil {
		return ktrdr.NewOperation{}, &unconfirmed{best.ID, err}
	}
	for _, m := range spec.Markets {
		now, err := k.store.Market(ctx, m.Market)
		switch {
		case ktrdr.CodeOf(err) == ktrdr.CodeNotFound:
			return ktrdr.NewOperation{}, &unconfirmed{best.ID, err}
		case err != nil:
			return ktrdr.NewOperation{}, err
		}
		start := now.HoldoutFrom
		if spec.AssistantWait == 0 {
			start = now.HoldoutFor(spec.HoldoutFrom)
		}
		if start.After(from) {
			from = start
		}
	}
	op, err := confirmation(best, from)
	if err != nil { // nothing but rows was read
		return op, &unconfirmed{best.ID, err}
	}
	op.Trace = best.Trace
	return op, nil
}

func (k *RunController) nextGeneration(ctx context.Context, run *ktrdr.OpenRun, now time.Time) ([]RunStep, error) {
	if run.Until.IsZero() || !now.Before(run.Until) {
		return k.testAndEnd(ctx, run)
	}
	tallies, err := k.store.TallyGenerations(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if why := onlyFailures(tallies); why != "" {
		changed, err := k.store.GiveUpRun(ctx, run.ID, why)
		if err != nil || !changed {
			return nil, err
		}
		ended, err := k.end(ctx, run)
		return append([]RunStep{{Run: run.ID, Did: "given up", Generation: run.Generations - 1, Why: why}}, ended...), err
	}
	if paused, err := k.store.Paused(ctx); err != nil || paused {
		return nil, err
	}
	return k.start(ctx, run)
}

// testAndEnd ends a run. Its test is created before: after a crash between the two it is there
// already.
func (k *RunController) testAndEnd(ctx context.Context, run *ktrdr.OpenRun) (did []RunStep, err error) {
	var asked struct {
		Test bool `json:"test"`
	}
	if k.Test != nil && len(run.Request) > 0 {
		if err := json.Unmarshal(run.Request, &asked); err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "its request cannot be read: %w", err)
		}
	}
	if asked.Test {
		step := RunStep{Run: run.ID, Did: "testing", Generation: run.Generations - 1}
		err := k.Test(ctx, run.Run)
		switch ktrdr.CodeOf(err) {
		case ktrdr.CodeConflict, ktrdr.CodeInvalid:
			step.Why = err.Error()
		default:
			if err != nil {
				return nil, err
			}
		}
		did = append(did, step)
	}
	ended, err := k.end(ctx, run)
	return append(did, ended...), err
}

func (k *RunController) end(ctx context.Context, run *ktrdr.OpenRun) ([]RunStep, error) {
	changed, err := k.store.EndRun(ctx, run.ID)
	if err != nil || !changed {
		return nil, err
	}
	return []RunStep{{Run: run.ID, Did: "ended", Generation: run.Generations - 1}}, nil
}

// enoughFailures is how many failures, and nothing else, in one generation end a run.
const enoughFailures = 8

// onlyFailures says why a run is given up: all researches of its last generation
// failed, and those of the one before too unless the last was large enough by itself.
func onlyFailures(t []ktrdr.GenerationTally) string {
	if len(t) == 0 {
		return ""
	}
	last := t[len(t)-1]
	all := func(g ktrdr.GenerationTally) bool { return g.Researches > 0 && g.Failed == g.Researches }
	if !all(last) || last.Failed < enoughFailures && (len(t) < 2 || !all(t[len(t)-2])) {
		return ""
	}
	return fmt.Sprintf("all %d researches of generation %d failed or were cancelled", last.Researches, last.Generation)
}

// start creates the next generation once, with a key for each research.
func (k *RunController) start(ctx context.Context, run *ktrdr.OpenRun) ([]RunStep, error) {
	page, err := k.store.List(ctx, ktrdr.OperationQuery{Run: run.ID, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(page.Operations) == 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "it has no researches")
	}
	spec, err := ktrdr.ParseSpec[Spec](page.Operations[0].Spec)
	if err != nil {
		return nil, err
	}
	ops, keys, err := spec.generation(run)
	if err != nil {
		return nil, err
	}
	for i := range ops { // a run is one trace: that of the request that started it
		ops[i].Trace = page.Operations[0].Trace
	}
	if _, err := k.store.SubmitAll(ctx, ops, keys); err != nil {
		return nil, fmt.Errorf("generation %d: %w", run.Generations, err)
	}
	return []RunStep{{Run: run.ID, Did: "started", Generation: run.Generations}}, nil
}

func (s Spec) generation(run *ktrdr.OpenRun) ([]ktrdr.NewOperation, []ktrdr.IdempotencyKey, error) {
	name := ""
	if s.Strategy != "" {
		read, err := readStrategy(s.Strategy, "given")
		if err != nil {
			return nil, nil, err
		}
		name = read.Name
	}
	row := &ktrdr.NewRun{Goal: run.Goal, Request: run.Request, Until: run.Until, Size: run.Size, Planned: run.Planned}
	var ops []ktrdr.NewOperation
	var keys []ktrdr.IdempotencyKey
	for i := range s.Size {
		op, err := s.At(run.Generations*s.Size+i).operation(name, true, row)
		if err != nil {
			return nil, nil, err
		}
		ops = append(ops, op)
		keys = append(keys, ktrdr.IdempotencyKey{
			Key: fmt.Sprintf("run %s %d #%d", run.ID, run.Generations, i), Body: sha256.Sum256([]byte(run.ID)),
		})
	}
	return ops, keys, nil
}
