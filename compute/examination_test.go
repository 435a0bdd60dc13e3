package compute

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/worker"
)

// examined orders the examination of a strategy on the bars of a training.
func examined(t *testing.T, o *office) jobs.Accepted {
	t.Helper()
	order := o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 2")})
	of, err := ktrdr.ParseSpec[jobs.TrainingSpec](order.Operation.Spec)
	if err != nil {
		t.Fatal(err)
	}
	fee := 0.0001
	text, err := json.Marshal(jobs.ExaminationSpec{
		Research: "op_agent_research_1", Name: "small", Strategy: of.Strategy, Run: "run_a", Seed: of.Seed, KernelClass: of.KernelClass,
		Bars: of.Bars, Costs: map[string]backtest.Overrides{"EURUSD": {Commission: &fee}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return jobs.Accepted{Operation: ktrdr.NewOperation{Type: ktrdr.Examining, Spec: text}}
}

func TestExamination_InterruptedAnywhereEqualsUninterrupted(t *testing.T) {
	o := newOffice(t, 2500, "EURUSD")
	order := examined(t, o)
	undisturbed := o.run(order, once(ExaminationRunner(best)))
	want := resultOf[jobs.ExaminationResult](t, undisturbed)
	if want.Examination.Score == nil || len(want.Examination.Perturbed) < 7 {
		t.Fatalf("the examination found %+v", want.Examination)
	}
	for _, steps := range [][]int64{{1}, {14, 1}, {17, 2, 1}} {
		op := o.run(order, cut(t, steps, 1, func(watch func(int64)) worker.Runner { return examinationRunner{best, watch} }))
		if op.Attempts != len(steps)+1 {
			t.Fatalf("stopped after %v units: %d attempts", steps, op.Attempts)
		}
		if got := resultOf[jobs.ExaminationResult](t, op); got.ResultHash != want.ResultHash || !bytes.Equal(op.Result, undisturbed.Result) {
			t.Errorf("stopped after %v units: result hash %s, undisturbed %s", steps, got.ResultHash, want.ResultHash)
		}
	}
}
