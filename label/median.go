package label

// runningMedian is the median of all values added so far, in the logarithm of
// their number: the smaller half and the larger half are heaps whose tops meet
// in the middle. The smaller half is as long as the larger, or one longer.
type runningMedian struct {
	low, high minHeap // low holds negated values, so that its top is its largest
}

func (m *runningMedian) add(x float64) float64 {
	if len(m.low) == len(m.high) {
		m.low.push(-m.high.exchange(x))
		return -m.low[0]
	}
	m.high.push(-m.low.exchange(-x))
	return (m.high[0] - m.low[0]) / 2
}

// minHeap is a heap of numbers. The standard one boxes every value, which here is most of the time.
type minHeap []float64

// exchange adds x and takes out the smallest.
func (h minHeap) exchange(x float64) float64 {
	if len(h) == 0 || x <= h[0] {
		return x
	}
	top := h[0]
	i := 0
	for {
		child := 2*i + 1
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if child >= len(h) || x <= h[child] {
			break
		}
		h[i], i = h[child], child
	}
	h[i] = x
	return top
}

func (h *minHeap) push(x float64) {
	*h = append(*h, x)
	s, i := *h, len(*h)-1
	for parent := (i - 1) / 2; i > 0 && x < s[parent]; parent = (i - 1) / 2 {
		s[i], i = s[parent], parent
	}
	s[i] = x
}
