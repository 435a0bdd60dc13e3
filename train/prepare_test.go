package train_test

import (
	"math"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

const twoFrames = `{mode: multi_timeframe, timeframes: ["1h", "4h"]}`

const threeSymbols = "{mode: multi_symbol, symbols: [AAA, BBB, CCC]}"

// unlike are three symbols that differ in prices, length and time.
func unlike(t testing.TB, higher ...market.Timeframe) []train.Series {
	c := synth(t, "CCC", 900, 9, 0.2, higher...)
	later := c.Bars[0].Time[200] // CCC begins later than the others
	for i, b := range c.Bars {
		from := sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= later })
		c.Bars[i] = b.Slice(from, b.Len())
	}
	return []train.Series{synth(t, "AAA", 900, 7, 0.2, higher...), synth(t, "BBB", 600, 8, 0.2, higher...), c}
}

// TestPrepare_PairsFeaturesAndLabelsOfOneBar recomputes each symbol for itself
// and demands that every sample of the joint dataset has the features and the
// label of its own symbol and bar.
func TestPrepare_PairsFeaturesAndLabelsOfOneBar(t *testing.T) {
	for name, l := range map[string]lab{
		"every bar":      {symbols: threeSymbols},
		"event bars":     {symbols: threeSymbols, labels: "{source: triple_barrier, max_holding_period: 10, cusum_threshold: 0.003}"},
		"two timeframes": {symbols: threeSymbols, timeframes: `{mode: multi_timeframe, timeframes: ["1h", "4h"]}`},
		"sequences after a long warm-up": {
			symbols: threeSymbols, model: "{type: lstm, architecture: {sequence_length: 6, hidden_size: 4}}",
			indicators: "  slow: {type: sma, period: 100}", inputs: "  - {raw_indicator: slow, timeframes: all, normalization: zscore}",
		},
		"a regression": {
			symbols: threeSymbols, labels: "{source: forward_return, horizon: 5}",
			decisions: "{output_format: regression, cost_model: {round_trip_cost: 0.001, min_edge_multiplier: 1}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := l.parse(t)
			data := unlike(t, market.H4)
			ds := prepare(t, s, data...)
			samples := 0
			for i, d := range data {
				samples += checkSymbol(t, s, d, ds, i)
			}
			if got := len(ds.Train) + len(ds.Validation) + len(ds.Test); got != samples || got < 200 {
				t.Errorf("%d samples were checked of %d", samples, got)
			}
		})
	}
}

// checkSymbol compares the samples of one symbol with what it has by itself,
// and returns how many they are.
func checkSymbol(t *testing.T, s *strategy.Strategy, d train.Series, ds *train.Dataset, symbol int) int {
	t.Helper()
	m, err := feature.Build(s, d.Bars[:len(s.Data.Timeframes)])
	if err != nil {
		t.Fatal(err)
	}
	if err := ds.Norm.Apply(m); err != nil {
		t.Fatal(err)
	}
	set, err := s.Training.Labels.Labeler().Label(d.Bars[0])
	if err != nil {
		t.Fatal(err)
	}
	block, samples := ds.Symbols[symbol], 0
	for _, rows := range [][]int32{ds.Train, ds.Validation, ds.Test} {
		for _, row := range rows {
			bar := int(row) - block.First
			if bar < 0 || bar >= len(block.Time) {
				continue
			}
			samples++
			i, found := slices.BinarySearch(set.Row, int32(bar))
			if !found {
				t.Fatalf("%s bar %d is a sample and has no label", d.Symbol, bar)
			}
			for back := range s.Model.Window() {
				got, want := ds.Table.Row(int(row)-back), m.X[(bar-back)*m.Stride:][:m.Cols]
				if !slices.Equal(got, want) {
					t.Fatalf("%s bar %d, %d back: features %v, its own are %v", d.Symbol, bar, back, got, want)
				}
			}
			if set.Class != nil && ds.Table.Class[row] != set.Class[i] || set.Value != nil &&
				float64(ds.Table.Target[row])*float64(ds.Unit) != float64(float32(set.Value[i])) {
				t.Fatalf("%s bar %d has the label of another", d.Symbol, bar)
			}
			if block.Time[bar] != d.Bars[0].Time[bar] {
				t.Fatalf("%s bar %d has another time", d.Symbol, bar)
			}
			if bar < s.Data.History || bar-s.Model.Window()+1 < m.First {
				t.Fatalf("%s bar %d is a sample, and its window or history begins before there is any", d.Symbol, bar)
			}
		}
	}
	return samples
}

