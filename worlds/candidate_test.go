package worlds

import (
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/research"
)

// candidate makes the factory test of a run, the first on its market. 0 copies means the usual number.
// scored is whether the run had a finalist: without one there is no score to compare with the copies.
func (w World) candidate(t *testing.T, seed uint64, bars, researches, copies int) (is, scored bool) {
	t.Helper()
	costs, err := instrument.ParseTable(w.Costs)
	if err != nil {
		t.Fatal(err)
	}
	split, err := factory.Split([]*market.Bars{w.Make("WORLD", bars, seed)}, HoldoutShare)
	if err != nil {
		t.Fatal(err)
	}
	s := factory.Settings{Researches: researches, Seed: seed, Costs: costs}
	spec, err := factory.NewSpec(split, s)
	if err != nil {
		t.Fatal(err)
	}
	out, err := factory.SearchAs(t.Context(), split, spec, s)
	if err != nil {
		t.Fatal(err)
	}
	level := evidence.FactoryThreshold(0)
	rank, err := evidence.NewSequential(level, copies)
	if err != nil {
		t.Fatal(err)
	}
	test := factory.Test{Real: out.Statistic(), Rank: rank}
	err = test.Continue(t.Context(), split, spec, s, research.Flips, num.Mix(seed, 1), func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	p := test.P()
	scored = test.Real != nil
	return scored && p != nil && *p <= level && *test.Real > 0, scored
}

// candidates is how many of a number of runs are candidates, and how many of them had a finalist.
func (w World) candidates(t *testing.T, runs, bars, researches, copies int) (s Share, scored int) {
	t.Helper()
	const atOnce = 2
	var mu sync.Mutex
	var wg sync.WaitGroup
	for k := range atOnce {
		wg.Go(func() {
			for i := k; i < runs; i += atOnce {
				is, had := w.candidate(t, uint64(searchSeed+1000+i), bars, researches, copies)
				mu.Lock()
				s.Runs++
				if is {
					s.Claims++
				}
				if had {
					scored++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return s, scored
}

// The test part of a short market holds too few trades for a finalist, and then there is no
// score to test. With these bars and researches an edge is found.
const (
	barsOfFinalists       = 6000
	researchesOfFinalists = 8
)

// 39 copies are the fewest that can make a candidate.
func TestCandidates_AreRareWithoutAnEdgeAndFoundWithOne(t *testing.T) {
	const copies = 39
	if s, _ := Worlds[0].candidates(t, 4, 2500, 2, copies); s.Claims > 1 {
		t.Errorf("%s: %d of %d runs are candidates", Worlds[0].Name, s.Claims, s.Runs)
	}
	strong := World{"momentum", kindNamed(t, "momentum").alone(0.5), Fair}
	if s, _ := strong.candidates(t, 2, barsOfFinalists, researchesOfFinalists, copies); s.Claims == 0 {
		t.Errorf("a momentum of 0.5 is a candidate in none of %d worlds", s.Runs)
	}
}
