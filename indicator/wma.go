package indicator

var _ = register(Definition{
	Name: "wma", Aliases: []string{"weightedmovingaverage"}, Params: []Param{period(20, 2, 500), sourceParam},
	Units: []Unit{InPrice},
	Doc:   "Weighted moving average: weights 1 to period, the newest value the heaviest.", Follows: "TA-Lib",
	build: makeWMA,
})

func makeWMA(a Args) built {
	p, source := a.Int("period"), a.Source()
	return built{
		warm: []int{p - 1}, reads: source.reads(), cost: 4, memory: 3 * p,
		start: func() machine { return source.machine(newRamp(p)) },
	}
}

// ramp is the mean of the last values with weights that rise by one. In the
// block before, a value's weight is its place from where the window begins; in
// this block it is its place in the block plus the same for all of them, what
// the part of the window before them counts.
type ramp struct {
	block           // suffix: the weighted totals of the block before
	anchor  float64 // as in mean
	total   float64 // of this block, all weights 1
	rising  float64 // of this block, weights 1, 2, 3 …
	divisor float64
}

func newRamp(length int) step {
	return (&ramp{block: newBlock(length, 0), divisor: float64(length) * float64(length+1) / 2}).run
}

// run takes the next values.
func (r *ramp) run(x, out []float64) {
	out = out[:len(x)]
	for len(x) > 0 {
		if r.at == len(r.values) {
			r.turn(x[0])
		}
		if r.at == 0 {
			r.anchor = x[0]
		}
		n := r.room(len(x))
		anchor, total, rising := r.anchor, r.total, r.rising
		suffix, values := r.suffix[r.at+1:][:n], r.values[r.at:][:n]
		place, rest := float64(r.at), float64(len(r.values)-r.at)
		for i, v := range x[:n] {
			values[i] = v
			d := v - anchor
			place++
			rest--
			total += d
			rising += float64(place * d)
			out[i] = anchor + (suffix[i]+rising+float64(rest*total))/r.divisor
		}
		r.total, r.rising = total, rising
		r.at += n
		x, out = x[n:], out[n:]
	}
}

func (r *ramp) turn(anchor float64) {
	r.at, r.total, r.rising = 0, 0, 0
	total, rising := 0.0, 0.0
	suffix := r.suffix[:len(r.values)]
	for i := len(suffix) - 1; i > 0; i-- {
		total += r.values[i] - anchor
		rising += total
		suffix[i] = rising
	}
}
