package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "aroon",
	Params: []Param{
		period(14, 1, 200),
		flag("include_oscillator", true, "whether there is the output oscillator"),
	},
	Outputs: []string{"up", "down", "oscillator"}, Units: []Unit{Pure, Pure, Pure},
	Doc: "Aroon: how new the highest high and the lowest low of the last period+1 bars are, " +
		"100 if it is this bar and 0 if it is period bars old; of equal ones the newest counts. " +
		"The oscillator is up less down.",
	Follows: "TA-Lib", build: makeAroon,
})

func makeAroon(a Args) built {
	p := a.Int("period")
	x := built{
		outputs: []string{"up", "down"}, warm: []int{p, p}, reads: highs | lows, cost: 13, memory: 6 * p,
		start: func() machine {
			up, down := newNewness(p, upright), newNewness(p, turnedRound)
			return func(in *market.Bars, out [][]float64) {
				up(in.High, out[0])
				down(in.Low, out[1])
				if len(out) == 3 {
					difference(out[0], out[1], out[2])
				}
			}
		},
	}
	if a.Bool("include_oscillator") {
		x.outputs, x.warm = []string{"up", "down", "oscillator"}, []int{p, p, p}
	}
	return x
}

// newness is how new the largest, or turned round the smallest, of the last
// period+1 values is, in percent. It goes over blocks and compares keys as
// extreme does, and keeps with each largest its place.
type newness struct {
	at     int
	keys   []int64
	suffix []int64
	places []int // places[i]: where in the block before the largest from i on is
	top    int64
	place  int // where in this block its largest is
	turned int64
	factor float64
	hidden lead
}

func newNewness(period int, turned int64) step {
	r := &newness{
		keys: make([]int64, period+1), suffix: make([]int64, period+2), places: make([]int, period+2),
		top: math.MinInt64, turned: turned, factor: 100 / float64(period), hidden: lead(period),
	}
	for i := range r.suffix {
		r.suffix[i] = math.MinInt64
	}
	return r.run
}

func (r *newness) run(x, out []float64) {
	out = out[:len(x)]
	hidden := out[:r.hidden.skip(len(x))]
	for len(x) > 0 {
		if r.at == len(r.keys) {
			r.turn()
		}
		n := min(len(x), len(r.keys)-r.at)
		top, place, turned, at, length := r.top, r.place, r.turned, r.at, len(r.keys)
		suffix, places, keys := r.suffix[at+1:][:n], r.places[at+1:][:n], r.keys[at:][:n]
		for i, v := range x[:n] {
			k := key(int64(math.Float64bits(v))) ^ turned
			keys[i] = k
			if k >= top {
				place = at + i
			}
			top = max(top, k)
			newest := place
			if top < suffix[i] {
				newest = places[i] - length
			}
			out[i] = r.factor * float64(length-1-(at+i-newest))
		}
		r.top, r.place = top, place
		r.at += n
		x, out = x[n:], out[n:]
	}
	undefined(hidden)
}

func (r *newness) turn() {
	r.at, r.top, r.place = 0, math.MinInt64, 0
	top, place := int64(math.MinInt64), 0
	suffix := r.suffix[:len(r.keys)]
	places := r.places[:len(suffix)]
	for i := len(suffix) - 1; i > 0; i-- {
		k := r.keys[i]
		if k > top {
			place = i
		}
		top = max(top, k)
		suffix[i], places[i] = top, place
	}
}
