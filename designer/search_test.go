package designer

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/fuzzy"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

var measured = sync.OnceValue(func() Stats {
	s, err := Measure(market.Synth(market.SynthConfig{Bars: 4000, Seed: 3}))
	if err != nil {
		panic(err)
	}
	s.Bars = 20_000
	return s
})

func openFrame() *frame {
	return newFrame(&Brief{Symbols: []string{"EURUSD"}, Timeframe: market.H1, Stats: measured()}, instrument.Costs{Commission: 0.00005})
}

// Catalog names the readings that designs are made of.
func Catalog() []string {
	out := make([]string, len(readings))
	for i, r := range readings {
		out[i] = r.name
	}
	return out
}

func TestCatalog_IsInOrderAndCanBeMade(t *testing.T) {
	if !slices.IsSorted(Catalog()) {
		t.Fatal("readings are found by bisection and must be in order")
	}
	for _, r := range readings {
		for _, p := range periods {
			ind, k, err := r.build(p)
			if err != nil {
				t.Errorf("%s over %d: %v", r.name, p, err)
				continue
			}
			if r.output != "" && ind.Outputs()[k] != r.output || r.output == "" && len(ind.Outputs()) > 1 {
				t.Errorf("%s: output %q is not one of %v", r.name, r.output, ind.Outputs())
			}
		}
	}
	for name, list := range standIns {
		for _, x := range list {
			if _, ok := find(x); !ok {
				t.Errorf("%s stands in for %s and is no reading", x, name)
			}
		}
	}
}

func TestMeasure_DescribesTheMarket(t *testing.T) {
	s := measured()
	if s.Volatility < 0.0005 || s.Volatility > 0.003 {
		t.Errorf("volatility %v, want about 8 %% a year", s.Volatility)
	}
	c, ok := s.column("rsi", 12)
	if q := c.Quantiles; !ok || !slices.IsSorted(q[:]) || q[q50] < 40 || q[q50] > 60 || q[q02] < 5 || q[q98] > 95 {
		t.Errorf("rsi over 12: %v", c)
	}
}

func TestMeasure_LeavesOutWhatSaysNothing(t *testing.T) {
	b := market.Synth(market.SynthConfig{Bars: 1000, Seed: 3})
	b.Volume = make([]float64, b.Len())
	s, err := Measure(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mfi", "cmf", "volume_ratio"} {
		if c, ok := s.column(name, 24); ok {
			t.Errorf("%s has values without any volume: %v", name, c)
		}
	}
	f := newFrame(&Brief{Symbols: []string{"X"}, Timeframe: market.H1, Stats: s}, instrument.Costs{})
	g := f.repair(Genome{Inputs: []Gene{
		{Reading: "mfi", Period: 24, Partition: Thirds}, {Reading: "rsi", Period: 24, Partition: Thirds},
	}})
	if g.has("mfi", 0) || !g.has("rsi", 0) {
		t.Errorf("a design looks at what says nothing: %v", g.Inputs)
	}
}

// What a design is judged by must not have shaped it.
func TestMeasure_DoesNotLookAtTheTestPart(t *testing.T) {
	b := market.Synth(market.SynthConfig{Bars: 4000, Seed: 3})
	before, err := Measure(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := 2600; i < b.Len(); i++ { // 35 % of it
		b.Open[i], b.High[i], b.Low[i], b.Close[i] = 9, 11, 7, float64(8+i%3)
	}
	after, err := Measure(b)
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("another test part makes other statistics (%v)", err)
	}
	b.Close[2599] *= 1.5
	if after, err = Measure(b); err != nil || reflect.DeepEqual(before, after) {
		t.Errorf("the last bar before it says nothing (%v)", err)
	}
}

// A question that was not tried yet is tried before what the outcome
// teaches.
func TestLesson_OpenQuestionsComeFirst(t *testing.T) {
	e := Experiment{Outcome: Outcome{Reasons: []Refusal{{Code: "costs"}}}}
	if l := e.lesson(); l == nil || !slices.Contains(l.codes, "costs") {
		t.Errorf("%+v, want what the outcome teaches", l)
	}
	e.Open = []string{"unheard_of", "decay"}
	if l := e.lesson(); l == nil || !slices.Contains(l.codes, "decay") {
		t.Errorf("%+v, want what is open", l)
	}
}

func TestMeasure_RefusesTooLittle(t *testing.T) {
	if _, err := Measure(market.Synth(market.SynthConfig{Bars: 299, Seed: 3})); err == nil || !strings.Contains(err.Error(), "300") {
		t.Errorf("err = %v", err)
	}
	flat := market.Synth(market.SynthConfig{Bars: 400, Seed: 3})
	flat.Close = slices.Repeat([]float64{1}, 400)
	if _, err := Measure(flat); err == nil || !strings.Contains(err.Error(), "never moves") {
		t.Errorf("err = %v", err)
	}
}

