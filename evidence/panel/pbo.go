package panel

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// PBO is the probability of backtest overfitting, by combinatorially symmetric
// cross-validation (Bailey, Borwein, López de Prado and Zhu 2015). The days are cut
// into blocks. Each half of the blocks is once the part on which the best trial is
// chosen by its Sharpe ratio; the other half shows its rank among all trials there.
//
// A Sharpe ratio is per day within this package's computation and per year in these
// fields. That of returns that do not vary is 0.
type PBO struct {
	// PBO is the share of splits in which the chosen trial is not above the median of
	// all trials on the other half.
	PBO    *float64 `json:"pbo"`
	Splits int      `json:"splits"`
	Blocks int      `json:"blocks"`
	Days   int      `json:"days"` // used; the first days that fill no block are left out
	// Logits summarises the logits ln(w/(1-w)) of the relative ranks w. Below 0 the
	// chosen trial is in the lower half.
	Logits *Summary `json:"logits"`
	// Tenths counts the splits by the relative rank of the chosen trial, from the
	// lowest tenth to the highest.
	Tenths [10]int `json:"splits_by_tenth_of_rank"`

	Chosen    *float64 `json:"mean_chosen_sharpe"`  // of the chosen trial on the half that chose it
	Other     *float64 `json:"mean_other_sharpe"`   // of the same trial on the other half
	Slope     *float64 `json:"slope"`               // of the regression of the second on the first
	Intercept *float64 `json:"intercept"`           // per year
	Loss      *float64 `json:"probability_of_loss"` // share of splits in which the chosen trial loses on the other half
	Undefined string   `json:"undefined,omitempty"`
}

// Summary is the distribution of a figure.
type Summary struct {
	Mean   float64 `json:"mean"`
	Low    float64 `json:"p5"`
	Median float64 `json:"p50"`
	High   float64 `json:"p95"`
}

// DefaultBlocks is how many blocks the days are cut into.
const DefaultBlocks = 16

// equal is the difference up to which Sharpe ratios of a day are the same.
const equal = 1e-12

// Overfitting estimates the probability on a panel whose days are cut into an even
// number of blocks, at most 16.
func Overfitting(p *Panel, blocks int) PBO {
	out := PBO{Blocks: blocks}
	size := len(p.Days) / max(blocks, 1)
	switch {
	case blocks < 2 || blocks > 16 || blocks%2 != 0:
		out.Undefined = fmt.Sprintf("%d blocks cannot be halved; an even number from 2 to 16 is needed", blocks)
	case len(p.Returns) < 2:
		out.Undefined = "at least 2 trials with daily returns are needed"
	case size < 2:
		out.Undefined = fmt.Sprintf("the trials share %d days, and at least %d are needed", len(p.Days), 2*blocks)
	}
	if out.Undefined != "" {
		return out
	}
	out.Days = size * blocks
	c := newCSCV(p, blocks, size)
	c.run()
	out.fill(c, p.perYear())
	return out
}

// cscv walks over all splits. The sums of a half of the blocks are those of a
// subset of the first blocks and of a subset of the last, which are all known.
type cscv struct {
	trials, blocks int
	days           float64 // of a half
	low, high      [][]sums
	sharpe         [2][]float64 // of each trial on a half and on the other

	ranks         []float64 // relative
	chosen, other []float64 // Sharpe ratios of the chosen trial, per day
}

type sums struct{ returns, squares float64 }

func newCSCV(p *Panel, blocks, size int) *cscv {
	c := &cscv{trials: len(p.Returns), blocks: blocks, days: float64(size * blocks / 2)}
	of := make([][]sums, blocks)
	first := len(p.Days) - size*blocks
	for b := range of {
		of[b] = make([]sums, c.trials)
		for k, x := range p.Returns {
			for _, v := range x[first+b*size : first+(b+1)*size] {
				of[b][k].returns += v
				of[b][k].squares += float64(v * v)
			}
		}
	}
	c.low, c.high = subsets(of[:blocks/2], c.trials), subsets(of[blocks/2:], c.trials)
	c.sharpe = [2][]float64{make([]float64, c.trials), make([]float64, c.trials)}
	return c
}

