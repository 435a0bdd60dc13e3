package indicator

import (
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// wild is a series of values of many sizes and both signs, with zeros and
// stretches that do not change.
func wild(r *num.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		switch r.Uint64n(8) {
		case 0:
			x[i] = 0
		case 1, 2:
			x[i] = x[max(0, i-1)]
		default:
			x[i] = r.Norm() * num.Exp(20*r.Float64()-10)
		}
	}
	return x
}

// inPieces runs a step over a series cut at random.
func inPieces(r *num.Rand, s step, x []float64) []float64 {
	out := make([]float64, len(x))
	for i := 0; i < len(x); {
		n := min(len(x)-i, 1+int(r.Uint64n(70)))
		s(x[i:i+n], out[i:i+n])
		i += n
	}
	return out
}

func TestWindows_AreWhatTheirValuesSay(t *testing.T) {
	plain := map[string]struct {
		make  func(length int) step
		value func(window []float64) float64
	}{
		"sum":     {newSum, func(w []float64) float64 { return plainMean(w) * float64(len(w)) }},
		"mean":    {newMean, plainMean},
		"highest": {newHighest, slices.Max[[]float64]},
		"lowest":  {newLowest, slices.Min[[]float64]},
		"ramp": {
			newRamp,
			func(w []float64) float64 {
				total, weights := 0.0, 0.0
				for i, v := range w {
					total += float64(i+1) * v
					weights += float64(i + 1)
				}
				return total / weights
			},
		},
		"deviation": {
			func(length int) step {
				m, means := newMoments(length, 0), scratch(nil)
				return func(x, out []float64) { m.run(x, means.take(len(x)), out) }
			},
			func(w []float64) float64 {
				middle, total := plainMean(w), 0.0
				for _, v := range w {
					total += (v - middle) * (v - middle)
				}
				return math.Sqrt(total / float64(len(w)))
			},
		},
	}
	for name, c := range plain {
		t.Run(name, func(t *testing.T) {
			r := num.NewRand(31)
			for length := 1; length <= 60; length++ {
				x := wild(r, 400)
				for i, got := range inPieces(r, c.make(length), x) {
					if i < length-1 {
						if got == got {
							t.Fatalf("length %d has the value %v at %d, before it is full", length, got, i)
						}
						continue
					}
					window := x[i-length+1 : i+1]
					largest := max(math.Abs(slices.Max(window)), math.Abs(slices.Min(window)))
					if want := c.value(window); !(math.Abs(got-want) <= 1e-13*float64(length)*largest) {
						t.Fatalf("length %d at %d is %v, want %v", length, i, got, want)
					}
				}
			}
		})
	}
}

// Nothing moves and nothing trades: what every definition says of that.
func TestCompute_OfAMarketThatStandsStill(t *testing.T) {
	const price = 1.1
	bars := randomBars(41, 150)
	for i := range bars.Len() {
		bars.Open[i], bars.High[i], bars.Low[i], bars.Close[i], bars.Volume[i] = price, price, price, price, 0
	}
	none := math.NaN()
	still := map[string][]float64{
		"adline": {0, 0, 0, none, 0, none}, "adx": {0, 0, 0}, "aroon": {100, 100, 0}, "atr": {0},
		"bollingerbands": {price, price, price}, "bollingerbandwidth": {0}, "cci": {0}, "cmf": {0, 0, 0, 0, 0, 0, 0, 0},
		"distancefromma": {0}, "donchianchannels": {price, price, price}, "fishertransform": {0, 0},
		"ichimoku": {price, price, price, price, price}, "mfi": {0}, "momentum": {0}, "obv": {0},
		"parabolicsar": {price}, "roc": {0}, "rsi": {0}, "rvi": {none, none}, "sma": {price}, "squeezeintensity": {0},
		"stochastic": {0, 0}, "volumeratio": {1}, "vwap": {none}, "williamsr": {0}, "wma": {price}, "zigzag": {price, 0, 0},
	}
	nearly := map[string][]float64{ // means that round once a bar
		"ema": {price}, "keltnerchannels": {price, price, price}, "macd": {0, 0, 0},
	}
	for _, d := range Definitions() {
		switch d.Name {
		case "supertrend":
			continue // its close is on the band, which turns it on every bar
		case "hour", "weekday", "session", "barssinceopen":
			x := mustNew(t, d.Name) // time passes all the same
			wantSame(t, x, compute(x, bars), compute(x, randomBars(41, 150)))
			continue
		}
		want, tolerance := still[d.Name], 0.0
		if want == nil {
			want, tolerance = nearly[d.Name], 1e-15
		}
		if len(want) != len(d.Outputs) {
			t.Errorf("the test does not say what %s makes of it", d.Name)
			continue
		}
		for k, column := range compute(mustNew(t, d.Name), bars) {
			for i, got := range column[120:] {
				if (got == got) != (want[k] == want[k]) || math.Abs(got-want[k]) > tolerance {
					t.Errorf("%s.%s at bar %d is %v, want %v", d.Name, d.Outputs[k], 120+i, got, want[k])
					break
				}
			}
		}
	}
}
