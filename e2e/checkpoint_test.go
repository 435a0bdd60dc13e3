package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// The place where checkpoints are kept does not take those of one research. It
// neither crashes nor fails for that: it says so and waits, its neighbour does
// not notice, and once the place is mended it ends as its twin did.
func TestCheckpoints_ThatCannotBeWrittenAreWaitedForAlone(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		backend := l.Serve()
		worker := l.Researcher()
		ask := func(seed uint64) ktrdr.OperationID {
			return l.ask(research.Request{StrategyYAML: strategytest.Small(), Seed: &seed, BypassGates: true, Force: true})
		}
		given := []ktrdr.Type{ktrdr.Training, ktrdr.Backtesting, ktrdr.AgentAssessment}
		twin := l.completes(ask(5), given...)

		mend := l.block(twin)
		id := ask(5)
		l.logs(worker, "backend cannot take a write now", string(ktrdr.Training))
		l.logs(backend, "not a directory")
		other := l.completes(ask(6), given...)
		if op := l.Op(id); op.Status != ktrdr.Running || op.Phase != string(research.Training) || other.Model.SHA256 == twin.Model.SHA256 {
			t.Errorf("while its checkpoint cannot be written it is %s in %s, want RUNNING in TRAINING", op.Status, op.Phase)
		}
		if !backend.Alive() || !worker.Alive() {
			t.Errorf("a process died of it:\n%s\n%s", backend.Log(), worker.Log())
		}

		mend()
		if r := l.completes(id, given...); *r.Model != *twin.Model || *r.Figures.Sharpe != *twin.Figures.Sharpe {
			t.Errorf("it ended with the model %+v, and its twin with %+v", r.Model, twin.Model)
		}
	})
}

// block takes a research's model out of the blob store and puts a file where its
// directory has to be, so that no user, root included, can store it.
func (l *lab) block(r research.Result) (mend func()) {
	l.t.Helper()
	name := r.Model.SHA256.String()
	shard := filepath.Join(l.Data(), "blobs", name[:2], name[2:4])
	if err := os.RemoveAll(shard); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(shard, nil, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(shard); err != nil {
			l.t.Fatal(err)
		}
	}
}
