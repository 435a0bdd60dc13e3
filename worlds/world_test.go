package worlds

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

func TestWorlds_AreMarketsThatAnImportAccepts(t *testing.T) {
	type named struct {
		name string
		bars *market.Bars
	}
	var all []named
	for _, w := range worlds(t) {
		a, b, other := w.Make("A", 3000, 5), w.Make("A", 3000, 5), w.Make("A", 3000, 6)
		if a.Hash() != b.Hash() || a.Hash() == other.Hash() {
			t.Errorf("%s: the same seed must make the same bars, and another one others", w.Name)
		}
		all = append(all, named{w.Name, a})
	}
	for _, k := range Kinds {
		a, b, other := k.Make("A", 3000, 5, 0.2), k.Make("A", 3000, 5, 0.2), k.Make("A", 3000, 6, 0.2)
		if a[0].Hash() != b[0].Hash() || a[0].Hash() == other[0].Hash() {
			t.Errorf("%s: the same seed must make the same bars, and another one others", k.Name)
		}
		for _, x := range a {
			all = append(all, named{k.Name, x})
		}
	}
	for _, x := range all {
		report, err := market.Check(x.bars, x.name)
		if err != nil || report.Wrong() > 0 {
			t.Errorf("%s: %v, %d findings", x.name, err, report.Wrong())
		}
		if x.bars.Len() != 3000 || x.bars.Timeframe != market.H1 {
			t.Errorf("%s: %d bars of %s, want 3000 of 1h", x.name, x.bars.Len(), x.bars.Timeframe)
		}
	}
}

// moves are the logarithms from close to close, in volatilities.
func moves(b *market.Bars) []float64 {
	x := make([]float64, b.Len()-1)
	for i := range x {
		x[i] = math.Log(b.Close[i+1]/b.Close[i]) / volatility
	}
	return x
}

// correlation is that of f(x[i]) with g(x[i+lag]).
func correlation(x []float64, lag int, f, g func(float64) float64) float64 {
	a, b := make([]float64, len(x)-lag), make([]float64, len(x)-lag)
	for i := range a {
		a[i], b[i] = f(x[i]), g(x[i+lag])
	}
	meanA, devA := spread(a)
	meanB, devB := spread(b)
	sum := 0.0
	for i := range a {
		sum += (a[i] - meanA) * (b[i] - meanB)
	}
	return sum / float64(len(a)) / devA / devB
}

func self(x float64) float64   { return x }
func square(x float64) float64 { return x * x }

// kurtosis is 3 of normal numbers.
func kurtosis(x []float64) float64 {
	var m num.Moments
	for _, v := range x {
		m.Add(v)
	}
	return m.Kurtosis()
}

// What each world is named for is seen in its moves. Each bound is several standard
// errors from what the world has, and from what it would have without its habit.
func TestWorlds_HaveTheHabitsTheyAreNamedFor(t *testing.T) {
	const bars = 60_000
	type habit struct {
		what      string
		of        func(b *market.Bars, x []float64) float64
		low, high float64
	}
	mean := func(_ *market.Bars, x []float64) float64 { return num.Sum(x) / float64(len(x)) }
	next := func(_ *market.Bars, x []float64) float64 { return correlation(x, 1, self, self) }
	fat := func(_ *market.Bars, x []float64) float64 { return kurtosis(x) }
	clusters := func(_ *market.Bars, x []float64) float64 { return correlation(x, 1, math.Abs, math.Abs) }
	leverage := func(_ *market.Bars, x []float64) float64 { return correlation(x, 1, self, square) }
	fair := habit{"mean move", mean, -0.02, 0.02}
	blind := habit{"correlation with the next move", next, -0.018, 0.018}
	for _, c := range []struct {
		world  string
		habits []habit
	}{
		{"random walk", []habit{fair, blind, {"kurtosis", fat, 2.9, 3.1}, {"clusters", clusters, -0.018, 0.018}}},
		{"GARCH-t", []habit{{"mean move", mean, -0.025, 0.025}, {"kurtosis", fat, 4.5, 1e3}, {"clusters", clusters, 0.1, 0.5}}},
		{"EGARCH with leverage", []habit{
			fair, {"kurtosis", fat, 3.3, 8}, {"clusters", clusters, 0.05, 0.4}, {"leverage", leverage, -0.4, -0.04},
		}},
		{"U-shaped volatility with weekend gaps", []habit{
			fair, blind,
			{"volatility of 00:00 and 23:00 over that of 11:00 and 12:00", edgesOfDay, 2.5, 4.5},
			{"deviation of gaps over weekends", gaps, 4, 6},
		}},
		{"drift", []habit{{"mean move", mean, 0.01, 0.035}, blind}},
		{"bid-ask bounce below costs", []habit{
			{"mean move", mean, -0.02, 0.02}, {"correlation with the next move", next, -0.035, -0.008},
		}},
		{"rounded prices", []habit{{"mean move", mean, -0.02, 0.02}, {"share of prices off the grid", offGrid, 0, 0}}},
		{"regimes of variance", []habit{fair, blind, {"kurtosis", fat, 3.8, 6}, {"clusters 50 bars on", later, 0.05, 0.5}}},
		{"jumps", []habit{fair, {"kurtosis", fat, 30, 1e4}, {"clusters", clusters, -0.02, 0.02}}},
	} {
		b := worldNamed(t, c.world).Make("W", bars, 11)
		x := moves(b)
		for _, h := range c.habits {
			if got := h.of(b, x); !(got >= h.low && got <= h.high) {
				t.Errorf("%s: %s is %.4g, want %g to %g", c.world, h.what, got, h.low, h.high)
			}
		}
	}
}

