package factory_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/research"
)

// A strong planted edge has the least p-value that 39 copies allow. A test that is
// stopped after each copy and read from JSON again ends with the same numbers.
func TestTest_FindsAnEdgeAndResumesWithTheSameNumbers(t *testing.T) {
	w := split(t, synth("SYNTH", 3000, 1, 1))
	s := factory.Settings{Researches: 2, Seed: 7, Costs: cheap}
	spec, err := factory.NewSpec(w, s)
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *factory.Test {
		out := search(t, w, s)
		rank, err := evidence.NewSequential(evidence.FactoryThreshold(0), 39)
		if err != nil {
			t.Fatal(err)
		}
		return &factory.Test{Real: out.Statistic(), Rank: rank}
	}
	undisturbed := begin()
	if err := undisturbed.Continue(t.Context(), w, spec, s, research.Flips, 3, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if p := undisturbed.P(); p == nil || *p != 1./40 {
		t.Errorf("p = %v after %+v, want 1/40", p, undisturbed.Rank)
	}
	stopped := begin()
	stop := errors.New("stop")
	for p := stopped.P(); p == nil; p = stopped.P() {
		err := stopped.Continue(t.Context(), w, spec, s, research.Flips, 3, func() error { return stop })
		if err != nil && !errors.Is(err, stop) {
			t.Fatal(err)
		}
		text, err := json.Marshal(stopped)
		if err != nil {
			t.Fatal(err)
		}
		stopped = new(factory.Test)
		if err := json.Unmarshal(text, stopped); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := json.Marshal(undisturbed)
	if b, _ := json.Marshal(stopped); string(a) != string(b) {
		t.Errorf("stopped after each copy: %s\nundisturbed: %s", b, a)
	}
}

func TestTest_OfARunWithoutAJudgedResearchHasPOne(t *testing.T) {
	var none factory.Test
	if p := none.P(); p == nil || *p != 1 {
		t.Errorf("p = %v, want 1", p)
	}
}
