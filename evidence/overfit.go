package evidence

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// Overfitting is what choosing the best in one half of the time brought in the
// other half, over all ways to halve it.
type Overfitting struct {
	// PBO is the probability of backtest overfitting: how often the best in one
	// half was no better than the middle in the other. Pure luck gives one half.
	PBO         *float64 `json:"pbo"`
	Strategies  int      `json:"strategies"` // that vary; others cannot be chosen
	Blocks      int      `json:"blocks"`
	Splits      int      `json:"splits"`
	MedianLogit *float64 `json:"median_logit"` // of the chosen one's relative rank in the other half; below 0 is worse than the middle
	Loss        *float64 `json:"loss"`         // how often the chosen one lost money in the other half
	Slope       *float64 `json:"slope"`        // of the chosen one's Sharpe ratio there on that here: below 0, better here is worse there
	Undefined   string   `json:"undefined,omitempty"`
}

// Overfit does combinatorially symmetric cross-validation (Bailey, Borwein,
// López de Prado and Zhu 2017) over the returns of many strategies, one row for
// each, all over the same bars. The time is cut into an even number of blocks,
// 2 to 20; the bars that do not fill them are left out at the beginning.
func Overfit(returns [][]float64, blocks int) Overfitting {
	out := Overfitting{Blocks: blocks}
	if blocks < 2 || blocks > 20 || blocks%2 != 0 {
		out.Undefined = fmt.Sprintf("%d blocks; there must be an even number from 2 to 20", blocks)
		return out
	}
	rows, err := matrix(returns, 2)
	if err != nil {
		out.Undefined = err.Error()
		return out
	}
	length := len(rows[0].x) / blocks
	if length < 2 {
		out.Undefined = fmt.Sprintf("%d bars are too few for %d blocks; each must have 2 at least", len(rows[0].x), blocks)
		return out
	}
	cut, whole := cutBlocks(rows, blocks, length)
	here, there := make([]float64, len(rows)), make([]float64, len(rows))
	var logits, chosenHere, chosenThere []float64
	lost, below := 0, 0
	for set := range uint32(1) << blocks {
		if bits.OnesCount32(set) != blocks/2 {
			continue
		}
		for k := range rows {
			half := totals{}
			for b := range blocks {
				if set>>b&1 == 1 {
					half.plus(cut[k][b], 1)
				}
			}
			other := whole[k]
			other.plus(half, -1)
			here[k], there[k] = half.sharpe(), other.sharpe()
		}
		best := slices.Index(here, slices.Max(here))
		logit := rankLogit(there, best)
		logits = append(logits, logit)
		chosenHere, chosenThere = append(chosenHere, here[best]), append(chosenThere, there[best])
		if logit <= 0 {
			below++
		}
		if there[best] < 0 {
			lost++
		}
	}
	out.Strategies, out.Splits = len(rows), len(logits)
	splits := float64(len(logits))
	out.PBO, out.Loss, out.Slope = figure(float64(below)/splits), figure(float64(lost)/splits), slope(chosenHere, chosenThere)
	slices.Sort(logits)
	out.MedianLogit = figure(quantile(logits, 0.5))
	return out
}

func (t *totals) plus(o totals, sign float64) {
	t.n += float64(sign * o.n)
	t.sum += float64(sign * o.sum)
	t.squares += float64(sign * o.squares)
}

// cutBlocks sums every row up, block by block and as a whole: a Sharpe ratio of
// any set of blocks then needs no return again.
func cutBlocks(rows []row, blocks, length int) (cut [][]totals, whole []totals) {
	cut, whole = make([][]totals, len(rows)), make([]totals, len(rows))
	for k := range rows {
		x := rows[k].x[len(rows[k].x)-blocks*length:]
		cut[k] = make([]totals, blocks)
		for b := range blocks {
			for _, v := range x[b*length : (b+1)*length] {
				cut[k][b].add(v)
			}
			whole[k].plus(cut[k][b], 1)
		}
	}
	return cut, whole
}

// rankLogit is the logit of the relative rank of one among all: 0 in the
// middle, above 0 for better. Equals share the mean of their ranks.
func rankLogit(all []float64, one int) float64 {
	rank := 0.5
	for _, v := range all {
		switch {
		case v < all[one]:
			rank++
		case v == all[one]:
			rank += 0.5
		}
	}
	share := rank / float64(len(all)+1)
	return num.Log(share / (1 - share))
}

// slope of y on x by least squares; nil where x does not vary.
func slope(x, y []float64) *float64 {
	s, err := measure(x)
	if err != nil {
		return nil
	}
	cross := 0.0
	for i, v := range x {
		cross += float64((v - s.mean) * y[i])
	}
	return figure(cross / (s.deviation * s.deviation * (s.n - 1)))
}