// subsets are the sums of every subset of some blocks; bit b of the position says
// that block b is in it.
func subsets(of [][]sums, trials int) [][]sums {
	out := make([][]sums, 1<<len(of))
	out[0] = make([]sums, trials)
	for s := 1; s < len(out); s++ {
		b := bits.Len(uint(s)) - 1
		out[s] = make([]sums, trials)
		for k, rest := range out[s&^(1<<b)] {
			out[s][k] = sums{rest.returns + of[b][k].returns, rest.squares + of[b][k].squares}
		}
	}
	return out
}

func (c *cscv) run() {
	all := 1<<c.blocks - 1
	for half := 0; half <= all; half++ {
		if bits.OnesCount(uint(half)) != c.blocks/2 || half > all&^half {
			continue // the second of two halves was judged with the first
		}
		c.measure(c.sharpe[0], half)
		c.measure(c.sharpe[1], all&^half)
		c.judge(c.sharpe[0], c.sharpe[1])
		c.judge(c.sharpe[1], c.sharpe[0])
	}
}

// measure sets the Sharpe ratio of each trial on a half.
func (c *cscv) measure(out []float64, half int) {
	n, mask := c.days, 1<<(c.blocks/2)-1
	low, high := c.low[half&mask], c.high[half>>(c.blocks/2)]
	for k := range out {
		total := low[k].returns + high[k].returns
		squares := low[k].squares + high[k].squares
		mean := total / n
		spread := squares - float64(total*mean)
		if spread <= equal*squares {
			out[k] = 0
			continue
		}
		out[k] = mean / math.Sqrt(spread/(n-1))
	}
}

// judge chooses the best trial on one half and ranks it on the other. Of equals the
// first is chosen; equals share their ranks.
func (c *cscv) judge(in, out []float64) {
	best := slices.Max(in)
	at := slices.IndexFunc(in, func(s float64) bool { return s >= best-equal })
	mine, below, same := out[at], 0, 0
	for _, s := range out {
		switch {
		case s < mine-equal:
			below++
		case s <= mine+equal:
			same++
		}
	}
	rank := float64(below) + float64(same+1)/2
	c.ranks = append(c.ranks, rank/float64(c.trials+1))
	c.chosen, c.other = append(c.chosen, in[at]), append(c.other, mine)
}

func (p *PBO) fill(c *cscv, perYear float64) {
	p.Splits = len(c.ranks)
	logits := make([]float64, p.Splits)
	overfit, losses := 0, 0
	for i, w := range c.ranks {
		logits[i] = num.Log(w / (1 - w))
		if w <= 0.5 {
			overfit++
		}
		if c.other[i] < 0 {
			losses++
		}
		p.Tenths[max(int(math.Ceil(10*w))-1, 0)]++ // one half belongs to the lower half
	}
	n := float64(p.Splits)
	p.PBO, p.Loss = new(float64(overfit)/n), new(float64(losses)/n)
	slices.Sort(logits)
	p.Logits = &Summary{num.Sum(logits) / n, quantile(logits, 0.05), quantile(logits, 0.5), quantile(logits, 0.95)}
	chosen, other := num.Sum(c.chosen)/n, num.Sum(c.other)/n
	var squares, product float64
	for i := range c.chosen {
		d := c.chosen[i] - chosen
		squares += float64(d * d)
		product += float64(d * (c.other[i] - other))
	}
	year := math.Sqrt(perYear)
	if year > 0 {
		p.Chosen, p.Other = new(chosen*year), new(other*year)
	}
	if squares > 0 {
		slope := product / squares
		p.Slope = &slope
		if year > 0 {
			p.Intercept = new((other - float64(slope*chosen)) * year)
		}
	}
}

// quantile interpolates between the values around a share of a sorted list.
func quantile(sorted []float64, share float64) float64 {
	at := float64(share * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
}
