package designer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// stats is a market to design for, measured once.
var stats = sync.OnceValue(func() designer.Stats {
	s, err := designer.Measure(market.Synth(market.SynthConfig{Bars: 4000, Seed: 3}))
	if err != nil {
		panic(err)
	}
	s.Bars = 20_000
	return s
})

func briefOf(text string) designer.Brief {
	b := designer.Chosen{}.Read(text, library)
	b.Stats = stats()
	for range b.Longer {
		b.LongerStats = append(b.LongerStats, stats())
	}
	return b
}

// goal draws a text of words that mean something, and of some that do not.
var goal = rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{
	"EURUSD", "GBPUSD", "BTC-USD", "1h", "4h", "daily", "1h and 4h", "hourly and daily bars", "trend", "mean reversion", "momentum",
	"breakout", "volume", "volatility",
	"rsi", "macd", "adx", "bollinger bands", "ichimoku", "no", "without", ".", "simple", "long only", "no shorts", "lstm", "gru", "mlp",
	"max drawdown 5 %", "max drawdown 30 %", "at least 200 trades", "scalping", "swing", "position trading", "please", "find", "42",
	"stop loss 2 %", "take profit 4%", "no stops", "with stops", "risk 1 % per trade",
}), 0, 8), func(words []string) string { return strings.Join(words, " ") })

var float = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e300}))

// gene and genome may be anything.
var gene = rapid.Custom(func(t *rapid.T) designer.Gene {
	return designer.Gene{
		Reading:   rapid.OneOf(rapid.SampledFrom(designer.Catalog()), rapid.String()).Draw(t, "reading"),
		Period:    rapid.Int().Draw(t, "period"),
		Partition: designer.Partition(rapid.SampledFrom([]string{"raw", "tails", "fifths", "thirds", "?"}).Draw(t, "partition")),
		Frame:     rapid.IntRange(-1, 3).Draw(t, "frame"),
	}
})

var genome = rapid.Custom(func(t *rapid.T) *designer.Genome {
	return &designer.Genome{
		Idea: designer.Family(rapid.String().Draw(t, "idea")), Inputs: rapid.SliceOfN(gene, 0, 9).Draw(t, "inputs"),
		Label: strategy.LabelSource(rapid.SampledFrom([]string{
			"", "zigzag", "forward_return", "triple_barrier", "context",
			"regime",
		}).Draw(t, "label")),
		Horizon: rapid.Int().Draw(t, "horizon"), Width: float.Draw(t, "width"),
		Model:  strategy.ModelType(rapid.SampledFrom([]string{"", "mlp", "gru", "tree"}).Draw(t, "model")),
		Hidden: rapid.SliceOfN(rapid.Int(), 0, 3).Draw(t, "hidden"), Sequence: rapid.Int().Draw(t, "sequence"), Dropout: float.Draw(t, "dropout"),
		Rate: float.Draw(t, "rate"), Epochs: rapid.Int().Draw(t, "epochs"), Batch: rapid.Int().Draw(t, "batch"),
		Caution: rapid.IntRange(-99, 99).Draw(t, "caution"),
		Short:   rapid.Bool().Draw(t, "short"), Flip: rapid.Bool().Draw(t, "flip"), Stop: float.Draw(t, "stop"), Target: float.Draw(t, "target"),
		Size: float.Draw(t, "size"),
	}
})

var reasons = []designer.Refusal{
	{Code: "too_few_trades", Value: new(3.0), Limit: new(30.0)},
	{Code: "collapsed"},
	{Code: "costs"},
	{Code: "loss_too_high"},
	{Code: "drawdown_too_high"},
	{Code: "sharpe_too_low"},
	{Code: "?"},
	{},
}

var experiment = rapid.Custom(func(t *rapid.T) designer.Experiment {
	e := designer.Experiment{
		Generation: rapid.IntRange(-1, 9).Draw(t, "generation"), Index: rapid.IntRange(-3, 20).Draw(t, "index"),
		Earlier:  rapid.Bool().Draw(t, "earlier"),
		Strategy: rapid.OneOf(rapid.Just(string(strategy.Examples()[0].Source)), rapid.String()).Draw(t, "strategy"),
		Outcome: designer.Outcome{
			Reasons: rapid.SliceOfN(rapid.SampledFrom(reasons), 0, 2).Draw(t, "reasons"), Trades: rapid.IntRange(-5, 1000).Draw(t, "trades"),
			Collapsed: rapid.Bool().Draw(t, "collapsed"), Failed: rapid.Bool().Draw(t, "failed"), Drawdown: float.Draw(t, "drawdown"),
			CostShare: float.Draw(t, "cost share"),
		},
	}
	if rapid.Bool().Draw(t, "has a genome") {
		e.Genome = genome.Draw(t, "genome")
	}
	if rapid.Bool().Draw(t, "has a Sharpe ratio") {
		x := float.Draw(t, "sharpe")
		e.Outcome.Sharpe = &x
	}
	return e
})

