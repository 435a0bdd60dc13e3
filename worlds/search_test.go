package worlds

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
)

// searchSeed is where the seeds of searches in process begin. It was chosen before
// any of them was run, and nothing may be tuned to them.
const searchSeed = 52_000

// search searches a world in process, as a backend does, without the steps that can
// only refuse a look.
func (w World) search(t *testing.T, seed uint64, bars, researches int) factory.SearchOutcome {
	t.Helper()
	costs, err := instrument.ParseTable(w.Costs)
	if err != nil {
		t.Fatal(err)
	}
	split, err := factory.Split([]*market.Bars{w.Make("WORLD", bars, seed)}, HoldoutShare)
	if err != nil {
		t.Fatal(err)
	}
	out, err := factory.Search(t.Context(), split, factory.Settings{Researches: researches, Seed: seed, Costs: costs})
	if err != nil {
		t.Fatalf("%s, seed %d: %v", w.Name, seed, err)
	}
	return out
}

// searches is how many of a number of searches in process claim an edge, and how many looked.
func (w World) searches(t *testing.T, runs, bars, researches int) (s Share, looks int) {
	t.Helper()
	const atOnce = 2
	var mu sync.Mutex
	var wg sync.WaitGroup
	for k := range atOnce {
		wg.Go(func() {
			for i := k; i < runs; i += atOnce {
				out := w.search(t, uint64(searchSeed+i), bars, researches)
				mu.Lock()
				s.Runs++
				if out.Claims() > 0 {
					s.Claims++
				}
				looks += out.Looks()
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return s, looks
}

// One search of each world, and more where the edge dies: there every search looks.
// Luck alone claims an edge in one of 50.
func TestSearches_ClaimNoEdgeThatIsNotThere(t *testing.T) {
	var pooled Share
	looks := 0
	for _, w := range worlds(t) {
		runs := 1
		if strings.HasPrefix(w.Name, Died) {
			runs = 4
		}
		s, looked := w.searches(t, runs, 3000, 4)
		pooled.Add(s)
		looks += looked
	}
	t.Logf("%s, with %d looks", pooled, looks)
	if low, _ := pooled.Interval(); low > 0.02 {
		t.Errorf("%s, where 2 %% are allowed", pooled)
	}
	if looks < 3 {
		t.Errorf("%d looks: too few to show anything of claims", looks)
	}
}

// Luck makes about one of n trials a finalist if each is adjusted for n: one of a run,
// however long it is. Adjusted for one trial it would make a large share of them.
func TestInertGates_ALongRunOfNoiseHasFewFinalists(t *testing.T) {
	const trials, most = 100, 4
	out := Worlds[0].search(t, searchSeed-1, 3000, trials)
	good := 0
	for i := range out.Researches {
		if z := out.Researches[i].Score; z != nil && *z > 0.5 {
			good++
		}
	}
	if got := out.Finalists(); got > most {
		t.Errorf("%d of %d trials without an edge are finalists, want at most %d", got, trials, most)
	}
	if good < 2*most {
		t.Errorf("only %d trials were good by luck: too few to show what the number of trials takes from them", good)
	}
}

// An edge that is there is found if it is strong.
func TestSearches_FindAStrongEdge(t *testing.T) {
	for _, name := range []string{"reversal", "momentum"} {
		w := World{name, kindNamed(t, name).alone(0.4), Fair}
		if s, looks := w.searches(t, 1, 8000, 8); s.Claims == 0 {
			t.Errorf("%s at 0.4 was not confirmed, with %d looks", name, looks)
		}
	}
}

// A symbol that goes ahead is read and not traded, and a strong lead is found.
func TestSearches_FindALead(t *testing.T) {
	all := kindNamed(t, "lead-lag").Make("FOLLOW", 8000, searchSeed, 0.6)
	w, err := factory.Split(all, HoldoutShare)
	if err != nil {
		t.Fatal(err)
	}
	costs, err := instrument.ParseTable(Fair)
	if err != nil {
		t.Fatal(err)
	}
	w.Context = []string{all[1].Symbol}
	out, err := factory.Search(t.Context(), w, factory.Settings{Seed: searchSeed, Costs: costs})
	if err != nil {
		t.Fatal(err)
	}
	for i := range out.Researches {
		r := &out.Researches[i]
		if r.Status != ktrdr.Completed {
			t.Errorf("research %d: %s", i, r.Why)
		}
		if f := r.Result.Figures; f != nil && len(f.Symbols) > 1 {
			t.Errorf("research %d trades %d symbols", i, len(f.Symbols))
		}
	}
	if out.Claims() == 0 {
		t.Errorf("a lead of 0.6 was not confirmed, with %d looks and a best score of %v", out.Looks(), out.Score())
	}
}

func kindNamed(t *testing.T, name string) Kind {
	t.Helper()
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("there is no kind %q", name)
	}
	return Kinds[i]
}

// alone makes the symbol with the edge.
func (k Kind) alone(strength float64) func(string, int, uint64) *market.Bars {
	return func(symbol string, bars int, seed uint64) *market.Bars {
		return k.Make(symbol, bars, seed, strength)[0]
	}
}
