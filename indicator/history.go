package indicator

// history gives a step the values before the ones it is given, in one slice.
type history struct {
	depth  int       // how many values before
	values []float64 // at least depth of them, oldest first
}

// newHistory begins a series: what was before it is NaN.
func newHistory(depth int) history {
	h := history{depth: depth, values: make([]float64, depth, 2*depth+1)}
	undefined(h.values)
	return h
}

// extend takes the next values and returns them behind the depth values that
// came before: the value depth bars before x[i] is at i. The slice is good
// until the next call. What is no longer needed is dropped only when the room
// is used up, so that single values cost no copy of the whole.
func (h *history) extend(x []float64) []float64 {
	if cap(h.values)-len(h.values) < len(x) {
		kept := h.values[len(h.values)-h.depth:]
		if cap(h.values) < 2*h.depth+len(x) {
			h.values = append(make([]float64, 0, 2*h.depth+len(x)), kept...)
		} else {
			h.values = h.values[:copy(h.values[:h.depth], kept)]
		}
	}
	from := len(h.values) - h.depth
	h.values = append(h.values, x...)
	return h.values[from:]
}
