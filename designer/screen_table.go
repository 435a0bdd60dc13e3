package designer

import (
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/market"
)

// sample is what readings are tried on.
type sample struct {
	moves [][]float64            // from close to close, logarithmic, of each symbol; the first is 0
	folds [][screenFolds + 1]int // of each symbol, where the quarters of the time begin, and its end
	cost  float64                // a side
	short bool
}

// of sets the bars. All symbols have the same quarters of the time, so that no table
// knows what another symbol did in the quarter that it trades.
func (s *sample) of(all []*market.Bars) {
	var times []int64
	for _, b := range all {
		times = append(times, b.Time...)
	}
	slices.Sort(times)
	for _, b := range all {
		var folds [screenFolds + 1]int
		for k := range screenFolds {
			folds[k], _ = slices.BinarySearch(b.Time, times[k*len(times)/screenFolds])
		}
		folds[screenFolds] = b.Len()
		s.folds, s.moves = append(s.folds, folds), append(s.moves, movesOf(b))
	}
}

// column is a reading in bins, at each bar of each symbol.
type column struct {
	bins [][]uint8 // noBin where it is undefined
	size int       // number of bins
}

const noBin = math.MaxUint8

// tables are the mean moves of each bin, for each fold: of all bars but its own.
type tables [screenFolds][]float64

// best is the rule with the highest z-value of its returns, and that z-value.
func (s *sample) best(c *column, ask []question) (best question, z float64) {
	var t tables
	for i, q := range ask {
		if i == 0 || q.horizon != ask[i-1].horizon {
			t = s.tables(c, q.horizon)
		}
		if x := s.trade(c, &t, q); i == 0 || x > z {
			best, z = q, x
		}
	}
	return best, z
}

// tables makes those of a horizon. A move that reaches into the next fold is left out.
func (s *sample) tables(c *column, horizon int) (means tables) {
	var sums, counts [screenFolds][]float64
	for k := range sums {
		sums[k], counts[k] = make([]float64, c.size), make([]float64, c.size)
	}
	for i, moves := range s.moves {
		for k := range screenFolds {
			from, to := s.folds[i][k], s.folds[i][k+1]
			ahead := 0.0
			for t := from; t+horizon < to; t++ {
				if t == from {
					for _, m := range moves[t+1 : t+horizon+1] {
						ahead += m
					}
				} else {
					ahead += moves[t+horizon] - moves[t]
				}
				if bin := c.bins[i][t]; bin != noBin {
					sums[k][bin] += ahead
					counts[k][bin]++
				}
			}
		}
	}
	for k := range means {
		means[k] = make([]float64, c.size)
		for bin := range means[k] {
			sum, count := 0.0, 0.0
			for other := range screenFolds {
				if other != k {
					sum += sums[other][bin]
					count += counts[other][bin]
				}
			}
			if count >= fewestInBin {
				means[k][bin] = sum / count
			}
		}
	}
	return means
}

// trade is the z-value of the returns of a rule, bar by bar and after costs; 0 where
// there are too few trades. Positions are held as a backtest holds them, but
// without stops, targets and pauses.
func (s *sample) trade(c *column, t *tables, q question) float64 {
	patience := math.MaxInt
	if q.exit > 0 {
		patience = exitAfter(q.exit, q.horizon)
	}
	limit := edges[q.caution] * 2 * s.cost
	var sum, squares float64
	bars, changes := 0, 0
	for i, moves := range s.moves {
		position, quiet := int8(0), 0
		for k := range screenFolds {
			side := sides(t[k], limit)
			for at := s.folds[i][k]; at < min(s.folds[i][k+1], len(moves)-1); at++ {
				signal, was := int8(0), position
				if bin := c.bins[i][at]; bin != noBin {
					signal = side[bin]
				}
				switch {
				case signal == 0:
					if quiet++; quiet >= patience {
						position = 0
					}
				case signal > 0 || s.short:
					position, quiet = signal, 0
				default:
					position = 0
				}
				gain := float64(float64(position) * moves[at+1])
				if position != was {
					gain -= float64(s.cost * math.Abs(float64(position-was)))
					changes++
				}
				sum += gain
				squares += float64(gain * gain)
				bars++
			}
		}
	}
	if changes < screenTrades {
		return 0
	}
	mean := sum / float64(bars)
	variance := squares/float64(bars) - float64(mean*mean)
	if !(variance > 0) {
		return 0
	}
	return mean / math.Sqrt(variance/float64(bars))
}

// sides are the signals of the bins: those whose mean move pays.
func sides(means []float64, limit float64) []int8 {
	side := make([]int8, len(means))
	for bin, m := range means {
		switch {
		case m > limit:
			side[bin] = 1
		case m < -limit:
			side[bin] = -1
		}
	}
	return side
}

// binned puts the values of a reading into bins: one for each value where there are
// few, else between quantiles. A reading that is mostly undefined has none.
func binned(values [][]float64) (bins [][]uint8, size int) {
	cuts := cutpoints(values)
	if len(cuts) == 0 {
		return nil, 0
	}
	for _, list := range values {
		of := make([]uint8, len(list))
		for t, x := range list {
			of[t] = noBin
			if finite(x) {
				at, exact := slices.BinarySearch(cuts, x)
				if exact {
					at++
				}
				of[t] = uint8(at)
			}
		}
		bins = append(bins, of)
	}
	return bins, len(cuts) + 1
}

// cutpoints are the limits between bins, in ascending order.
func cutpoints(values [][]float64) []float64 {
	v := slices.Concat(values...)
	n := len(v)
	v = slices.DeleteFunc(v, func(x float64) bool { return !finite(x) })
	if len(v) == 0 || 2*len(v) < n {
		return nil
	}
	slices.Sort(v)
	if few := slices.Compact(slices.Clone(v)); len(few) <= mostBins {
		return few[1:]
	}
	cuts := make([]float64, 0, len(quantileLevels))
	for _, level := range quantileLevels {
		cuts = append(cuts, v[int(level*float64(len(v)-1))])
	}
	return slices.Compact(cuts)
}
