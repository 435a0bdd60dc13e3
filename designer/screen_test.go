package designer_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/worlds"
)

// fair are the default costs of a major currency: 1.5 basis points a side.
var fair = instrument.Costs{Commission: 0.00005, Slippage: 0.00005, Spread: 0.0001}

// screened is what the screen says of some bars.
func screened(t *testing.T, goal string, costs instrument.Costs, series ...*market.Bars) designer.Brief {
	t.Helper()
	var known designer.Known
	for _, b := range series {
		known.Series = append(known.Series, designer.KnownSeries{
			Symbol: b.Symbol, Timeframe: b.Timeframe, Bars: b.Len(), First: b.Time[0], Last: b.Time[b.Len()-1],
		})
	}
	brief := designer.Chosen{}.Read(goal, known)
	if err := brief.Measure(series); err != nil {
		t.Fatal(err)
	}
	if err := brief.Screen(series, costs); err != nil {
		t.Fatal(err)
	}
	return brief
}

func kind(t *testing.T, name string) worlds.Kind {
	t.Helper()
	i := slices.IndexFunc(worlds.Kinds, func(k worlds.Kind) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("there is no kind of edge %q", name)
	}
	return worlds.Kinds[i]
}

// A reading that shows the planted edge is among the best three.
func TestScreen_NamesReadingsThatShowThePlantedEdge(t *testing.T) {
	for name, want := range map[string][]string{
		"reversal":    {"distance", "ema_distance", "cci"},
		"momentum":    {"roc", "momentum", "supertrend", "ema_distance"},
		"hour of day": {"hour"},
	} {
		k := kind(t, name)
		for seed := range uint64(3) {
			b := k.Make("EURUSD", 16_000, 400+seed, k.Strengths[3])[0]
			hints := screened(t, "EURUSD 1h", fair, b).Hints
			if !slices.ContainsFunc(hints[:min(3, len(hints))], func(h designer.Hint) bool {
				return slices.Contains(want, h.Input.Reading) && h.Score > 2
			}) {
				t.Errorf("%s, world %d: %+v, want one of %v with more than 2 among the first three", name, seed, hints, want)
			}
		}
	}
}

// The move of a symbol that leads is found on its bars, and only where the goal names it.
func TestScreen_NamesTheSymbolThatLeads(t *testing.T) {
	k := kind(t, "lead-lag")
	all := k.Make("FOLLOW", 16_000, 400, k.Strengths[3])
	got := screened(t, "lead-lag with "+all[1].Symbol+" on FOLLOW 1h", fair, all...).Hints[0]
	if got.Input.Context != 1 || got.Score < 2 {
		t.Errorf("the best is %+v, want a reading of the context symbol with a score of 2 or more", got)
	}
	for _, h := range screened(t, "FOLLOW 1h", fair, all[0]).Hints {
		if h.Input.Context != 0 {
			t.Errorf("%+v is of a symbol that the goal does not name", h)
		}
	}
}

// A context symbol is read as of its last bar that has closed. With the same prices as
// the symbol that is traded it tells the same; one bar ahead it would tell the future.
func TestScreen_ReadsAContextSymbolAsOfTheSameBar(t *testing.T) {
	k := kind(t, "reversal")
	b := k.Make("EURUSD", 12_000, 400, k.Strengths[4])[0]
	twin := *b
	twin.Symbol = "TWIN"
	scores := map[string][2]float64{}
	for _, h := range screened(t, "lead-lag with TWIN on EURUSD 1h", fair, b, &twin).Hints {
		of := scores[h.Input.Reading]
		of[h.Input.Context] = h.Score
		scores[h.Input.Reading] = of
	}
	both := 0
	for reading, of := range scores {
		if of[0] != 0 && of[1] != 0 {
			both++
			if of[0] != of[1] {
				t.Errorf("%s scores %v, and %v of the same prices under another name", reading, of[0], of[1])
			}
		}
	}
	if both < 3 {
		t.Errorf("%d readings are hints of both symbols: too few to show anything", both)
	}
}

// A table with a bin for each hour finds nothing in noise: it is traded on bars that it
// was not made of. Of tables that trade the bars that they were made of, all would earn.
func TestScreen_FindsNothingInNoise(t *testing.T) {
	const seeds = 12
	sum := 0.0
	for seed := range uint64(seeds) {
		b := hourly(100+seed, 8000, func(int) float64 { return 0 })
		for _, h := range screened(t, "EURUSD 1h", instrument.Costs{}, b).Hints {
			if h.Input.Reading == "hour" {
				sum += h.Score
			}
			if h.Score > 4.5 {
				t.Errorf("seed %d: %+v", seed, h)
			}
		}
	}
	// Only scores above 0 are hints. Of the best of 20 questions the mean is about 1.
	if mean := sum / seeds; mean > 1.5 {
		t.Errorf("the hours of noise have a mean score of %.2f", mean)
	}
}