func worldNamed(t *testing.T, name string) World {
	t.Helper()
	for _, w := range Worlds {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("there is no world %q", name)
	return World{}
}

// later is how sizes of moves go together that are 50 bars apart.
func later(_ *market.Bars, x []float64) float64 { return correlation(x, 50, math.Abs, math.Abs) }

// edgesOfDay compares how much bars move when the day begins and ends with noon.
func edgesOfDay(b *market.Bars, _ []float64) float64 {
	var sum, n [24]float64
	for i, at := range b.Time {
		x := math.Log(b.Close[i] / b.Open[i])
		sum[at%day/hour] += x * x
		n[at%day/hour]++
	}
	return math.Sqrt((sum[0]/n[0] + sum[23]/n[23]) / (sum[11]/n[11] + sum[12]/n[12]))
}

// gaps is the deviation from the last close before a weekend to the open after it.
func gaps(b *market.Bars, _ []float64) float64 {
	var x []float64
	for i := 1; i < b.Len(); i++ {
		gap := math.Log(b.Open[i]/b.Close[i-1]) / volatility
		if b.Time[i]-b.Time[i-1] > day {
			x = append(x, gap)
		} else if gap != 0 {
			return math.Inf(1) // a gap inside a week
		}
	}
	_, deviation := spread(x)
	return deviation
}

func offGrid(b *market.Bars, _ []float64) float64 {
	off := 0.0
	for i := range b.Time {
		for _, p := range []float64{b.Open[i], b.High[i], b.Low[i], b.Close[i]} {
			if math.Abs(p/tick-math.Round(p/tick)) > 1e-6 {
				off++
			}
		}
	}
	return off / float64(4*b.Len())
}

// What a bounce and a grid give away is less than the costs of those worlds: a rule
// that knows the price behind them loses.
func TestWorlds_BounceAndRoundingEarnLessThanTheyCost(t *testing.T) {
	const perSide = 1.5e-4
	if got := bounceSize * volatility; got >= perSide {
		t.Errorf("the bounce is %g of the price, and a side costs %g", got, perSide)
	}
	b := rounded("W", barsOfMarket, 3)
	for i, p := range b.Close {
		if off := tick / 2 / p; off >= perSide {
			t.Fatalf("bar %d: rounding moves a price of %v by %g of it, and a side costs %g", i, p, off, perSide)
		}
	}
}

func TestFlipped_KeepsSizesAndDrawsDirections(t *testing.T) {
	from := Worlds[1].Make("REAL", 5000, 3)
	got := Flipped(from)("W", 4998, 9)
	flips := 0
	for i := 1; i < got.Len(); i++ {
		j := i + 1 // the window begins at the second bar
		a, b := math.Log(got.Close[i]/got.Close[i-1]), math.Log(from.Close[j]/from.Close[j-1])
		if math.Abs(math.Abs(a)-math.Abs(b)) > 1e-9 {
			t.Fatalf("bar %d moves %g, and %g in the bars it is made of", i, a, b)
		}
		if a*b < 0 {
			flips++
		}
	}
	if report, err := market.Check(got, "flipped"); err != nil || report.Wrong() > 0 {
		t.Errorf("%v, %d findings", err, report.Wrong())
	}
	if flips < 2300 || flips > 2700 {
		t.Errorf("%d of 4998 moves have the other direction, want about half", flips)
	}
}
