package designer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// twoMarkets are the bars of two symbols in two timeframes. The second symbol's
// data begin later.
func twoMarkets(t *testing.T) (hourly, four []*market.Bars) {
	t.Helper()
	for i, symbol := range []string{"AAA", "BBB"} {
		b := market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: 6000, Seed: uint64(i + 1), Edge: 0.2})
		b = b.Slice(i*1500, b.Len())
		longer, err := market.Resample(b, market.H4)
		if err != nil {
			t.Fatal(err)
		}
		hourly, four = append(hourly, b), append(four, longer)
	}
	return hourly, four
}

func measured(t *testing.T, text string, symbols int) (designer.Brief, []*market.Bars) {
	t.Helper()
	hourly, four := twoMarkets(t)
	all := slices.Concat(hourly[:symbols], four[:symbols])
	var known designer.Known
	for _, b := range all {
		known.Series = append(known.Series, designer.KnownSeries{Symbol: b.Symbol, Timeframe: b.Timeframe, Bars: b.Len()})
	}
	brief := designer.Chosen{}.Read(text, known)
	if err := brief.Measure(all); err != nil {
		t.Fatal(err)
	}
	return brief, all
}

func TestDesign_ReadsLongerTimeframes(t *testing.T) {
	brief, all := measured(t, "AAA and BBB using 1h and 4h", 2)
	used, alone, mutated := 0, 0, 0
	var past []designer.Experiment
	for generation := range 4 {
		var tried []designer.Experiment
		for index := range 8 {
			p, err := designer.Design(brief, 3, generation, index, past, halfABasisPoint)
			if err != nil {
				t.Fatal(err)
			}
			s, warnings, err := strategy.Parse([]byte(p.Strategy), p.Name)
			if err != nil || len(warnings) > 0 {
				t.Fatalf("%v, %v in\n%s", err, warnings, p.Strategy)
			}
			longer := slices.ContainsFunc(p.Genome.Inputs, func(x designer.Gene) bool { return x.Frame > 0 })
			switch {
			case longer != slices.Contains(s.Data.Timeframes, market.H4) || s.Data.Base != market.H1:
				t.Fatalf("genome %+v is written as a strategy of %v", p.Genome.Inputs, s.Data.Timeframes)
			case longer != strings.Contains(p.Hypothesis, "bars of 4h"):
				t.Errorf("hypothesis %q of %+v", p.Hypothesis, p.Genome.Inputs)
			case longer && generation > 0:
				mutated++
			case longer:
				used++
			default:
				alone++
			}
			sharpe := float64(index%5) / 2
			tried = append(tried, designer.Experiment{
				Generation: generation, Index: index, Key: p.Key, Genome: &p.Genome, Outcome: designer.Outcome{Sharpe: &sharpe, Trades: 60},
			})
			if generation == 0 && index < 2 {
				trainable(t, s, all)
			}
		}
		past = append(past, tried...)
	}
	if used < 4 || mutated < 8 || alone < 2 {
		t.Errorf("%d first designs and %d later ones read 4h bars, %d none; want most of the first and many of the later", used, mutated, alone)
	}
}