// The shortest market and every style are screened, and give a design.
func TestScreen_OfTheShortestMarketAndEveryStyle(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: designer.LeastBars, Seed: 3})
	for _, style := range []string{"", "scalping", "intraday", "swing", "position trading"} {
		brief := screened(t, style+" on EURUSD 1h", fair, b)
		if _, err := designer.Design(brief, 1, 0, 0, nil, fair); err != nil {
			t.Errorf("%q: %v", style, err)
		}
	}
}

// Without statistics there is nothing to try.
func TestScreen_NeedsAMeasuredMarket(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 1000, Seed: 3})
	brief := designer.Brief{Symbols: []string{"EURUSD"}, Timeframe: market.H1}
	if err := brief.Screen([]*market.Bars{b}, fair); err == nil || !strings.Contains(err.Error(), "no statistics") {
		t.Errorf("err = %v, want a sentence that the statistics are missing", err)
	}
}

// Costs decide what is worth a trade.
func TestScreen_AtHighCostsNothingPays(t *testing.T) {
	k := kind(t, "momentum")
	b := k.Make("EURUSD", 12_000, 7, k.Strengths[3])[0]
	cheap, dear := screened(t, "EURUSD 1h", fair, b), screened(t, "EURUSD 1h", instrument.Costs{Commission: 0.01}, b)
	if len(cheap.Hints) == 0 || len(dear.Hints) != 0 {
		t.Errorf("%d readings at usual costs and %d at 1 %% a side, want some and none", len(cheap.Hints), len(dear.Hints))
	}
}

// Long only, the side that falls earns nothing.
func TestScreen_LongOnlyTradesOneSide(t *testing.T) {
	falls := func(hour int) float64 {
		if hour >= 13 && hour < 17 {
			return -0.3
		}
		return 0.04
	}
	b := hourly(5, 8000, falls)
	score := func(goal string) float64 {
		for _, h := range screened(t, goal, instrument.Costs{}, b).Hints {
			if h.Input.Reading == "hour" {
				return h.Score
			}
		}
		return 0
	}
	if both, long := score("EURUSD 1h"), score("EURUSD 1h long only"); both < 3 || long > both-1 {
		t.Errorf("the hour scores %.2f on both sides and %.2f long only", both, long)
	}
}

// What is avoided is not tried.
func TestScreen_KeepsToTheGoal(t *testing.T) {
	k := kind(t, "momentum")
	b := k.Make("EURUSD", 12_000, 7, k.Strengths[4])[0]
	for _, h := range screened(t, "EURUSD 1h without roc and no rsi", fair, b).Hints {
		if h.Input.Reading == "roc" || h.Input.Reading == "rsi" {
			t.Errorf("%s was to be avoided", h.Input.Reading)
		}
	}
}

// The bars of the test part of every symbol say nothing: changed, they change no hint.
func TestScreen_ReadsNoBarOfATestPart(t *testing.T) {
	k := kind(t, "lead-lag")
	all := k.Make("FOLLOW", 6_000, 3, k.Strengths[4])
	goal := "lead-lag with " + all[1].Symbol + " on FOLLOW 1h"
	want := screened(t, goal, fair, all...)
	until := all[0].Time[int(0.65*float64(all[0].Len()))]
	for which := range all {
		for _, test := range []bool{true, false} {
			changed := slices.Clone(all)
			b := *all[which]
			b.Close, b.High = slices.Clone(b.Close), slices.Clone(b.High)
			for i, at := range b.Time {
				if test == (b.Timeframe.End(at) > until) {
					b.Close[i] *= 1 + 0.002*float64(i*i%7)
					b.High[i] = max(b.High[i], b.Close[i])
				}
			}
			changed[which] = &b
			got := want
			if err := got.Screen(changed, fair); err != nil {
				t.Fatal(err)
			}
			if same := slices.Equal(got.Hints, want.Hints); same != test {
				t.Errorf("bars of %s changed, in the test part %v: the same hints %v", b.Symbol, test, same)
			}
		}
	}
}