func TestPrepare_SplitsAllSymbolsAtTheSameInstants(t *testing.T) {
	s := lab{symbols: threeSymbols}.parse(t)
	ds := prepare(t, s, unlike(t)...)
	at := func(row int32) int64 {
		for _, b := range ds.Symbols {
			if int(row) < b.First+len(b.Time) {
				return b.Time[int(row)-b.First]
			}
		}
		t.Fatalf("row %d is of no symbol", row)
		return 0
	}
	borders := []int64{math.MinInt64, ds.Split.Validation, ds.Split.Test, ds.Split.End}
	for p, rows := range [][]int32{ds.Train, ds.Validation, ds.Test} {
		for _, row := range rows {
			if x := at(row); x < borders[p] || x >= borders[p+1] {
				t.Fatalf("a sample of part %d lies at %d, outside %d to %d", p, x, borders[p], borders[p+1])
			}
		}
	}
}

func TestPrepare_NormalisesByTrainingSamplesAlone(t *testing.T) {
	s := lab{}.parse(t)
	ds := prepare(t, s, synth(t, "AAA", 1500, 5, 0))
	column := slices.Index(ds.Features, "1h_roc_raw")
	if column < 0 {
		t.Fatalf("features %v", ds.Features)
	}
	mean, square := 0.0, 0.0
	for _, row := range ds.Train {
		x := float64(ds.Table.Row(int(row))[column])
		mean += x / float64(len(ds.Train))
		square += x * x / float64(len(ds.Train))
	}
	if math.Abs(mean) > 1e-5 || math.Abs(square-1) > 1e-2 {
		t.Errorf("over the training samples the z-scored feature has mean %v and variance %v, want 0 and 1", mean, square)
	}
	column = slices.Index(ds.Features, "1h_adx.plus_di_raw")
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	for _, row := range ds.Train {
		x := ds.Table.Row(int(row))[column]
		low, high = min(low, x), max(high, x)
	}
	if low != 0 || high != 1 {
		t.Errorf("over the training samples the min-max feature runs from %v to %v, want 0 to 1", low, high)
	}
}

func TestPrepare_WeighsTrainingSamplesByTheirOwnOverlap(t *testing.T) {
	s := lab{}.parse(t)
	data := synth(t, "AAA", 900, 5, 0)
	ds := prepare(t, s, data)
	set, err := s.Training.Labels.Labeler().Label(data.Bars[0])
	if err != nil {
		t.Fatal(err)
	}
	var row, end []int32
	for _, r := range ds.Train {
		i, _ := slices.BinarySearch(set.Row, r)
		row, end = append(row, r), append(end, set.End[i])
	}
	for i, w := range label.Uniqueness(row, end, data.Bars[0].Len()) {
		if ds.Table.Weight[row[i]] != w {
			t.Fatalf("row %d weighs %v, want %v", row[i], ds.Table.Weight[row[i]], w)
		}
	}
}

func TestPrepare_HoldsToTheSpan(t *testing.T) {
	s := lab{}.parse(t)
	data := synth(t, "AAA", 2000, 5, 0)
	base := data.Bars[0]
	from, to := base.Time[400], base.Time[1600]
	span := strategy.Span{Start: time.Unix(from, 0).UTC(), End: time.Unix(to, 0).UTC()}
	ds, _, err := train.Prepare(s, []train.Series{data}, train.Options{Span: span})
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][]int32{ds.Train, ds.Validation, ds.Test} {
		for _, row := range rows {
			if x := base.Time[row]; x < from || x >= to {
				t.Fatalf("a sample lies at bar %d, outside the span", row)
			}
		}
	}
	if got := len(ds.Symbols[0].Time); got != 1600 {
		t.Errorf("%d bars were looked at, want the 1600 that close by the end of the span", got)
	}
	if first := ds.Train[0]; first != 400 {
		t.Errorf("the first sample is bar %d, want 400: the bars before the span are its history", first)
	}
}

