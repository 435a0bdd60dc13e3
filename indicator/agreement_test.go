package indicator

import (
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

func TestStream_GivesTheBitsOfCompute(t *testing.T) {
	bars := roughBars(1, 2600)
	eachVariant(t, func(t *testing.T, _ Definition, _ []Setting, x Indicator) {
		wantSame(t, x, pushAll(x, bars), compute(x, bars))
	})
}

// pushAll computes an indicator bar by bar.
func pushAll(x Indicator, bars *market.Bars) [][]float64 {
	out := outputs(x, bars.Len())
	stream, row := x.Stream(), make([]float64, len(x.Outputs()))
	for i := range bars.Len() {
		stream.Push(bars.At(i), row)
		for k, v := range row {
			out[k][i] = v
		}
	}
	return out
}

func TestStream_AllocatesNothingOnceItRuns(t *testing.T) {
	bars := roughBars(2, 1200)
	for _, d := range Definitions() {
		x, err := New(d.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		stream, row, i := x.Stream(), make([]float64, len(x.Outputs())), 0
		push := func() { stream.Push(bars.At(i), row); i++ }
		for range 600 {
			push()
		}
		if got := testing.AllocsPerRun(500, push); got != 0 {
			t.Errorf("%s allocates %v times a bar, want none", d.Name, got)
		}
	}
}

func TestCompute_KnowsNothingOfTheFuture(t *testing.T) {
	bars := roughBars(3, 1500)
	r := num.NewRand(3)
	eachVariant(t, func(t *testing.T, _ Definition, _ []Setting, x Indicator) {
		full := compute(x, bars)
		for _, cut := range []int{0, 1, 2, 30, piece, piece + 1, 1 + int(r.Uint64n(1400))} {
			want := make([][]float64, len(full))
			for k := range full {
				want[k] = full[k][:cut]
			}
			wantSame(t, x, compute(x, bars.Slice(0, cut)), want)
		}
	})
}

func TestWarmUp_IsTheFirstDefinedValue(t *testing.T) {
	bars := randomBars(4, 1400)
	eachVariant(t, func(t *testing.T, _ Definition, _ []Setting, x Indicator) {
		warm := x.WarmUp()
		for k, column := range compute(x, bars) {
			first := slices.IndexFunc(column, func(v float64) bool { return v == v })
			if first != warm[k] {
				t.Errorf("output %s begins at bar %d, want %d", x.Outputs()[k], first, warm[k])
			}
			for i := warm[k]; i < len(column); i++ {
				if v := column[i]; v-v != 0 {
					t.Fatalf("output %s at bar %d is %v behind the warm-up of a market that moves", x.Outputs()[k], i, v)
				}
			}
		}
	})
}

func TestCompute_NeverGivesAnInfinity(t *testing.T) {
	bars := roughBars(5, 1500)
	eachVariant(t, func(t *testing.T, _ Definition, _ []Setting, x Indicator) {
		for k, column := range compute(x, bars) {
			if i := slices.IndexFunc(column, func(v float64) bool { return math.IsInf(v, 0) }); i >= 0 {
				t.Errorf("output %s at bar %d is infinite", x.Outputs()[k], i)
			}
		}
	})
}

func TestCompute_BeginsAgainBehindAnUndefinedBar(t *testing.T) {
	clean := roughBars(6, 1400)
	const hole = 700
	damages := map[string]func(*market.Bars){
		"no open":         func(b *market.Bars) { b.Open[hole] = math.NaN() },
		"no high":         func(b *market.Bars) { b.High[hole] = math.NaN() },
		"infinite low":    func(b *market.Bars) { b.Low[hole] = math.Inf(-1) },
		"infinite close":  func(b *market.Bars) { b.Close[hole] = math.Inf(1) },
		"no volume known": func(b *market.Bars) { b.Volume[hole] = math.NaN() },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			bars := clone(clean)
			damage(bars)
			for _, d := range Definitions() {
				x, err := New(d.Name, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := compute(x, clean)
				if reads(x, bars, hole) {
					after := compute(x, clean.Slice(hole+1, clean.Len()))
					for k := range want {
						want[k][hole] = math.NaN()
						copy(want[k][hole+1:], after[k])
					}
				}
				wantSame(t, x, compute(x, bars), want)
				wantSame(t, x, pushAll(x, bars), want)
			}
		})
	}
}

func TestCompute_TakesUndefinedBarsAnywhere(t *testing.T) {
	for _, holes := range [][]int{{0}, {0, 1, 2}, {piece - 1, piece}, {1499}, {60, 61, 90, 1100, 1101}} {
		bars := roughBars(9, 1500)
		for _, i := range holes {
			bars.High[i], bars.Close[i], bars.Volume[i] = math.NaN(), math.NaN(), math.NaN()
		}
		for _, d := range Definitions() {
			x := mustNew(t, d.Name)
			got := compute(x, bars)
			wantSame(t, x, pushAll(x, bars), got)
			for _, i := range holes {
				if got[0][i] == got[0][i] {
					t.Errorf("%s has the value %v at the undefined bar %d", d.Name, got[0][i], i)
				}
			}
		}
	}
}

// reads says whether the undefined value of a bar is in a column that the
// indicator reads.
func reads(x Indicator, b *market.Bars, i int) bool {
	found := false
	x.(built).reads.each(b, func(column []float64) { found = found || column[i]-column[i] != 0 })
	return found
}

func clone(b *market.Bars) *market.Bars {
	c := &market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
	for i := range b.Len() {
		c.Append(b.At(i))
	}
	return c
}

func TestCompute_PricesTimesAPowerOfTwo(t *testing.T) {
	scaled(t, InPrice, func(x *market.Bar, factor float64) {
		x.Open, x.High, x.Low, x.Close = x.Open*factor, x.High*factor, x.Low*factor, x.Close*factor
	})
}

func TestCompute_VolumesTimesAPowerOfTwo(t *testing.T) {
	scaled(t, InVolume, func(x *market.Bar, factor float64) { x.Volume *= factor })
}

// scaled requires that outputs in the unit are multiplied exactly with what
// multiply does to the bars and that the others stay exactly as they are.
func scaled(t *testing.T, unit Unit, multiply func(*market.Bar, float64)) {
	bars := roughBars(7, 1100)
	eachVariant(t, func(t *testing.T, d Definition, settings []Setting, x Indicator) {
		if slices.ContainsFunc(settings, func(s Setting) bool { return s.Text == string(Volume) }) {
			return // an indicator of volumes has the unit of volumes where its definition says price
		}
		for _, factor := range []float64{0x1p-9, 0x1p13} {
			changed := &market.Bars{}
			for i := range bars.Len() {
				b := bars.At(i)
				multiply(&b, factor)
				changed.Append(b)
			}
			want := compute(x, bars)
			for k, name := range x.Outputs() {
				if d.Units[slices.Index(d.Outputs, name)] == unit {
					for i := range want[k] {
						want[k][i] *= factor
					}
				}
			}
			wantSame(t, x, compute(x, changed), want)
		}
	})
}

// A window that has left a huge value behind knows nothing of it any more: what
// a running sum would have lost is not lost.
func TestWindows_ForgetAHugeValue(t *testing.T) {
	windowed := []string{
		"sma", "wma", "bollingerbands", "bollingerbandwidth", "cci", "williamsr", "stochastic", "aroon", "donchianchannels",
		"ichimoku", "vwap", "mfi", "volumeratio", "distancefromma", "roc", "momentum", "rvi",
	}
	bars := randomBars(8, 1300)
	spiked := clone(bars)
	for _, i := range []int{60, 640} {
		spiked.Open[i], spiked.High[i], spiked.Low[i], spiked.Close[i], spiked.Volume[i] = 1e15, 1.5e15, 1e14, 1.2e15, 1e15
	}
	for _, name := range windowed {
		x, err := New(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, want := compute(x, spiked), compute(x, bars)
		for k, output := range x.Outputs() {
			for i := 640 + 60; i < bars.Len(); i++ {
				if d := math.Abs(got[k][i] - want[k][i]); !(d <= 1e-12*math.Abs(want[k][i])) {
					t.Fatalf("%s.%s at bar %d is %v, want %v as without the huge value", name, output, i, got[k][i], want[k][i])
				}
			}
		}
	}
}

func TestMean_OfEqualValuesIsThatValue(t *testing.T) {
	x := make([]float64, 500)
	for i := range x {
		x[i] = 0.1
	}
	for length := 1; length < 60; length++ {
		m, out := newMean(length), make([]float64, len(x))
		m(x, out)
		for i := length - 1; i < len(out); i++ {
			if out[i] != 0.1 {
				t.Fatalf("the mean of %d times 0.1 is %v", length, out[i])
			}
		}
	}
}