// TestDesign_IsValidWhateverItIsGiven draws goals, places and memories, among
// them such as no research leaves behind.
func TestDesign_IsValidWhateverItIsGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := briefOf(goal.Draw(t, "goal"))
		seed := rapid.Uint64().Draw(t, "seed")
		generation, index := rapid.IntRange(0, 12).Draw(t, "generation"), rapid.IntRange(0, 70).Draw(t, "index")
		past := rapid.SliceOfNDistinct(experiment, 0, 6,
			func(e designer.Experiment) [2]int { return [2]int{e.Generation, e.Index} }).Draw(t, "past")
		cost := instrument.Costs{
			Commission: rapid.Float64Range(0, 0.005).Draw(t, "commission"),
			Spread:     rapid.Float64Range(0, 0.001).Draw(t, "spread"),
		}

		p, err := designer.Design(b, seed, generation, index, past, cost)
		if err != nil {
			t.Fatal(err)
		}
		s, warnings, err := strategy.Parse([]byte(p.Strategy), p.Name)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%v, warnings %v in\n%s", err, warnings, p.Strategy)
		}
		if string(s.YAML()) != p.Strategy || s.Name != p.Name || p.Hypothesis == "" || p.Notes == "" {
			t.Fatalf("not in its canonical form, or without a word: %+v", p)
		}
		checkBrief(t, b, s, cost)

		slices.Reverse(past)
		again, err := designer.Design(b, seed, generation, index, past, cost)
		if diff := cmp.Diff(p, again); err != nil || diff != "" {
			t.Fatalf("the same arguments gave another design: %v\n%s", err, diff)
		}
	})
}

// checkBrief holds a strategy to what the goal said, and to what a demo on two
// cores can afford.
func checkBrief(t *rapid.T, b designer.Brief, s *strategy.Strategy, cost instrument.Costs) {
	if b.LongOnly && (s.Decisions.AllowShort || s.Backtest.Flip) {
		t.Fatal("it goes short")
	}
	if b.Simple && (len(s.Indicators) > 2 || len(s.Model.Hidden) > 1) {
		t.Fatal("it is not simple")
	}
	if b.MaxDrawdown > 0 && s.Backtest.PositionSize > max(0.1, 5*b.MaxDrawdown) {
		t.Fatalf("positions of %v with a drawdown of %v", s.Backtest.PositionSize, b.MaxDrawdown)
	}
	checkExits(t, b, s.Backtest)
	if len(b.Models) > 0 && !slices.Contains(b.Models, s.Model.Type) || len(b.Models) == 0 && s.Model.Type != strategy.MLP {
		t.Fatalf("a network of the kind %s, wished were %v", s.Model.Type, b.Models)
	}
	for _, x := range s.Indicators {
		name := x.ID
		for _, tf := range b.Longer {
			name = strings.TrimSuffix(name, "_"+string(tf))
		}
		if slices.Contains(b.AvoidReadings, name) {
			t.Fatalf("%s was to be avoided", x.ID)
		}
	}
	if allowed := b.Timeframes(); slices.ContainsFunc(s.Data.Timeframes,
		func(tf market.Timeframe) bool { return !slices.Contains(allowed, tf) }) {
		t.Fatalf("it reads %v, allowed are %v", s.Data.Timeframes, allowed)
	}
	if s.Data.History > b.Stats.Bars/8+50 {
		t.Fatalf("%d bars pass before the first decision, of %d", s.Data.History, b.Stats.Bars)
	}
	if !slices.Equal(s.Data.Symbols, b.Symbols) || s.Data.Base != b.Timeframe {
		t.Fatalf("trained on %v %s, asked for %v %s", s.Data.Symbols, s.Data.Base, b.Symbols, b.Timeframe)
	}
	if s.Backtest.Commission != cost.Commission || s.Backtest.Slippage != 0 || s.Backtest.Spread != cost.Spread {
		t.Fatal("tested with other costs than it was designed for")
	}
	if s.Training.Epochs > 15 || s.Training.BatchSize < 128 || s.Training.BatchSize > 256 || len(s.Model.Hidden) > 2 ||
		s.Model.Weights(32, 3) > 32*32+32*16+16*3+100+4*(16*48+200) {
		t.Fatalf("too much to train: %d epochs of %d, network %+v", s.Training.Epochs, s.Training.BatchSize, s.Model)
	}
}

