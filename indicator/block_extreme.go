package indicator

import "math"

// extreme is the largest or the smallest of the last values. It compares keys,
// whole numbers in the order of the values (for the smallest, in the opposite
// order): the processor chooses the larger of two whole numbers without a
// branch, and prices make branches that it cannot foresee.
type extreme struct {
	at     int
	keys   []int64 // as values in block
	suffix []int64
	top    int64
	turned int64
}

// The two orders of keys.
const (
	upright     int64 = 0
	turnedRound int64 = -1
)

func newHighest(length int) step { return newExtreme(length, upright) }

func newLowest(length int) step { return newExtreme(length, turnedRound) }

func newExtreme(length int, turned int64) step {
	e := &extreme{keys: make([]int64, length), suffix: make([]int64, length+1), top: math.MinInt64, turned: turned}
	// Until a block is full the largest is a NaN: in either order the largest
	// key there can be is one of its bit patterns.
	for i := range e.suffix {
		e.suffix[i] = math.MaxInt64
	}
	e.suffix[length] = math.MinInt64
	return e.run
}

// key numbers values, given as bits, in their order; done again it gives the bits back.
func key(bits int64) int64 { return bits ^ int64(uint64(bits>>63)>>1) }

func (e *extreme) run(x, out []float64) {
	out = out[:len(x)]
	for len(x) > 0 {
		if e.at == len(e.keys) {
			e.turn()
		}
		n := min(len(x), len(e.keys)-e.at)
		top, turned := e.top, e.turned
		suffix, keys := e.suffix[e.at+1:][:n], e.keys[e.at:][:n]
		for i, v := range x[:n] {
			k := key(int64(math.Float64bits(v))) ^ turned
			keys[i] = k
			top = max(top, k)
			out[i] = math.Float64frombits(uint64(key(max(top, suffix[i]) ^ turned)))
		}
		e.top = top
		e.at += n
		x, out = x[n:], out[n:]
	}
}

func (e *extreme) turn() {
	e.at, e.top = 0, math.MinInt64
	top := int64(math.MinInt64)
	suffix := e.suffix[:len(e.keys)]
	for i := len(suffix) - 1; i > 0; i-- {
		top = max(top, e.keys[i])
		suffix[i] = top
	}
}
