package market

import (
	"math"
	"slices"
	"sort"

	"github.com/ktrdr/ktrdr/num"
)

// Prices are the closes of a series in the form in which series are compared.
// EncodePrices keeps them after the bars are deleted, so that a later import
// of the same prices is still recognised. They never change.
type Prices struct {
	Timeframe Timeframe
	time      []int64 // opening instants, Unix seconds, ascending
	log       []int64 // natural logarithms of the closes, in units of 2^-digits
	digits    uint8
}

// Bounds of Prices. They hold for every series that an import accepts, and
// DecodePrices refuses values beyond them.
const (
	// maxDigits keeps logarithms of prices from 1e-30 to 1e30 below 2^54 units.
	maxDigits = 47
	maxLog    = 1 << 54
	// maxInstant lies beyond the year 280,000.
	maxInstant = 1 << 43
	// moveDigits: a usual move between two closes is about 2^10 units. Rounding
	// then takes less than 0.000001 off a correlation, and a bar takes 2 bytes.
	moveDigits = 10
)

// NewPrices takes the prices of a series.
func NewPrices(b *Bars) *Prices {
	p := &Prices{Timeframe: b.Timeframe, time: slices.Clone(b.Time), log: make([]int64, b.Len())}
	logs := make([]float64, b.Len())
	for i, c := range b.Close {
		logs[i] = num.Log(c)
	}
	p.digits = digitsFor(usualMove(logs))
	unit := math.Ldexp(1, int(p.digits))
	for i, v := range logs {
		p.log[i] = int64(math.Round(v * unit))
	}
	return p
}

// Len is the number of closes.
func (p *Prices) Len() int { return len(p.time) }

func (p *Prices) last() int64 { return p.time[p.Len()-1] }

func (p *Prices) between(from, to int64) *Prices {
	i := sort.Search(p.Len(), func(i int) bool { return p.time[i] >= from })
	j := sort.Search(p.Len(), func(i int) bool { return p.time[i] > to })
	return &Prices{Timeframe: p.Timeframe, time: p.time[i:max(i, j)], log: p.log[i:max(i, j)], digits: p.digits}
}

// thinned keeps the last close of every 15 minutes.
func (p *Prices) thinned() *Prices {
	length := p.Timeframe.seconds()
	if length == 0 || length >= offsetStep {
		return p
	}
	thin := &Prices{Timeframe: p.Timeframe, digits: p.digits}
	for i, t := range p.time {
		if i+1 < p.Len() && floor(t+length-1, offsetStep) == floor(p.time[i+1]+length-1, offsetStep) {
			continue
		}
		thin.time, thin.log = append(thin.time, t), append(thin.log, p.log[i])
	}
	return thin
}

// digitsFor is the number of binary digits that gives a usual move 2^10 units.
func digitsFor(move float64) uint8 {
	if move <= 0 {
		return maxDigits / 2 // prices that never move are like no others
	}
	_, exponent := math.Frexp(move)
	return uint8(max(0, min(maxDigits, moveDigits-exponent)))
}

// usualMove is the median size of the differences between neighbours of x,
// among those that are not 0. It looks at no more than 5,000 of them, evenly
// spread. It is 0 where x does not move.
func usualMove(x []float64) float64 {
	const enough = 5000
	step := max(1, len(x)/enough)
	var moves []float64
	for i := step; i < len(x); i += step {
		if m := math.Abs(x[i] - x[i-1]); m > 0 {
			moves = append(moves, m)
		}
	}
	if len(moves) == 0 {
		return 0
	}
	slices.Sort(moves)
	return moves[len(moves)/2]
}
