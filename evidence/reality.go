package evidence

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// Reality is the answer to: is the best of these better than the benchmark, or
// only the luckiest?
type Reality struct {
	Strategies int      `json:"strategies"` // that vary; others cannot be tested
	Best       int      `json:"best"`       // index of the one with the highest studentized mean
	White      *float64 `json:"white_p"`    // reality check of White (2000), on plain means
	SPA        *float64 `json:"spa_p"`      // superior predictive ability of Hansen (2005), consistent form
	SPALower   *float64 `json:"spa_p_lower"`
	SPAUpper   *float64 `json:"spa_p_upper"`
	Draws      int      `json:"draws"`
	Block      float64  `json:"block"`
	Undefined  string   `json:"undefined,omitempty"`
}

// RealityCheck tests the returns of many strategies in excess of a benchmark,
// one row for each strategy, all over the same bars. A small p-value says that
// the best mean is more than what the best of so many would show by luck. White's
// counts every strategy in full; Hansen's divides each mean by its error and
// leaves out those so bad that they could not have won.
func RealityCheck(excess [][]float64, b Bootstrap, r *num.Rand) Reality {
	rows, err := matrix(excess, 1)
	if err != nil {
		return Reality{Best: -1, Undefined: err.Error()}
	}
	b, err = b.complete(len(rows[0].x))
	if err != nil {
		return Reality{Best: -1, Undefined: err.Error()}
	}
	out := Reality{Strategies: len(rows), Draws: b.Draws, Block: b.Block}
	out.compare(rows, drawMeans(rows, b, r))
	return out
}

// compare sets the p-values from the means that every draw gave. All means are
// in units of the root of the number of bars, in which their errors do not
// depend on it.
func (a *Reality) compare(rows []row, drawn [][]float64) {
	n := rows[0].n
	root, spread := math.Sqrt(n), spreads(rows, drawn)
	plain, student, top := math.Inf(-1), 0.0, math.Inf(-1)
	for k, s := range rows {
		t := root * s.mean / spread[k]
		plain, student = max(plain, root*s.mean), max(student, t)
		if t > top {
			top, a.Best = t, s.row
		}
	}
	// How far below the benchmark a mean may lie and still count as a rival.
	rival := math.Sqrt(2 * num.Log(max(num.Log(n), 1)))
	var white, lower, consistent, upper int
	for _, means := range drawn {
		w, l, c, u := math.Inf(-1), 0.0, 0.0, 0.0
		for k, s := range rows {
			e := root * (means[k] - s.mean)
			w, u = max(w, e), max(u, e/spread[k])
			l = max(l, root*(means[k]-max(s.mean, 0))/spread[k])
			centre := s.mean
			if root*s.mean/spread[k] < -rival {
				centre = 0
			}
			c = max(c, root*(means[k]-centre)/spread[k])
		}
		white += reaches(w, plain)
		lower += reaches(l, student)
		consistent += reaches(c, student)
		upper += reaches(u, student)
	}
	share := func(count int) *float64 { return figure(float64(count+1) / float64(len(drawn)+1)) }
	a.White, a.SPALower, a.SPA, a.SPAUpper = share(white), share(lower), share(consistent), share(upper)
}

// spreads are the deviations of the rows' means, as the draws show them. One
// that no draw moved keeps a trace, so that it can be divided by.
func spreads(rows []row, drawn [][]float64) []float64 {
	spread := make([]float64, len(rows))
	for k, s := range rows {
		sum := 0.0
		for d := range drawn {
			e := drawn[d][k] - s.mean
			sum += float64(e * e)
		}
		spread[k] = max(math.Sqrt(s.n)*math.Sqrt(sum/float64(len(drawn))), noise*s.deviation)
	}
	return spread
}

func reaches(drawn, seen float64) int {
	if drawn >= seen {
		return 1
	}
	return 0
}

// drawMeans resamples all rows together and keeps the mean of each.
func drawMeans(rows []row, b Bootstrap, r *num.Rand) [][]float64 {
	n := len(rows[0].x)
	at, all := make([]int32, 0, n), make([][]float64, b.Draws)
	for d := range all {
		at = at[:0]
		for i := range blocks(n, b.Block, r) {
			at = append(at, int32(i))
		}
		all[d] = make([]float64, len(rows))
		for k := range rows {
			sum, x := 0.0, rows[k].x
			for _, i := range at {
				sum += x[i]
			}
			all[d][k] = sum / float64(n)
		}
	}
	return all
}

// row is a strategy of a matrix that can be measured.
type row struct {
	sample
	row int // where it stands in the matrix
}

// matrix measures every row, leaves out those that do not vary, and fails where
// fewer than least are left or their lengths differ.
func matrix(returns [][]float64, least int) ([]row, error) {
	var rows []row
	for k, x := range returns {
		if len(x) != len(returns[0]) {
			return nil, fmt.Errorf("strategy %d has %d returns and strategy 0 has %d; all must be over the same bars", k, len(x), len(returns[0]))
		}
		if s, err := measure(x); err == nil {
			rows = append(rows, row{s, k})
		}
	}
	if len(rows) < least {
		return nil, fmt.Errorf("%d strategies have returns that vary; there must be %d at least", len(rows), least)
	}
	return rows, nil
}
