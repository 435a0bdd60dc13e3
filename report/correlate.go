package report

import (
	"math"
	"time"

	"github.com/ktrdr/ktrdr/jobs"
)

// fewestDays is how many common days a correlation needs.
const fewestDays = 20

// correlations are those of the daily returns of strategies, each with each, and
// how many uncorrelated strategies are worth as much: n² over the sum of all.
func correlations(list []ComparedStrategy) (matrix [][]*float64, bets *float64) {
	n, sum, known := float64(len(list)), 0.0, true
	for i := range list {
		row := make([]*float64, len(list))
		for k := range list {
			if row[k] = correlation(list[i].Returns, list[k].Returns); row[k] == nil {
				known = false
				continue
			}
			sum += *row[k]
		}
		matrix = append(matrix, row)
	}
	if known && sum > 0 {
		bets = new(min(n*n/sum, n))
	}
	return matrix, bets
}

// correlation is Pearson's, over the days that both have; nil where they are too
// few or one does not change.
func correlation(a, b []jobs.Point) *float64 {
	other := make(map[time.Time]float64, len(b))
	for _, p := range b {
		other[p.Time] = p.Value
	}
	var n, meanA, meanB, covariance, squaresA, squaresB float64
	for _, p := range a {
		y, ok := other[p.Time]
		if !ok {
			continue
		}
		n++
		x := p.Value
		da, db := x-meanA, y-meanB
		meanA, meanB = meanA+da/n, meanB+db/n
		covariance += da * (y - meanB)
		squaresA += da * (x - meanA)
		squaresB += db * (y - meanB)
	}
	if n < fewestDays || squaresA <= 0 || squaresB <= 0 {
		return nil
	}
	return new(min(max(covariance/math.Sqrt(squaresA*squaresB), -1), 1))
}