// checkExits holds stops, targets and the size of positions to what the goal said.
func checkExits(t *rapid.T, b designer.Brief, got strategy.Backtest) {
	for name, x := range map[string]struct {
		want designer.Exit
		at   float64
	}{"stop": {b.Stop, got.StopLoss}, "target": {b.Target, got.TakeProfit}} {
		if x.want.None && x.at != 0 || x.want.At > 0 && x.at != x.want.At || x.want.Use && x.at == 0 {
			t.Fatalf("a %s at %v, asked for %+v", name, x.at, x.want)
		}
	}
	if b.Risk > 0 && (got.SizeMode != strategy.SizeRisk || got.PositionSize != b.Risk || got.StopLoss == 0) {
		t.Fatalf("it does not risk %v of the equity: %+v", b.Risk, got)
	}
}

func indicatorsOf(g designer.Genome) string {
	var names []string
	for _, x := range g.Inputs {
		names = append(names, x.Reading)
	}
	return strings.Join(names, " ")
}

func TestDesign_BeginsWithDifferentIdeas(t *testing.T) {
	for _, text := range []string{"", "simple", "RSI mean reversion on EURUSD", "trend, no volume", "scalping with an lstm, long only"} {
		for seed := range uint64(5) {
			sets, ideas := map[string]bool{}, map[designer.Family]bool{}
			for i := range 8 {
				p, err := designer.Design(briefOf(text), seed, 0, i, nil, halfABasisPoint)
				if err != nil {
					t.Fatal(err)
				}
				sets[indicatorsOf(p.Genome)], ideas[p.Genome.Idea] = true, true
			}
			if len(sets) < 6 {
				t.Errorf("%q, seed %d: %d sets of indicators in 8 designs, want 6 or more: %v", text, seed, len(sets), sets)
			}
			if !ideas[designer.Reversion] || !ideas[designer.Trend] {
				t.Errorf("%q, seed %d: mean reversion or trend is missing: %v", text, seed, ideas)
			}
		}
	}
}

func TestDesign_BeginsWithWhatTheGoalNames(t *testing.T) {
	for index := range 2 {
		p, err := designer.Design(briefOf("something with MACD and the money flow index"), 7, 0, index, nil, halfABasisPoint)
		if err != nil {
			t.Fatal(err)
		}
		if got := indicatorsOf(p.Genome); !strings.Contains(got, "macd") || !strings.Contains(got, "mfi") {
			t.Errorf("design %d looks at %s", index, got)
		}
	}
}

// TestDesign_NeverProposesTwice goes through 25 generations of eight, once with
// one seed for all and once with a seed for each place.
func TestDesign_NeverProposesTwice(t *testing.T) {
	for _, each := range []bool{false, true} {
		b := briefOf("simple trend")
		var past []designer.Experiment
		keys, hashes := map[string]string{}, map[[32]byte]string{}
		for g := range 25 {
			var tried []designer.Experiment
			for i := range 8 {
				seed := uint64(5)
				if each {
					seed += uint64(8*g + i)
				}
				p, err := designer.Design(b, seed, g, i, past, halfABasisPoint)
				if err != nil {
					t.Fatal(err)
				}
				s, _, err := strategy.Parse([]byte(p.Strategy), p.Name)
				if err != nil {
					t.Fatal(err)
				}
				at := fmt.Sprintf("%d.%d", g, i)
				if first, twice := keys[p.Key]; twice || hashes[s.Hash()] != "" {
					t.Fatalf("%s is %s again", at, first)
				}
				keys[p.Key], hashes[s.Hash()] = at, at
				sharpe := float64(len(p.Genome.Inputs))
				tried = append(tried, designer.Experiment{
					Generation: g, Index: i, Key: p.Key, Genome: &p.Genome,
					Outcome: designer.Outcome{Sharpe: &sharpe, Trades: 100},
				})
			}
			past = append(past, tried...)
		}
	}
}