// Half of the first designs begin with hints, in their order.
func TestDesign_HintsAndArchetypesTakeTurns(t *testing.T) {
	k := kind(t, "reversal")
	b := k.Make("EURUSD", 16_000, 400, k.Strengths[3])[0]
	brief := screened(t, "EURUSD 1h", fair, b)
	for index := range 8 {
		p, err := designer.Design(brief, 1, 0, index, nil, fair)
		if err != nil {
			t.Fatal(err)
		}
		hinted := strings.Contains(p.Notes, "before the test part")
		if want := index%2 == 0; hinted != want {
			t.Errorf("design %d begins with a hint: %v (%s)", index, hinted, p.Notes)
			continue
		}
		g, h := p.Genome, brief.Hints[index/2]
		if hinted && (len(g.Inputs) != 1 || g.Inputs[0].Reading != h.Input.Reading || g.Inputs[0].Period != h.Input.Period ||
			g.Horizon != h.Horizon || g.Exit != h.Exit || index%4 == 0 && g.Caution != max(1, h.Caution)) {
			t.Errorf("design %d is %+v, want that of %+v", index, g, h)
		}
	}
	brief = screened(t, "trend on EURUSD 1h", fair, b)
	for index := 0; index < 8; index += 2 {
		p, err := designer.Design(brief, 1, 0, index, nil, fair)
		if err != nil {
			t.Fatal(err)
		}
		if p.Genome.Idea != designer.Trend {
			t.Errorf("design %d of a goal that asks for a trend is %s", index, p.Genome.Idea)
		}
	}
}

// plainZ trades a rule of the hour by a loop of its own: the table of three quarters
// trades the fourth.
func plainZ(b *market.Bars, horizon int, limit, cost float64, patience int) float64 {
	n := b.Len()
	move := make([]float64, n)
	for t := 1; t < n; t++ {
		move[t] = num.Log(b.Close[t] / b.Close[t-1])
	}
	hour := func(t int) int { return int(b.Time[t] / 3600 % 24) }
	quarter := func(t int) int {
		k := 0
		for k < 3 && t >= (k+1)*n/4 {
			k++
		}
		return k
	}
	side := func(k, h int) int {
		sum, count := 0.0, 0
		for t := range n {
			if hour(t) != h || quarter(t) == k || t+horizon >= n || quarter(t+horizon) != quarter(t) {
				continue
			}
			for _, m := range move[t+1 : t+horizon+1] {
				sum += m
			}
			count++
		}
		switch {
		case count < 30:
			return 0
		case sum/float64(count) > limit:
			return 1
		case sum/float64(count) < -limit:
			return -1
		}
		return 0
	}
	var sides [4][24]int
	for k := range sides {
		for h := range 24 {
			sides[k][h] = side(k, h)
		}
	}
	position, quiet := 0, 0
	var gains []float64
	for t := range n - 1 {
		was, signal := position, sides[quarter(t)][hour(t)]
		if signal != 0 {
			position, quiet = signal, 0
		} else if quiet++; quiet >= patience {
			position = 0
		}
		gains = append(gains, float64(position)*move[t+1]-cost*math.Abs(float64(position-was)))
	}
	sum, squares := 0.0, 0.0
	for _, g := range gains {
		sum += g
	}
	mean := sum / float64(len(gains))
	for _, g := range gains {
		squares += (g - mean) * (g - mean)
	}
	return mean / math.Sqrt(squares/float64(len(gains))) * math.Sqrt(float64(len(gains)))
}

// The score of the hour, which has no windows beside it, is that of a plain loop.
func TestScreen_ScoresAsAPlainLoopDoes(t *testing.T) {
	b := hourly(1, 8000, mornings)
	cost := halfABasisPoint.PerSide()
	var hint designer.Hint
	for _, h := range screened(t, "EURUSD 1h", halfABasisPoint, b).Hints {
		if h.Input.Reading == "hour" {
			hint = h
		}
	}
	if hint.Horizon == 0 {
		t.Fatal("the hour is no hint")
	}
	trips := []float64{0.5, 0.75, 1}[hint.Caution]
	patience := math.MaxInt
	if hint.Exit > 0 {
		patience = max(1, int(hint.Exit*float64(hint.Horizon)))
	}
	before := int(0.65 * float64(b.Len()))
	want := plainZ(b.Slice(0, before), hint.Horizon, trips*2*cost, cost, patience)
	if math.Abs(hint.Score-want) > 1e-4*math.Abs(want) { // five digits are kept
		t.Errorf("%+v, and a plain loop gives %v", hint, want)
	}
}