// TestPartition_LeavesNoValueOut looks at every reading at and beyond its
// quantiles: some set must hold each value to a degree that a network can see.
func TestPartition_LeavesNoValueOut(t *testing.T) {
	for _, c := range measured().Columns {
		for _, p := range []Partition{Thirds, Tails, Fifths} {
			q := c.Quantiles
			reach := q[q98] - q[q02]
			for _, x := range append(q[:], q[q02]-reach, q[q98]+reach, (q[q10]+q[q25])/2, (q[q75]+q[q90])/2) {
				best := 0.0
				for _, m := range p.members(q) {
					f, err := fuzzy.Parse(m.shape, []float64{m.at, m.slope})
					if err != nil {
						t.Fatalf("%s over %d, %s: %v", c.Name, c.Period, p, err)
					}
					best = max(best, f.At(x))
				}
				if best < 0.2 {
					t.Errorf("%s over %d, %s: %v is in no set (best %.2f) of %v", c.Name, c.Period, p, x, best, q)
				}
			}
		}
	}
}

func TestRepair_IsDoneInOneGo(t *testing.T) {
	f := openFrame()
	rapid.Check(t, func(t *rapid.T) {
		r := num.NewRand(rapid.Uint64().Draw(t, "seed"))
		g, _ := f.first(&memory{}, rapid.IntRange(0, 30).Draw(t, "index"), r)
		for range rapid.IntRange(0, 20).Draw(t, "mutations") {
			f.mutate(&g, r)
		}
		once := f.repair(g)
		if twice := f.repair(once); once.fingerprint() != twice.fingerprint() {
			t.Fatalf("%+v is repaired to %+v", once, twice)
		}
	})
}

func TestMark_TellsSiblingsApart(t *testing.T) {
	f, r := openFrame(), num.NewRand(1)
	g, _ := f.first(&memory{}, 0, r)
	for index := range siblings {
		if m := f.mark(g, index, r); m.fingerprint()%siblings != uint64(index) || m.outline() != g.outline() || m.Horizon != g.Horizon {
			t.Errorf("index %d: mark %d on %+v", index, m.fingerprint()%siblings, m)
		}
	}
}

func TestLessons_AreLearntFromRefusals(t *testing.T) {
	f := openFrame()
	was := f.repair(Genome{
		Inputs: []Gene{{Reading: "cci", Period: 24, Partition: Thirds}, {Reading: "rsi", Period: 24, Partition: Raw}},
		Label:  strategy.TripleBarrier, Horizon: 12, Width: 1, Hidden: []int{32, 16},
		Dropout: 0.1, Rate: 0.003, Caution: 3, Pause: 4, Flip: true, Size: 1,
	})
	for name, c := range map[string]struct {
		outcome Outcome
		learnt  func(g Genome) bool
	}{
		"too few trades": {
			Outcome{Reasons: []Refusal{{Code: "too_few_trades"}}},
			func(g Genome) bool { return g.Caution < 3 && g.Horizon < 12 && g.Pause == 0 && g.Short },
		},
		"few trades in figures": {Outcome{Sharpe: new(1.0), Trades: 4}, func(g Genome) bool { return g.Caution < 3 && g.Horizon < 12 }},
		"costs": {
			Outcome{Reasons: []Refusal{{Code: "net_return_negative"}}},
			func(g Genome) bool { return g.Caution > 3 && g.Horizon > 12 && g.Pause > 4 },
		},
		"costs in figures": {Outcome{CostShare: 0.8}, func(g Genome) bool { return g.Caution > 3 && g.Horizon > 12 }},
		"collapse":         {Outcome{Collapsed: true}, func(g Genome) bool { return g.Label != strategy.TripleBarrier && g.Rate > 0.003 }},
		"nothing learnt": {
			Outcome{Reasons: []Refusal{{Code: "loss_too_high"}}},
			func(g Genome) bool { return g.Label != strategy.TripleBarrier },
		},
		"overfitting": {
			Outcome{Reasons: []Refusal{{Code: "decay"}}},
			func(g Genome) bool { return len(g.Hidden) == 1 && g.Dropout > 0.1 && len(g.Inputs) == 1 },
		},
		"drawdown": {
			Outcome{Reasons: []Refusal{{Code: "drawdown_too_high"}}},
			func(g Genome) bool { return g.Size < 1 && g.Stop > 0 },
		},
		"win rate": {
			Outcome{Reasons: []Refusal{{Code: "win_rate_too_low"}}},
			func(g Genome) bool { return g.Target > 0 && g.Target <= 1 },
		},
		"worse than holding": {
			Outcome{Reasons: []Refusal{{Code: "buy_and_hold"}}},
			func(g Genome) bool { return !g.Short && g.Horizon > 12 },
		},
		"the first that is known": {
			Outcome{Reasons: []Refusal{{Code: "weather"}, {Code: "drawdown"}}},
			func(g Genome) bool { return g.Size < 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := lessonOf(c.outcome)
			if l == nil {
				t.Fatal("nothing was learnt")
			}
			g := was.clone()
			l.apply(f, &g, num.NewRand(4))
			if g = f.repair(g); !c.learnt(g) {
				t.Errorf("%q made of\n%+v\n%+v", l.why, was, g)
			}
		})
	}
	if l := lessonOf(Outcome{Sharpe: new(2.0), Trades: 300}); l != nil {
		t.Errorf("a good design teaches %q", l.why)
	}
}

