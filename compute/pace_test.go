package compute

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

// A training whose steps make a checkpoint due all the time saves no more often
// than the interval in force allows, and still does save.
func TestTraining_TheIntervalIsTheLeastTimeBetweenCheckpoints(t *testing.T) {
	const interval, batch = 150 * time.Millisecond, 2 * time.Millisecond
	o := newOffice(t, 1500, "EURUSD")
	o.b.SaveEvery = interval
	order := o.train(jobs.TrainingRequest{
		StrategyYAML: small("epochs: 24", "epochs: 200", "patience: 12", "patience: 200", "batch_size: 64", "batch_size: 1024"),
	})
	began := time.Now()
	op := o.run(order, once(trainingRunner{best, func(int64) { <-time.After(batch) }}))
	took := time.Since(began)
	periodic := 0
	for _, c := range o.b.History(op.ID) {
		if c.Type == ktrdr.CheckpointPeriodic {
			periodic++
		}
	}
	if most := int(took / interval); periodic < 1 || periodic > most {
		t.Errorf("%d periodic checkpoints in %v, want 1 to %d: they are %v apart", periodic, took, most, interval)
	}
}

// Without an interval only steps make checkpoints due, and a short training
// leaves none but the final one.
func TestTraining_StepsAloneDoNotMakeManyCheckpoints(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	op := o.run(o.train(jobs.TrainingRequest{StrategyYAML: small()}), once(TrainingRunner(best)))
	for _, c := range o.b.History(op.ID) {
		if c.Type != ktrdr.CheckpointFinal {
			t.Errorf("a training of moments left the checkpoint %s (%s)", c.ID, c.Type)
		}
	}
}
