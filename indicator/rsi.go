package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "rsi", Params: []Param{period(14, 2, 100), sourceParam}, Units: []Unit{Pure},
	Doc: "Relative strength index: 100 times Wilder's mean gain over the sum of mean gain and mean loss; " +
		"0 while there has been neither.",
	Follows: "TA-Lib", build: makeRSI,
})

func makeRSI(a Args) built {
	p, source := a.Int("period"), a.Source()
	return built{
		warm: []int{p}, reads: source.reads(), cost: 3, memory: 16,
		start: func() machine {
			return (&rsi{source: source, before: math.NaN(), gain: newWilder(p), loss: newWilder(p)}).run
		},
	}
}

type rsi struct {
	source     Source
	room       scratch
	before     float64
	gain, loss ema
}

func (r *rsi) run(in *market.Bars, out [][]float64) {
	x := r.source.of(in, &r.room)
	y := out[0][:len(x)]
	i := 0
	for ; i < len(x) && !r.gain.begun(); i++ {
		y[i] = r.first(x[i])
	}
	before, gain, loss := r.before, r.gain.value, r.loss.value
	near, far := r.gain.near/2, r.gain.far
	for ; i < len(x); i++ {
		// |d|+d is twice the gain and |d|-d twice the loss: no branch to guess.
		d := x[i] - before
		abs := math.Abs(d)
		gain = float64(far*gain) + float64(near*(abs+d))
		loss = float64(far*loss) + float64(near*(abs-d))
		before = x[i]
		if gain+loss < leastSum {
			gain, loss = 0, 0
		}
		y[i] = percentOf(gain, loss)
	}
	r.before, r.gain.value, r.loss.value = before, gain, loss
}

// first takes a value while the means have not begun.
func (r *rsi) first(x float64) float64 {
	d := x - r.before
	r.before = x
	if d != d { // the first bar has no change
		return d
	}
	gain := r.gain.next((math.Abs(d) + d) / 2)
	loss := r.loss.next((math.Abs(d) - d) / 2)
	return percentOf(gain, loss)
}
