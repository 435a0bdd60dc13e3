package label

// Uniqueness weighs samples by how alone they are: the mean, over the bars after
// Row up to End that a label looks at, of one over the number of labels that look
// at that bar. Weights are scaled to a mean of 1. n is the number of bars.
//
// A weight counts later samples that overlap, so weights belong to the samples
// they were made from: train on part of a set with weights made from that part.
func Uniqueness(row, end []int32, n int) []float32 {
	if len(row) == 0 {
		return nil
	}
	// Concurrency by differences, then running sums of its inverse: two passes
	// over the bars, however long the labels are.
	running := make([]float64, n+2)
	for i := range row {
		running[row[i]+1]++
		running[end[i]+1]--
	}
	concurrent, sum := 0.0, 0.0
	for t := range running {
		concurrent += running[t]
		if concurrent > 0 {
			sum += 1 / concurrent
		}
		running[t] = sum
	}
	weight := make([]float64, len(row))
	total := 0.0
	for i := range row {
		span := running[end[i]] - running[row[i]]
		weight[i] = span / float64(end[i]-row[i])
		total += weight[i]
	}
	mean := total / float64(len(row))
	out := make([]float32, len(row))
	for i, w := range weight {
		out[i] = float32(w / mean)
	}
	return out
}