// TestDesign_KnowsAStrategyUnderAnotherName gives it its own proposal back, as
// if a person had written it.
func TestDesign_KnowsAStrategyUnderAnotherName(t *testing.T) {
	b := briefOf("")
	p, err := designer.Design(b, 1, 0, 3, nil, halfABasisPoint)
	if err != nil {
		t.Fatal(err)
	}
	renamed := strings.Replace(p.Strategy, "name: "+p.Name, "name: mine", 1)
	q, err := designer.Design(b, 1, 0, 3, []designer.Experiment{{Earlier: true, Strategy: renamed}}, halfABasisPoint)
	if err != nil {
		t.Fatal(err)
	}
	if q.Key == p.Key || !strings.Contains(q.Notes, "memory had it already") {
		t.Errorf("proposed what memory has: %s", q.Notes)
	}
}

// Researches that are triggered one after the other are runs of their own.
func TestDesign_FirstGenerationStartsFromEarlierRuns(t *testing.T) {
	b := briefOf("")
	var past []designer.Experiment
	var children int
	for range 6 {
		p, err := designer.Design(b, 1, 0, 0, past, halfABasisPoint)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.Notes, "From ") {
			children++
		}
		past = append(past, designer.Experiment{Earlier: true, Strategy: p.Strategy, Key: p.Key, Genome: &p.Genome})
	}
	if children != 3 {
		t.Errorf("%d of 6 single researches came from an earlier one, want every second", children)
	}
	bred := 0
	for i := range 8 {
		p, err := designer.Design(b, 1, 0, i, past, halfABasisPoint)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.Notes, "From ") {
			bred++
		}
	}
	if bred != 4 {
		t.Errorf("%d of 8 designs of a first generation came from an earlier one, want every second", bred)
	}
}

// TestDesign_HoldsLongerWhereTradingCostsMore compares what it proposes for a
// cheap and a dear market.
func TestDesign_HoldsLongerWhereTradingCostsMore(t *testing.T) {
	for index := range 8 {
		cheap, err := designer.Design(briefOf(""), 3, 0, index, nil, halfABasisPoint)
		if err != nil {
			t.Fatal(err)
		}
		dear, err := designer.Design(briefOf(""), 3, 0, index, nil, instrument.Costs{Commission: 0.001, Slippage: 0.0005})
		if err != nil {
			t.Fatal(err)
		}
		// Thirty basis points there and back, and three of them must fit into a
		// move of about ten basis points times the root of the horizon.
		if dear.Genome.Horizon < 48 || cheap.Genome.Horizon > 24 || dear.Genome.Pause < 24 {
			t.Errorf("design %d looks %d bars ahead when trading is cheap, %d with a pause of %d when it is dear", index, cheap.Genome.Horizon,
				dear.Genome.Horizon, dear.Genome.Pause)
		}
		if !strings.Contains(dear.Notes, "do not pay") {
			t.Errorf("the notes do not name the costs: %s", dear.Notes)
		}
	}
}

func TestDesign_RefusesWhatItCannotUse(t *testing.T) {
	good := briefOf("")
	alter := func(change func(*designer.Brief)) designer.Brief {
		b := good
		change(&b)
		return b
	}
	for name, c := range map[string]struct {
		brief      designer.Brief
		generation int
		cost       instrument.Costs
		want       string
	}{
		"a market that was not measured": {alter(func(b *designer.Brief) { b.Stats = designer.Stats{} }), 0, instrument.Costs{}, "Measure"},
		"no symbol":                      {alter(func(b *designer.Brief) { b.Symbols = nil }), 0, instrument.Costs{}, "import"},
		"a timeframe there is not":       {alter(func(b *designer.Brief) { b.Timeframe = "7h" }), 0, instrument.Costs{}, "7h"},
		"a network there is not": {
			alter(func(b *designer.Brief) { b.Models = []strategy.ModelType{"tree"} }), 0,
			instrument.Costs{},
			"tree",
		},
		"a symbol with a blank": {alter(func(b *designer.Brief) { b.Symbols = []string{"a b"} }), 0, instrument.Costs{}, "symbol"},
		"statistics of something else": {alter(func(b *designer.Brief) {
			b.Stats.Columns = []designer.Column{{Name: "moon", Period: 28}}
		}), 0, instrument.Costs{}, "moon"},
		"a generation before the first": {good, -1, instrument.Costs{}, "count from 0"},
		"a negative cost":               {good, 0, instrument.Costs{Commission: -0.001}, "commission"},
		"a cost that is not a number":   {good, 0, instrument.Costs{Spread: math.NaN()}, "spread"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := designer.Design(c.brief, 1, c.generation, 0, nil, c.cost)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want one about %q", err, c.want)
			}
		})
	}
}
