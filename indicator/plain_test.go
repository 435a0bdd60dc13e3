package indicator

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

// What no golden file has is held against the definition written out plainly,
// bar by bar from all bars before.

func wantNear(t *testing.T, name string, bar int, got, want float64) {
	t.Helper()
	if (got == got) != (want == want) || math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Fatalf("%s at bar %d is %v, want %v", name, bar, got, want)
	}
}

func mustNew(t *testing.T, name string, s ...Setting) Indicator {
	t.Helper()
	x, err := New(name, s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func plainMean(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total / float64(len(x))
}

func TestPlain_ADLine(t *testing.T) {
	bars := randomBars(11, 400)
	out := compute(mustNew(t, "adline"), bars)
	line := make([]float64, bars.Len())
	total := 0.0
	for i := range line {
		b := bars.At(i)
		total += ((b.Close - b.Low) - (b.High - b.Close)) / (b.High - b.Low) * b.Volume
		line[i] = total
		roc, momentum, strong := math.NaN(), math.NaN(), math.NaN()
		if i >= 10 {
			roc = (line[i]/line[i-10] - 1) * 100
		}
		if i >= 21 {
			momentum = line[i] - line[i-21]
		}
		if i >= 19 {
			strong = (line[i]/plainMean(line[max(0, i-49):i+1]) - 1) * 100
		}
		wantNear(t, "roc_10", i, out[3][i], roc)
		wantNear(t, "momentum_21", i, out[4][i], momentum)
		wantNear(t, "relative_strength", i, out[5][i], strong)
	}
}

func TestPlain_ADLineSmoothed(t *testing.T) {
	bars := randomBars(12, 300)
	raw := compute(mustNew(t, "adline"), bars)
	smooth := compute(mustNew(t, "adline", choose("use_sma_smoothing", "true"), set("smoothing_period", 9)), bars)
	for i := 8; i < bars.Len(); i++ {
		wantNear(t, "line", i, smooth[0][i], plainMean(raw[0][i-8:i+1]))
		wantNear(t, "momentum_21", i, smooth[4][i], raw[4][i])
	}
}

func TestPlain_Zigzag(t *testing.T) {
	closes := []float64{100, 102, 106, 110, 108, 104, 103, 99, 101, 104, 105}
	bars := &market.Bars{}
	for _, c := range closes {
		bars.Append(market.Bar{Open: c, High: c, Low: c, Close: c})
	}
	out := compute(mustNew(t, "zigzag"), bars) // threshold 5 %
	want := []struct{ pivot, direction float64 }{
		{100, 0},
		{100, 0},
		{100, 1},
		{100, 1}, // 106 is 6 % above the first
		{100, 1}, // 108 is less than 5 % below 110
		{110, -1},
		{110, -1},
		{110, -1},
		{110, -1},
		{99, 1},
		{99, 1}, // 104 is 5.05 % above 99
	}
	for i, w := range want {
		if out[0][i] != w.pivot || out[1][i] != w.direction {
			t.Errorf("at bar %d the pivot is %v and the direction %v, want %v and %v", i, out[0][i], out[1][i], w.pivot, w.direction)
		}
		wantNear(t, "change", i, out[2][i], closes[i]/w.pivot-1)
	}
}

func TestPlain_EMAAdjusted(t *testing.T) {
	bars := randomBars(13, 200)
	out := compute(mustNew(t, "ema", set("period", 9), choose("adjust", "true")), bars)
	for i := range bars.Len() {
		total, weights, weight := 0.0, 0.0, 1.0
		for j := i; j >= 0; j-- {
			total += weight * bars.Close[j]
			weights += weight
			weight *= 1 - 2.0/10
		}
		wantNear(t, "ema", i, out[0][i], total/weights)
	}
}

func TestPlain_VWAPOfCloses(t *testing.T) {
	bars := roughBars(14, 500)
	out := compute(mustNew(t, "vwap", set("period", 7), choose("use_typical_price", "false")), bars)
	for i := range bars.Len() {
		value, volume := 0.0, 0.0
		for j := max(0, i-6); j <= i; j++ {
			value += bars.Close[j] * bars.Volume[j]
			volume += bars.Volume[j]
		}
		wantNear(t, "vwap", i, out[0][i], value/volume) // 0/0 is NaN: no volume, no value
	}
}

func TestPlain_IchimokuDisplaced(t *testing.T) {
	bars := randomBars(15, 400)
	here := compute(mustNew(t, "ichimoku"), bars)
	late := compute(mustNew(t, "ichimoku", set("displacement", 26)), bars)
	for i := range bars.Len() {
		for k := range here {
			want := here[k][i]
			if k == 2 || k == 3 { // the leading spans
				want = math.NaN()
				if i >= 26 {
					want = here[k][i-26]
				}
			}
			if !same(late[k][i], want) {
				t.Fatalf("output %d at bar %d is %v, want %v", k, i, late[k][i], want)
			}
		}
	}
}

func TestPlain_ARatioToNothingIsUndefined(t *testing.T) {
	bars := randomBars(17, 60)
	clear(bars.Volume)
	for _, name := range []string{"bollingerbandwidth", "distancefromma"} {
		out := compute(mustNew(t, name, choose("source", "volume")), bars)
		for i, v := range out[0] {
			if v == v {
				t.Fatalf("%s of no volume is %v at bar %d, want NaN", name, v, i)
			}
		}
	}
}

func TestPlain_SourcesAreWhatTheyAreCalled(t *testing.T) {
	bars := randomBars(16, 50)
	for source, want := range map[Source]func(b market.Bar) float64{
		Close:  func(b market.Bar) float64 { return b.Close },
		Open:   func(b market.Bar) float64 { return b.Open },
		High:   func(b market.Bar) float64 { return b.High },
		Low:    func(b market.Bar) float64 { return b.Low },
		Volume: func(b market.Bar) float64 { return b.Volume },
		HL2:    func(b market.Bar) float64 { return (b.High + b.Low) / 2 },
		HLC3:   func(b market.Bar) float64 { return (b.High + b.Low + b.Close) / 3 },
		OHLC4:  func(b market.Bar) float64 { return (b.Open + b.High + b.Low + b.Close) / 4 },
	} {
		out := compute(mustNew(t, "momentum", set("period", 1), choose("source", string(source))), bars)
		for i := 1; i < bars.Len(); i++ {
			wantNear(t, string(source), i, out[0][i], want(bars.At(i))-want(bars.At(i-1)))
		}
	}
}