// trainable trains a design for one epoch on all symbols.
func trainable(t *testing.T, s *strategy.Strategy, all []*market.Bars) {
	t.Helper()
	var data []train.Series
	for _, symbol := range s.Data.Symbols {
		d := train.Series{Symbol: symbol}
		for _, b := range all {
			if b.Symbol == symbol {
				d.Bars = append(d.Bars, b)
			}
		}
		data = append(data, d)
	}
	ds, _, err := train.Prepare(s, data, train.Options{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, s.YAML())
	}
	run, err := train.Start(ds, s, 1, neural.Best())
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Epoch(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

func TestDesign_KeepsAGenomeOfMoreTimeframesToTheBriefs(t *testing.T) {
	parent := designer.Genome{
		Inputs: []designer.Gene{
			{Reading: "rsi", Period: 24, Partition: designer.Thirds, Frame: 2}, {Reading: "cci", Period: 96, Partition: designer.Raw, Frame: 1},
		},
	}
	sharpe := 3.0
	past := []designer.Experiment{{Earlier: true, Key: "k", Genome: &parent, Outcome: designer.Outcome{Sharpe: &sharpe, Trades: 500}}}
	one, _ := measured(t, "AAA 1h", 1)
	two, _ := measured(t, "AAA using 1h and 4h", 1)
	for name, c := range map[string]struct {
		brief designer.Brief
		most  int
	}{"a brief of one timeframe": {one, 0}, "a brief of two": {two, 1}} {
		frames := 0
		for index := range 8 {
			p, err := designer.Design(c.brief, 9, 0, 2*index+1, past, halfABasisPoint)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range p.Genome.Inputs {
				frames = max(frames, x.Frame)
				if ratio := map[int]int{0: 1, 1: 4}[x.Frame]; x.Frame > 0 && 3*x.Period*ratio > c.brief.Stats.Bars/8 {
					t.Errorf("%s: %+v takes more than an eighth of %d bars to warm up", name, x, c.brief.Stats.Bars)
				}
			}
		}
		if frames != c.most {
			t.Errorf("%s: frame %d is read, want %d", name, frames, c.most)
		}
	}
}

func TestDesign_RefusesTimeframesWithoutStatistics(t *testing.T) {
	brief, _ := measured(t, "AAA using 1h and 4h", 1)
	for says, change := range map[string]func(*designer.Brief){
		"measure the market again":                        func(b *designer.Brief) { b.LongerStats = nil },
		"must go from short to long: 30m stands after 1h": func(b *designer.Brief) { b.Longer = []market.Timeframe{market.M30} },
		"must go from short to long: 1h stands after 1h":  func(b *designer.Brief) { b.Longer = []market.Timeframe{market.H1} },
		"4h: the brief has no statistics of its market":   func(b *designer.Brief) { b.LongerStats = []designer.Stats{{}} },
		"must go from short to long: odd stands after 1h": func(b *designer.Brief) { b.Longer = []market.Timeframe{"odd"} },
		"the goal has 1 longer timeframes and the statis": func(b *designer.Brief) {
			b.LongerStats = append(slices.Clone(b.LongerStats), b.Stats)
		},
	} {
		bad := brief
		change(&bad)
		if _, err := designer.Design(bad, 1, 0, 0, nil, halfABasisPoint); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("err = %v, want a sentence with %q", err, says)
		}
	}
}

// What closes after the first symbol's test part has begun must not be seen, in no
// timeframe of no symbol.
func TestBriefMeasure_DoesNotLookAtAnyTestPart(t *testing.T) {
	for _, text := range []string{"AAA and BBB using 1h and 4h", "BBB and AAA using 1h and 4h"} {
		doesNotLook(t, text)
	}
}

func doesNotLook(t *testing.T, text string) {
	t.Helper()
	want, all := measured(t, text, 2)
	until := all[0].Time[int(0.65*float64(all[0].Len()))]
	if other := all[1].Time[int(0.65*float64(all[1].Len()))]; other <= until {
		t.Fatal("the test part of BBB begins first: nothing is shown")
	}
	for change := range all {
		changed := slices.Clone(all)
		b := *all[change]
		b.Close, b.High = slices.Clone(b.Close), slices.Clone(b.High)
		for i, at := range b.Time {
			if b.Timeframe.End(at) > until {
				b.Close[i] *= 3
				b.High[i] *= 3
			}
		}
		changed[change] = &b
		got := want
		if err := got.Measure(changed); err != nil {
			t.Fatal(err)
		}
		if !sameStats(got, want) {
			t.Errorf("the statistics change with what %s %s did in the test part", b.Symbol, b.Timeframe)
		}
		for i := range b.Close {
			b.Close[i] *= 1 + 0.01*float64(i%7)
			b.High[i] = max(b.High[i], b.Close[i])
		}
		if err := got.Measure(changed); err != nil {
			t.Fatal(err)
		}
		if sameStats(got, want) {
			t.Errorf("the statistics do not change with %s %s", b.Symbol, b.Timeframe)
		}
	}
}

func sameStats(a, b designer.Brief) bool {
	same := func(x, y designer.Stats) bool {
		return x.Bars == y.Bars && x.Volatility == y.Volatility && slices.Equal(x.Columns, y.Columns)
	}
	return same(a.Stats, b.Stats) && slices.EqualFunc(a.LongerStats, b.LongerStats, same)
}

func TestBriefMeasure_OfOneSeriesIsMeasure(t *testing.T) {
	brief, all := measured(t, "AAA 1h", 1)
	want, err := designer.Measure(all[0])
	if err != nil {
		t.Fatal(err)
	}
	if !sameStats(brief, designer.Brief{Stats: want}) {
		t.Errorf("%d bars, volatility %v; want %d and %v", brief.Stats.Bars, brief.Stats.Volatility, want.Bars, want.Volatility)
	}
}

func TestBriefMeasure_SaysWhatIsMissing(t *testing.T) {
	brief, all := measured(t, "AAA and BBB using 1h and 4h", 2)
	for says, series := range map[string][]*market.Bars{
		"the 4h bars of BBB, which the goal names, are missing": all[:3],
		"BBB 4h has 299 bars for research; at least 300 are":    {all[0], all[1], all[2], all[3].Slice(0, 299)},
	} {
		if err := brief.Measure(series); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("err = %v, want a sentence with %q", err, says)
		}
	}
}