func TestPrepare_RefusesWhatCannotBeTrained(t *testing.T) {
	good := func() []train.Series { return []train.Series{synth(t, "AAA", 900, 5, 0)} }
	flat := good()
	for i := range flat[0].Bars[0].Time {
		for _, c := range [][]float64{flat[0].Bars[0].Open, flat[0].Bars[0].High, flat[0].Bars[0].Low, flat[0].Bars[0].Close} {
			c[i] = 1
		}
	}
	other := good()
	other[0].Bars[0].Symbol = "ZZZ"
	ended, unrelated := synth(t, "AAA", 900, 5, 0, market.H4), synth(t, "AAA", 900, 5, 0, market.H4)
	ended.Bars[1] = ended.Bars[1].Slice(0, 100)
	for i := range unrelated.Bars[1].Close {
		unrelated.Bars[1].Close[i] *= 1.1
	}
	for name, c := range map[string]struct {
		lab  lab
		data []train.Series
		want string
	}{
		"longer bars that end": {
			lab{timeframes: twoFrames},
			[]train.Series{ended},
			"55 % of 900 bars of 1h have no 4h bar that is up to date: the 1h bars reach from 2015-01-05 00:00 to",
		},
		"bars of another market": {
			lab{timeframes: twoFrames},
			[]train.Series{unrelated},
			"are not the same market: where both close, their prices differ by 9 %",
		},
		"no data":                 {lab{}, nil, "no data"},
		"one symbol twice":        {lab{}, append(good(), good()...), "AAA is given twice"},
		"bars of another symbol":  {lab{}, other, "bars of ZZZ"},
		"a timeframe missing":     {lab{timeframes: `{mode: multi_timeframe, timeframes: ["1h", "4h"]}`}, good(), "no bars of 4h"},
		"too few bars":            {lab{}, []train.Series{synth(t, "AAA", 180, 5, 0)}, "and at least 100 are needed"},
		"history longer than all": {lab{history: 5000}, good(), "no bar has both features and a label"},
		"an embargo of half":      {lab{training: "  embargo: 0.5"}, good(), "split: no validation samples are left"},
		"one class only": {
			lab{labels: "{source: context, horizon: 5, bullish_threshold: 5, bearish_threshold: -0.9}"},
			good(),
			"have one label (BULLISH 0, BEARISH 0, NEUTRAL",
		},
		"a market that stands": {lab{labels: "{source: context, horizon: 5}"}, flat, "all 5 features are constant"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := train.Prepare(c.lab.parse(t), c.data, train.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestPrepare_LeavesOutWhatAnEndedTimeframeNoLongerTells(t *testing.T) {
	s := lab{timeframes: twoFrames}.parse(t)
	d := synth(t, "AAA", 1500, 5, 0, market.H4)
	d.Bars[1] = d.Bars[1].Slice(0, 330)
	last := market.H4.End(d.Bars[1].Time[329])
	ds, flight, err := train.Prepare(s, []train.Series{d}, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !contains(flight.Warnings(), "have no 4h bar that is up to date and are left out: the 4h bars reach from") {
		t.Errorf("no warning of it: %v", flight.Warnings())
	}
	after := 0
	for _, row := range slices.Concat(ds.Train, ds.Validation, ds.Test) {
		if market.H1.End(d.Bars[0].Time[row]) > last {
			after++
		}
	}
	if after == 0 || after > 8 {
		t.Errorf("%d samples after the last 4h bar closed, want 8 at most", after)
	}
}

func TestPrepare_WarnsWithNumbers(t *testing.T) {
	l := lab{
		fuzzySets: "  far:\n    indicator: rsi\n    there: [200, 300, 400]\n    beyond: [400, 500, 600]",
		inputs:    "  - {fuzzy_set: far, timeframes: all}",
		labels:    "{source: context, horizon: 5, bullish_threshold: 0.001, bearish_threshold: -0.001}",
	}
	s := l.parse(t)
	_, flight, err := train.Prepare(s, []train.Series{synth(t, "AAA", 900, 5, 0)}, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"feature 1h_far_there has one value in all",
		"fuzzy set far on 1h says nothing in 100 %",
	} {
		if !contains(flight.Warnings(), want) {
			t.Errorf("no warning says %q: %v", want, flight.Warnings())
		}
	}
	if p := flight.Parts[0]; p.Samples == 0 || p.Purged == 0 || p.Classes[0]+p.Classes[1]+p.Classes[2] != p.Samples {
		t.Errorf("training part %+v", p)
	}
}
