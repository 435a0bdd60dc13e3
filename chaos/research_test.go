package chaos_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// lengthy is a training that takes some seconds with the slowest kernel, with
// everything that a checkpoint must keep: dropout, a schedule that looks at the
// validation, and early stopping that waits for ever.
var lengthy = strategytest.Small(
	"name: small", "name: lengthy", "[12, 6], activation: tanh", "[16, 8], activation: relu",
	"epochs: 24", "epochs: 60", "batch_size: 64", "batch_size: 32", "patience: 12", "patience: 60",
)

// The slowest kernel and the fastest give the same bits, so that a training
// that a slow machine began may be ended by a fast one.
const slow, fast = "KTRDR_KERNEL=reference", "KTRDR_KERNEL="

func TestTraining_KilledAndResumedOnAnotherKernelEndsAsUndisturbed(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		lab.Serve()
		lab.Market("EURUSD", 4000, 7)
		worker := lab.Researcher(slow, fmt.Sprintf("KTRDR_FAILPOINT=%s@1", fault.WorkerSaved))
		id := lab.Train(jobs.TrainingRequest{StrategyYAML: lengthy})
		if code := worker.Exit(time.Minute); code != -1 {
			t.Fatalf("the worker ended with %d instead of being killed after its first checkpoint\n%s", code, worker.Log())
		}
		lab.Ends(id, ktrdr.Failed)

		lab.Researcher(fast)
		lab.Resume(id)
		disturbed := lab.ResultHash(id)
		if op := lab.Op(id); op.Epoch != 2 {
			t.Errorf("epoch %d, want 2: one claim before the kill, one after", op.Epoch)
		}
		if want := lab.ResultHash(lab.Train(jobs.TrainingRequest{StrategyYAML: lengthy})); disturbed != want {
			t.Errorf("result hash %s after a kill, %s undisturbed", disturbed, want)
		}
		lab.Audit()
	})
}

// Both are over too soon to be killed by hand: a worker kills itself at a point
// that every checkpoint passes.
func TestBacktest_KilledAtACheckpointEndsAsUndisturbed(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		lab.Serve()
		lab.Market("EURUSD", 25_000, 7)
		trainer := lab.Researcher()
		model := lab.Train(jobs.TrainingRequest{StrategyName: "rsi_mean_reversion"})
		lab.Ends(model, ktrdr.Completed)
		request := jobs.BacktestRequest{Model: string(model), Scope: "all"}
		want := lab.ResultHash(lab.Backtest(request))
		trainer.Kill()

		for _, point := range []fault.Point{fault.WorkerSaving, fault.WorkerSaved, fault.WorkerEnding} {
			worker := lab.Researcher(fmt.Sprintf("KTRDR_FAILPOINT=%s@1", point))
			id := lab.Backtest(request)
			if code := worker.Exit(time.Minute); code != -1 {
				t.Fatalf("the worker ended with %d instead of being killed at %s\n%s", code, point, worker.Log())
			}
			healthy := lab.Researcher(slow) // the same bits from another kernel
			op := lab.Ends(id, ktrdr.Failed)
			if op.Checkpoint == nil {
				id = lab.Again(id)
			} else {
				lab.Resume(id)
			}
			if got := lab.ResultHash(id); got != want {
				t.Errorf("killed at %s: result hash %s, undisturbed %s", point, got, want)
			}
			healthy.Kill()
		}
		lab.Audit()
	})
}
