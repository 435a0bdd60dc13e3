package feature_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

func parse(t testing.TB, src string) *strategy.Strategy {
	t.Helper()
	s, _, err := strategy.Parse([]byte(src), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func example(t testing.TB, name string) *strategy.Strategy {
	t.Helper()
	for _, e := range strategy.Examples() {
		if e.Name == name {
			return parse(t, string(e.Source))
		}
	}
	t.Fatalf("no example %s", name)
	return nil
}

// data makes the bars that a strategy needs: hours of a synthetic market, and
// longer bars made of them.
func data(t testing.TB, s *strategy.Strategy, n int, seed uint64) []*market.Bars {
	t.Helper()
	base := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: s.Data.Base, Bars: n, Seed: seed})
	out := []*market.Bars{base}
	for _, tf := range s.Data.Timeframes {
		if tf == s.Data.Base {
			continue
		}
		b, err := market.Resample(base, tf)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// cut leaves what had closed when base bar n closed.
func cut(data []*market.Bars, n int) []*market.Bars {
	out := []*market.Bars{data[0].Slice(0, n)}
	end := int64(math.MinInt64)
	if n > 0 {
		end = data[0].Timeframe.End(data[0].Time[n-1])
	}
	for _, b := range data[1:] {
		k := 0
		for k < b.Len() && b.Timeframe.End(b.Time[k]) <= end {
			k++
		}
		out = append(out, b.Slice(0, k))
	}
	return out
}

func build(t testing.TB, s *strategy.Strategy, data []*market.Bars) *feature.Matrix {
	t.Helper()
	m, err := feature.Build(s, data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func TestBuild_CuttingTheFutureChangesNoRow(t *testing.T) {
	for _, e := range strategy.Examples() {
		t.Run(e.Name, func(t *testing.T) {
			s := parse(t, string(e.Source))
			all := data(t, s, 700, 3)
			full := build(t, s, all)
			rapid.Check(t, func(rt *rapid.T) {
				n := rapid.IntRange(0, full.Rows).Draw(rt, "cut")
				part := build(t, s, cut(all, n))
				if !sameBits(part.X, full.X[:n*full.Stride]) {
					rt.Fatalf("rows before %d differ when the bars after it are cut", n)
				}
				if part.First != min(full.First, n) {
					rt.Fatalf("first row %d, want %d", part.First, min(full.First, n))
				}
			})
		})
	}
}

func TestLive_GivesTheBitsOfBuild(t *testing.T) {
	for _, e := range strategy.Examples() {
		t.Run(e.Name, func(t *testing.T) {
			s := parse(t, string(e.Source))
			all := data(t, s, 800, 5)
			for i, b := range all[1:] { // which end before the base does
				all[i+1] = b.Slice(0, b.Len()*3/4)
			}
			m := build(t, s, all)
			if len(all) > 1 && m.Usable(m.Rows-1, 1) {
				t.Error("the last row has all its values, long after the longer bars have ended")
			}
			live := feature.NewLive(s)
			next := make([]int, len(all))
			for i := range m.Rows {
				bar := all[0].At(i)
				end := s.Data.Base.End(bar.Time)
				for k, b := range all[1:] {
					for next[k] < b.Len() && b.Timeframe.End(b.Time[next[k]]) <= end {
						if _, _, err := live.Push(b.Timeframe, b.At(next[k])); err != nil {
							t.Fatal(err)
						}
						next[k]++
					}
				}
				row, defined, err := live.Push(s.Data.Base, bar)
				if err != nil {
					t.Fatal(err)
				}
				if !sameBits(row, m.X[i*m.Stride:][:m.Stride]) {
					t.Fatalf("row %d: %v, want %v", i, row, m.Row(i))
				}
				if defined != m.Usable(i, 1) {
					t.Fatalf("row %d: defined %v", i, defined)
				}
			}
			if m.First > 400 {
				t.Errorf("the first row with values is %d: the test has compared little", m.First)
			}
		})
	}
}

func TestLive_RefusesBarsThatComeTooLate(t *testing.T) {
	s := example(t, "trend_two_timeframes")
	all := data(t, s, 50, 1)
	live := feature.NewLive(s)
	push := func(tf market.Timeframe, bar market.Bar) error {
		_, _, err := live.Push(tf, bar)
		return err
	}
	for i := range 10 {
		if err := push(market.H1, all[0].At(i)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		tf   market.Timeframe
		bar  market.Bar
		says string
	}{
		"a base bar again":              {market.H1, all[0].At(9), "comes after that of"},
		"a longer bar that had closed":  {market.H4, all[1].At(0), "should have seen it"},
		"a timeframe that is not there": {market.D1, all[0].At(0), "does not use 1d bars"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := push(c.tf, c.bar); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("err = %v, want one that says %q", err, c.says)
			}
		})
	}
}

// A longer bar that was pushed early is not seen before it has closed.
func TestLive_SeesNoBarBeforeItsClose(t *testing.T) {
	s := example(t, "trend_two_timeframes")
	all := data(t, s, 400, 1)
	m := build(t, s, all)
	live := feature.NewLive(s)
	for i := range all[1].Len() {
		if _, _, err := live.Push(market.H4, all[1].At(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range m.Rows {
		row, _, err := live.Push(market.H1, all[0].At(i))
		if err != nil {
			t.Fatal(err)
		}
		if !sameBits(row, m.X[i*m.Stride:][:m.Stride]) {
			t.Fatalf("row %d differs", i)
		}
	}
}

// A timeframe that has ended says nothing any more: frozen values are no input.
func TestBuild_LeavesOutTimeframesThatHaveEnded(t *testing.T) {
	s := example(t, "trend_two_timeframes")
	all := data(t, s, 1000, 5)
	all[1] = all[1].Slice(0, 150)
	m := build(t, s, all)
	end := market.H4.End(all[1].Time[149])
	closed := 0 // base bars after that
	for i, at := range all[0].Time {
		if market.H1.End(at) > end {
			closed++
		}
		if want := i >= m.First && closed <= 8; m.Usable(i, 1) != want {
			t.Fatalf("row %d, %d bars after the last 4h bar closed: usable %v, want %v", i, closed, !want, want)
		}
	}
	if closed < 100 || m.First > 400 {
		t.Fatalf("%d bars after the end, values from row %d on: the test has seen little", closed, m.First)
	}
}

func TestBuild_EqualsTheDefinition(t *testing.T) {
	s := example(t, "trend_two_timeframes")
	all := data(t, s, 600, 9)
	m := build(t, s, all)
	for k, c := range s.Columns() {
		b := all[slices.IndexFunc(all, func(b *market.Bars) bool { return b.Timeframe == c.Timeframe })]
		ind := s.Indicators[c.Ref.Indicator].New()
		out := make([][]float64, len(ind.Outputs()))
		for i := range out {
			out[i] = make([]float64, b.Len())
		}
		ind.Compute(b, out)
		for i := range m.Rows {
			// The newest bar that had closed by the end of the base bar.
			newest, end := -1, all[0].Timeframe.End(all[0].Time[i])
			for newest+1 < b.Len() && b.Timeframe.End(b.Time[newest+1]) <= end {
				newest++
			}
			want := math.NaN()
			if newest >= 0 {
				want = out[c.Ref.Output][newest]
			}
			if c.Member != nil {
				want = c.Member.Membership.At(want)
			}
			if got := m.Row(i)[k]; !sameBits([]float32{got}, []float32{float32(want)}) && !(got != got && want != want) {
				t.Fatalf("row %d: %s = %v, want %v", i, c.ID, got, want)
			}
		}
	}
	if got := s.Features(); len(got) != m.Cols || string(got[0]) != m.Names[0] {
		t.Errorf("columns %v, want %v", m.Names, got)
	}
}

func TestBuild_MarksRowsWithoutValues(t *testing.T) {
	// The RVI divides by the range of the bars: while the market stands still
	// it has no value.
	s := parse(t, raw("rvi: {type: rvi, period: 10}", "rvi.rvi", "none", "{type: mlp, architecture: {hidden_layers: [4]}}"))
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 300, Seed: 2})
	still := *b
	for _, column := range []*[]float64{&still.Open, &still.High, &still.Low, &still.Close} {
		*column = slices.Clone(*column)
		for i := 150; i < 180; i++ {
			(*column)[i] = 1.1
		}
	}
	m := build(t, s, []*market.Bars{&still})
	missing := 0
	for i := m.First; i < m.Rows; i++ {
		defined := m.Row(i)[0] == m.Row(i)[0]
		if m.Usable(i, 1) != defined {
			t.Fatalf("row %d: usable %v, its value is %v", i, m.Usable(i, 1), m.Row(i)[0])
		}
		if !defined {
			missing++
		}
	}
	if missing < 10 || m.Undefined[0] != missing {
		t.Errorf("%d rows without a value, reported %d", missing, m.Undefined[0])
	}
	last := m.First - 1
	for i := m.First; i < m.Rows; i++ {
		if !m.Usable(i, 1) {
			last = i
		}
		if want := i-last >= 5; m.Usable(i, 5) != want {
			t.Fatalf("row %d: a window of 5 is usable %v, want %v", i, m.Usable(i, 5), want)
		}
	}
	if m.Undefined[0] == 0 || m.First == 0 || m.Usable(0, 1) {
		t.Errorf("first row %d, usable %v", m.First, m.Usable(0, 1))
	}
}

func TestBuild_RefusesDataThatDoNotFit(t *testing.T) {
	s := example(t, "trend_two_timeframes")
	all := data(t, s, 50, 1)
	other := *all[1]
	other.Symbol = "GBPUSD"
	daily := *all[1]
	daily.Timeframe = market.D1
	for name, c := range map[string]struct {
		data []*market.Bars
		says string
	}{
		"a timeframe is missing":       {all[:1], "needs 4h bars, and there are none"},
		"no data at all":               {nil, "needs 1h bars"},
		"two symbols":                  {[]*market.Bars{all[0], &other}, "are of EURUSD and GBPUSD"},
		"one timeframe twice":          {[]*market.Bars{all[0], all[0], all[1]}, "two series of 1h bars"},
		"a timeframe it does not know": {append(slices.Clone(all), &daily), "does not use 1d bars"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := feature.Build(s, c.data); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("err = %v, want one that says %q", err, c.says)
			}
		})
	}
}

// raw is a strategy of one raw input.
func raw(ind, ref, norm, model string) string {
	return `
name: raw
training_data: {symbols: {symbol: EURUSD}, timeframes: {timeframe: 1h}}
indicators: {` + ind + `}
fuzzy_sets: {}
nn_inputs: [{raw_indicator: ` + ref + `, normalization: ` + norm + `}]
model: ` + model + `
decisions: {}
training: {labels: {source: zigzag}}
`
}

func BenchmarkBuild(b *testing.B) {
	job, err := os.ReadFile("../strategy/testdata/bench_tb.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for name, s := range map[string]*strategy.Strategy{
		"benchmark_job": parse(b, string(job)), "sigmoids": example(b, "rsi_mean_reversion"),
		"two_timeframes": example(b, "trend_two_timeframes"),
	} {
		b.Run(name, func(b *testing.B) {
			bars := data(b, s, 50_000, 1)
			b.ReportAllocs()
			for b.Loop() {
				build(b, s, bars)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/50_000, "ns/bar")
		})
	}
}

func BenchmarkLive(b *testing.B) {
	s := example(b, "rsi_mean_reversion")
	bars := data(b, s, 50_000, 1)[0]
	for b.Loop() {
		live := feature.NewLive(s)
		for i := range bars.Len() {
			if _, _, err := live.Push(bars.Timeframe, bars.At(i)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/50_000, "ns/bar")
}

func TestBuild_RefusesIndicatorsOfVolumesOnBarsWithout(t *testing.T) {
	s := example(t, "rsi_mean_reversion")
	all := data(t, s, 400, 5)
	all[0].Volume = slices.Repeat([]float64{math.NaN()}, all[0].Len())
	if _, err := feature.Build(s, all); err != nil {
		t.Errorf("indicators of prices alone are refused: %v", err)
	}
	text := strings.Replace(string(source(t, "rsi_mean_reversion")), "type: rsi, period: 14, source: close", "type: mfi, period: 14", 1)
	_, err := feature.Build(parse(t, text), all)
	want := "indicator rsi_14 (mfi) needs the volume, and the 1h bars of EURUSD have none"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want %q", err, want)
	}
	all[0].Volume[7] = 12
	if _, err := feature.Build(parse(t, text), all); err != nil {
		t.Errorf("one volume is known, and it is refused: %v", err)
	}
}

func source(t testing.TB, name string) []byte {
	t.Helper()
	for _, e := range strategy.Examples() {
		if e.Name == name {
			return e.Source
		}
	}
	t.Fatalf("no example %s", name)
	return nil
}
