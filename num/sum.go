package num

import "math"

// Sum adds up x with an error that does not grow with its length: it keeps
// what each addition loses and adds that at the end.
func Sum(x []float64) float64 {
	var sum, lost float64
	for _, v := range x {
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += (sum - t) + v
		} else {
			lost += (v - t) + sum
		}
		sum = t
	}
	if math.IsNaN(lost) {
		return sum // an infinity came by: the plain sum says which
	}
	return sum + lost
}
