package designer

import (
	"math"
	"slices"
	"testing"
)

// tried is an experiment of a reading that was held so long and earned so much.
func tried(reading string, held, sharpe float64, sums ...int8) known {
	r, _ := find(reading)
	g := Genome{Idea: r.family, Inputs: []Gene{{Reading: reading, Period: 24}}, Horizon: 8}
	b := &Behaviour{Held: held, Exposure: 1}
	if len(sums) > 0 {
		b.Path = Path{First: "2020-01-01", Days: 80, Sums: sums}
	}
	o := Outcome{Sharpe: &sharpe, Trades: 200, Behaviour: b}
	return known{Experiment{Outcome: o}, g, score(o, &g)}
}

func TestElites_AreTheBestOfTheirCells(t *testing.T) {
	pool := []known{tried("rsi", 10, 1), tried("rsi", 12, 2), tried("cci", 9, 1.5), tried("rsi", 100, 0.5), tried("roc", 10, -1)}
	var got []float64
	for _, e := range elites(pool) {
		got = append(got, *e.Outcome.Sharpe)
	}
	if want := []float64{2, 0.5, -1}; !slices.Equal(got, want) {
		t.Errorf("elites with Sharpe ratios %v, want %v: the best of two readings held 6 to 18 bars, one held longer, and one of momentum",
			got, want)
	}
}

// Of two designs that earn the same beside a better one, the one that earns on other days is rewarded more.
func TestElites_OriginalOnesAreRewarded(t *testing.T) {
	days := []int8{100, -40, 60, -80, 20, 90}
	other := []int8{-80, 60, 100, 20, -40, 10}
	pool := []known{tried("rsi", 10, 2, days...), tried("roc", 10, 1, days...), tried("aroon", 10, 1, other...)}
	list := elites(pool)
	if r, _ := find(list[1].genome.Inputs[0].Reading); list[0].cell.family != Reversion || r.family != Trend ||
		!(list[1].reward > list[2].reward) {
		t.Errorf("the order is %v, %v, %v", list[0].cell, list[1].cell, list[2].cell)
	}
	pool[2].Outcome.Behaviour.Path = pool[0].Outcome.Behaviour.Path
	if list = elites(pool); list[1].reward != list[2].reward {
		t.Errorf("rewards %v and %v of two that both earn on the days of the best", list[1].reward, list[2].reward)
	}
}

func TestCell_OfWhatHasNoBehaviourIsThatOfItsGenome(t *testing.T) {
	g := Genome{Idea: Trend, Inputs: []Gene{{Reading: "rsi"}, {Reading: "cci"}}, Horizon: 24, Exit: 1}
	if got, want := cellOf(&g, &Outcome{}), (cell{Reversion, 2, 1}); got != want {
		t.Errorf("cell %+v, want %+v", got, want)
	}
	if got := cellOf(&g, &Outcome{Behaviour: &Behaviour{Held: math.NaN(), Exposure: 0.1}}); got != (cell{Reversion, len(heldRungs), 0}) {
		t.Errorf("cell %+v of a holding time that is not a number", got)
	}
}

func TestPath_TellsWhichReturnsHangTogether(t *testing.T) {
	wave, late := make([]float64, 200), make([]float64, 200)
	for i := range wave {
		wave[i], late[i] = math.Sin(float64(i)/9), math.Cos(float64(i)/9)
	}
	p := PathOf("2020-01-01", wave)
	if r, ok := p.correlation(p); !ok || math.Abs(r-1) > 1e-12 {
		t.Errorf("correlation %v with itself", r)
	}
	if r, ok := p.correlation(PathOf("2020-01-01", late)); !ok || math.Abs(r) > 0.3 {
		t.Errorf("correlation %v with one that is a quarter of a wave late", r)
	}
	for name, q := range map[string]Path{
		"other days":      PathOf("2020-01-02", wave),
		"another length":  PathOf("2020-01-01", wave[:199]),
		"too few days":    PathOf("2020-01-01", wave[:39]),
		"no returns":      PathOf("2020-01-01", make([]float64, 200)),
		"infinite ones":   PathOf("2020-01-01", append(slices.Clone(wave[:199]), math.Inf(1))),
		"not even a path": {},
	} {
		if r, ok := p.correlation(q); ok {
			t.Errorf("%s: correlation %v", name, r)
		}
	}
}

// A family that earned on earlier markets begins a run, one that lost comes last, and
// what another market says counts for less.
func TestKnowledge_OrdersTheBeginnings(t *testing.T) {
	first := func(past ...known) (string, string) {
		m := memory{parents: past}
		m.learn()
		list := m.known.ordered(archetypes)
		return list[0].name, list[len(list)-1].name
	}
	if a, _ := first(); a != archetypes[0].name {
		t.Errorf("without memory a run begins with %q", a)
	}
	a, z := first(tried("roc", 10, 2), tried("mfi", 10, -2))
	if a != "what moved moves on" || z != "volume tells who means it" {
		t.Errorf("after a good momentum and a bad volume a run begins with %q and ends with %q", a, z)
	}
	there := tried("roc", 10, 2)
	there.Elsewhere = true
	if a, _ = first(there, tried("hour", 10, 1.5)); a != "the hour of the day decides" {
		t.Errorf("a good hour here is behind a better momentum elsewhere: %q", a)
	}
}

// cellsFilled runs generations of eight in a landscape, and counts the families and
// holding times that were tried and did not lose.
func cellsFilled(t *testing.T, seed uint64, generations int) int {
	t.Helper()
	f, filled := openFrame(), map[[2]any]bool{}
	var past []Experiment
	for g := range generations {
		var now []Experiment
		for i := range 8 {
			p, err := Design(*f.brief, seed, g, i, past, f.cost)
			if err != nil {
				t.Fatal(err)
			}
			x := landscape(&p.Genome)
			if x > 0 {
				c := cellOf(&p.Genome, &Outcome{})
				filled[[2]any{c.family, c.held}] = true
			}
			now = append(now, Experiment{Generation: g, Index: i, Key: p.Key, Genome: &p.Genome, Outcome: Outcome{Sharpe: &x, Trades: 500}})
		}
		past = append(past, now...)
	}
	return len(filled)
}
