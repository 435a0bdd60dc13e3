package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// soon gives a busy machine time for eight heartbeats before a worker is given
// up.
var soon = labtest.Times{Timeout: 2 * time.Second, Interval: time.Second, Heartbeat: 250 * time.Millisecond}

// strategyFile writes a strategy into the data folder and returns its path
// there.
func (l *lab) strategyFile(name, text string) string {
	l.t.Helper()
	path := filepath.Join("strategies", name)
	if err := os.MkdirAll(filepath.Join(l.Data(), "strategies"), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.Data(), path), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return path
}

func TestOrphan_ATrainingWhoseWorkerIsKilledFailsAndSaysSo(t *testing.T) {
	onBoth(t, soon, func(t *testing.T, l *lab) {
		backend := l.Serve("AUTO_RESUME=false", "KTRDR_INJECT=hang:training:small")
		worker := l.Researcher()
		id := l.Train(jobs.TrainingRequest{StrategyPath: l.strategyFile("test.yaml", strategytest.Small()), Symbol: "EURUSD", Timeframe: "1h"})
		l.Until(id, time.Minute, "held for longer than the timeout", func(op ktrdr.Operation) bool { // one that hangs is alive
			return op.Status == ktrdr.Running && op.HeartbeatAt.Sub(op.ClaimedAt) > soon.Timeout
		})
		worker.Kill()

		op := l.Ends(id, ktrdr.Failed)
		if op.ErrorMessage != "Operation was RUNNING but no worker claimed it" || op.Error == nil || op.Error.Code != ktrdr.CodeOrphaned {
			t.Errorf("it failed with %q %+v", op.ErrorMessage, op.Error)
		}
		if silent := op.CompletedAt.Sub(op.HeartbeatAt); silent < soon.Timeout || silent > soon.Timeout+soon.Interval {
			t.Errorf("failed after %v of silence, want between %v and %v", silent, soon.Timeout, soon.Timeout+soon.Interval)
		}
		l.logs(backend, "Orphan detector started")
		l.logs(backend, "Orphan operation detected", string(id))
		l.eventually("the detector's account of one orphan", func() bool {
			h, err := l.Health()
			return err == nil && h.OrphanDetector.Running && h.OrphanDetector.OrphanedTotal == 1 && !h.OrphanDetector.LastCheck.IsZero()
		})

		if code := l.TryResume(id); code != http.StatusNotFound {
			t.Errorf("resume without a checkpoint answers %d, want %d", code, http.StatusNotFound)
		}
		backend.Kill()
		l.Serve()
		l.Researcher()
		l.Ends(l.Again(id), ktrdr.Completed)
	})
}

func TestOrphan_AResearchSurvivesTheDeathOfItsWorker(t *testing.T) {
	onBoth(t, soon, func(t *testing.T, l *lab) {
		backend := l.Serve("KTRDR_INJECT=hang:training:stuck")
		worker := l.Researcher()
		id := l.trigger("stuck")
		held := l.held(id, ktrdr.Training)
		backend.Kill()
		backend = l.Serve() // the worker hangs on: it was told with its claim
		l.Until(held.ID, time.Minute, "reported by its worker", func(op ktrdr.Operation) bool {
			return op.Status == ktrdr.Running && op.Epoch == held.Epoch
		})
		worker.Kill()
		l.Researcher()

		l.completes(id, phases...)
		if op := l.Op(held.ID); op.Epoch != held.Epoch+1 || op.Worker == held.Worker {
			t.Errorf("the training ended in epoch %d on %s, want the one after %d, elsewhere than %s", op.Epoch, op.Worker, held.Epoch, held.Worker)
		}
		l.logs(backend, "Orphan operation detected", string(held.ID))
	})
}

func TestOrphan_WithoutAutoResumeTheResearchIsResumedByHand(t *testing.T) {
	onBoth(t, soon, func(t *testing.T, l *lab) {
		backend := l.Serve("AUTO_RESUME=false", "KTRDR_INJECT=hang:training:stuck")
		worker := l.Researcher()
		id := l.trigger("stuck")
		l.held(id, ktrdr.Training)
		worker.Kill()
		l.endsBadly(id, research.Training, ktrdr.CodeOrphaned, "Operation was RUNNING but no worker claimed it")

		backend.Kill()
		l.Serve("AUTO_RESUME=false")
		l.Researcher()
		l.Resume(id)
		l.completes(id, phases...)
	})
}
