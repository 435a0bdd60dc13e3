package indicator

import "math"

// ema is TA-Lib's exponential mean: it begins with the simple mean of the first
// values and then moves to each new one by 2/(length+1) of the way.
type ema struct {
	lead           // values before the first that counts
	left   int     // values until the mean begins
	length float64 // values it begins with
	value  float64 // sum of the first values, then the mean
	near   float64 // weight of the new value
	far    float64 // weight of the mean before
}

// newEMA begins a mean that does not see the first values, as many as after.
func newEMA(length, after int) ema {
	e := newSmooth(length, 2/float64(length+1))
	e.lead = lead(after)
	return e
}

// newWilder moves by 1/length of the way: Wilder's smoothing.
func newWilder(length int) ema { return newSmooth(length, 1/float64(length)) }

// newSmooth makes two weights that add up to one exactly, so that a price that
// stands still is not drifted away from.
func newSmooth(length int, near float64) ema {
	far := 1 - near
	return ema{left: length, length: float64(length), near: 1 - far, far: far}
}

// next takes one value; the mean is NaN until it begins.
func (e *ema) next(x float64) float64 {
	if e.lead > 0 {
		e.lead--
		return math.NaN()
	}
	if e.left == 0 {
		e.value = float64(e.far*e.value) + float64(e.near*x)
		return e.value
	}
	e.value += float64(x) // rounded: a product that is passed in must not be fused
	if e.left--; e.left > 0 {
		return math.NaN()
	}
	e.value /= e.length
	return e.value
}

// begun says whether the mean has a value.
func (e *ema) begun() bool { return e.left == 0 }

// run takes the next values; out may be x.
func (e *ema) run(x, out []float64) {
	i := 0
	for ; i < len(x) && !e.begun(); i++ {
		out[i] = e.next(x[i])
	}
	x, out = x[i:], out[i:len(x)]
	value, near, far := e.value, e.near, e.far
	for i, v := range x {
		value = float64(far*value) + float64(near*v)
		out[i] = value
	}
	e.value = value
}

// newEWM begins with the first value that it sees, as pandas with adjust=False.
func newEWM(span, after int) ema {
	e := newEMA(span, after)
	e.left, e.length = 1, 1
	return e
}

// weighted is the exponential mean whose weights add up to one from the first
// value on, as pandas has it with adjustment.
type weighted struct {
	total, weight float64
	far           float64
}

func newWeighted(span int) step { return (&weighted{far: 1 - 2/float64(span+1)}).run }

// run takes the next values; out may be x.
func (w *weighted) run(x, out []float64) {
	out = out[:len(x)]
	total, weight := w.total, w.weight
	for i, v := range x {
		total = float64(total*w.far) + v
		weight = float64(weight*w.far) + 1
		out[i] = total / weight
	}
	w.total, w.weight = total, weight
}