func TestScore_IsNotTheSharpeRatio(t *testing.T) {
	g := &Genome{Inputs: make([]Gene, 2)}
	good := Outcome{Sharpe: new(1.5), Trades: 200}
	for name, worse := range map[string]Outcome{
		"a higher one of five trades": {Sharpe: new(4.0), Trades: 5},
		"a higher one, collapsed":     {Sharpe: new(2.0), Trades: 200, Collapsed: true},
		"a higher one, half drowned":  {Sharpe: new(2.0), Trades: 200, Drawdown: 0.5},
		"a higher one, eaten by cost": {Sharpe: new(1.8), Trades: 200, CostShare: 1},
		"none":                        {},
		"one that is not a number":    {Sharpe: new(math.NaN()), Trades: 200},
		"one of a failure":            {Sharpe: new(3.0), Trades: 200, Failed: true},
		"no trade":                    {Sharpe: new(0.0)},
	} {
		if score(worse, g) >= score(good, g) {
			t.Errorf("%s scores %.2f, a good design %.2f", name, score(worse, g), score(good, g))
		}
	}
}

func TestRecall_LearnsFromStrategiesOfOthers(t *testing.T) {
	f := openFrame()
	var past []Experiment
	for _, x := range strategy.Examples() {
		past = append(past, Experiment{Earlier: true, Strategy: string(x.Source)})
	}
	m := f.recall(past)
	if len(m.keys) != len(past) || len(m.parents) != len(past) {
		t.Fatalf("of %d strategies %d are known and %d can be parents", len(past), len(m.keys), len(m.parents))
	}
	i := slices.IndexFunc(m.parents, func(k known) bool { return strings.Contains(k.Strategy, "name: rsi_mean_reversion") })
	if g := m.parents[i].genome; !g.has("rsi", 0) || !g.has("adx", 0) || !g.has("ema_distance", 0) || g.Horizon != 48 ||
		g.Label != strategy.TripleBarrier {
		t.Errorf("rsi_mean_reversion is read as %+v", g)
	}
}

func TestStagnant_IsARunWithoutProgress(t *testing.T) {
	at := func(generation int, score float64) known {
		return known{Experiment: Experiment{Generation: generation}, score: score}
	}
	m := memory{parents: []known{at(0, 1), at(1, 0), at(2, 0), at(3, 0.5)}}
	if !m.stagnant(4) || m.stagnant(3) || (&memory{}).stagnant(4) {
		t.Error("the best design is of generation 0: generation 4 comes after three others, generation 3 after two")
	}
	if m.parents = append(m.parents, at(3, 2)); m.stagnant(4) {
		t.Error("generation 3 has a better design")
	}
}

// landscape is a world whose best design is known: each thing that is right
// adds to the Sharpe ratio. It is not one of the archetypes.
func landscape(g *Genome) float64 {
	near := func(rungs int) float64 { return 1 / (1 + float64(rungs)) }
	rung := func(ladder []int, a, b int) int {
		return int(math.Abs(float64(slices.Index(ladder, a) - slices.Index(ladder, b))))
	}
	sum := 0.0
	for _, x := range g.Inputs {
		switch x.Reading {
		case "mfi":
			sum += near(rung(periods, x.Period, 64))
		case "rvi":
			sum += near(rung(periods, x.Period, 8))
		default:
			sum -= 0.1
		}
	}
	if g.Label == strategy.Context {
		sum += 0.5
	}
	sum += near(rung(horizons, g.Horizon, 36)) + near(int(math.Abs(float64(g.Caution-5))))
	if g.Stop == 2 {
		sum += 0.25
	}
	return sum
}

// TestDesign_BeatsRandomSearch lets both try eighty designs of the landscape,
// for seeds that were chosen beforehand.
func TestDesign_BeatsRandomSearch(t *testing.T) {
	f, wins := openFrame(), 0
	const seeds, generations, size = 12, 10, 8
	for seed := range uint64(seeds) {
		var past []Experiment
		evolved, random := 0.0, 0.0
		r := num.NewRand(seed)
		for g := range generations {
			var tried []Experiment
			for i := range size {
				p, err := Design(*f.brief, seed, g, i, past, f.cost)
				if err != nil {
					t.Fatal(err)
				}
				x := landscape(&p.Genome)
				evolved = max(evolved, x)
				tried = append(tried, Experiment{Generation: g, Index: i, Key: p.Key, Genome: &p.Genome, Outcome: Outcome{Sharpe: &x, Trades: 500}})

				wild, _ := f.first(&memory{}, pick(r, len(archetypes)), r)
				for range 30 {
					f.mutate(&wild, r)
				}
				wild = f.repair(wild)
				random = max(random, landscape(&wild))
			}
			past = append(past, tried...)
		}
		t.Logf("seed %d: evolution %.2f, random search %.2f", seed, evolved, random)
		if evolved > random {
			wins++
		}
	}
	if wins < 9 {
		t.Errorf("evolution beat random search for %d of %d seeds, want 9 or more", wins, seeds)
	}
}
