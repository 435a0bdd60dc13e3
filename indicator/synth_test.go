package indicator

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// randomBars is a random walk in which every bar moves, has a range and a volume.
func randomBars(seed uint64, n int) *market.Bars {
	r := num.NewRand(seed)
	b := &market.Bars{Symbol: "TEST", Timeframe: market.H1}
	price := 100.0
	for i := range n {
		b.Append(randomBar(r, int64(i)*3600, &price))
	}
	return b
}

func randomBar(r *num.Rand, at int64, price *float64) market.Bar {
	open := *price * (1 + 0.0005*r.Norm())
	c := open * (1 + 0.004*r.Norm())
	high := max(open, c) * (1 + 0.003*r.Float64() + 1e-6)
	low := min(open, c) * (1 - 0.003*r.Float64() - 1e-6)
	*price = c
	return market.Bar{Time: at, Open: open, High: high, Low: low, Close: c, Volume: float64(1 + r.Uint64n(5000))}
}

// roughBars is a random walk with what breaks formulas: a flat start, gaps,
// stretches without movement, without volume, without either, and one-price
// closes in bars that move.
func roughBars(seed uint64, n int) *market.Bars {
	r := num.NewRand(seed)
	b := &market.Bars{Symbol: "TEST", Timeframe: market.H1}
	price := 1.1
	for len(b.Time) < n {
		length, kind := 5+int(r.Uint64n(90)), int(r.Uint64n(6))
		if b.Len() == 0 {
			length, kind = 12, 1
		}
		if kind == 0 {
			price *= 1 + 0.05*r.Norm()
		}
		still := price
		for range min(length, n-b.Len()) {
			x := randomBar(r, int64(b.Len())*3600, &price)
			switch kind {
			case 1, 2: // nothing moves
				x.Open, x.High, x.Low, x.Close, price = still, still, still, still, still
				x.Volume *= float64(kind - 1)
			case 3: // nothing trades
				x.Volume = 0
			case 4: // one close
				x.Open, x.Close, price = still, still, still
				x.High, x.Low = max(x.High, still), min(x.Low, still)
			}
			b.Append(x)
		}
	}
	return b
}

// outputs is room for what an indicator makes of n bars, filled with a value
// that it must overwrite.
func outputs(x Indicator, n int) [][]float64 {
	out := make([][]float64, len(x.Outputs()))
	for k := range out {
		out[k] = make([]float64, n)
		for i := range out[k] {
			out[k][i] = math.Pi
		}
	}
	return out
}

func compute(x Indicator, b *market.Bars) [][]float64 {
	out := outputs(x, b.Len())
	x.Compute(b, out)
	return out
}

// same says whether two values have the same bits; every NaN is the same.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || (a != a && b != b)
}

// wantSame requires the same bits everywhere.
func wantSame(t *testing.T, x Indicator, got, want [][]float64) {
	t.Helper()
	for k, name := range x.Outputs() {
		if len(got[k]) != len(want[k]) {
			t.Fatalf("output %s has %d values, want %d", name, len(got[k]), len(want[k]))
		}
		for i := range want[k] {
			if !same(got[k][i], want[k][i]) {
				t.Fatalf("output %s at bar %d is %v, want %v", name, i, got[k][i], want[k][i])
			}
		}
	}
}

// variants are settings of an indicator: its defaults, the least and the most
// of every parameter as far as they go together, and some drawn at random.
func variants(t *testing.T, d Definition, random int) [][]Setting {
	t.Helper()
	r := num.NewRand(num.Mix(uint64(len(d.Name)), uint64(d.Name[0]), uint64(d.Name[len(d.Name)-1])))
	all := [][]Setting{nil}
	add := func(choose func(p Param) float64) bool {
		settings := make([]Setting, len(d.Params))
		for i, p := range d.Params {
			settings[i] = p.setting(choose(p))
		}
		if _, err := d.Resolve(settings); err != nil {
			if d.Check == nil {
				t.Fatalf("settings %v in bounds are refused: %v", settings, err)
			}
			return false
		}
		all = append(all, settings)
		return true
	}
	add(func(p Param) float64 { return p.Min })
	add(func(p Param) float64 { return p.most() })
	for len(all) < random+3 && len(d.Params) > 0 {
		add(func(p Param) float64 {
			x := p.Min + (p.most()-p.Min)*r.Float64()*r.Float64()
			if p.Kind != Float {
				x = math.Floor(x)
			}
			return x
		})
	}
	return all
}

func (p Param) most() float64 {
	if p.Kind == Choice {
		return float64(len(p.Choices) - 1)
	}
	return p.Max
}

// setting writes a value of the parameter down as a user would.
func (p Param) setting(x float64) Setting {
	switch p.Kind {
	case Bool:
		return Setting{Name: p.Name, IsText: true, Text: map[bool]string{true: "true", false: "false"}[x != 0]}
	case Choice:
		return Setting{Name: p.Name, IsText: true, Text: p.Choices[int(x)]}
	default:
		return Setting{Name: p.Name, Number: x}
	}
}

// eachVariant runs a test for every indicator and several of its settings.
func eachVariant(t *testing.T, test func(t *testing.T, d Definition, settings []Setting, x Indicator)) {
	t.Helper()
	for _, d := range Definitions() {
		for _, settings := range variants(t, d, 3) {
			x, err := New(d.Name, settings)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(title(d, settings), func(t *testing.T) { test(t, d, settings, x) })
		}
	}
}

func title(d Definition, settings []Setting) string {
	name := d.Name
	for _, s := range settings {
		if s.IsText {
			name += " " + s.Text
		} else {
			name += " " + number(s.Number)
		}
	}
	return name
}
