package market

import (
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// Prices are the closes of a series in the form in which series are compared.
// They are kept after the bars are deleted, so that a later import of the same
// prices is still recognised. They never change.
//
// In memory they are the bytes of EncodePrices, 2 to 3 for a close, which are
// read from one end to the other as often as they are needed.
type Prices struct {
	Timeframe Timeframe
	digits    uint8 // logarithms are in units of 2^-digits
	n         int
	last      int64   // opening instant of the last close, Unix seconds
	unit      int64   // of distances between closes, seconds
	text      []byte  // what EncodePrices describes
	marks     []place // every markEvery-th close
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

// NewPrices takes the prices of a series. Bars that break a rule of Check may have none.
func NewPrices(b *Bars) *Prices {
	digits := digitsFor(b.usualMove())
	unit := math.Ldexp(1, int(digits))
	p, err := DecodePrices(encodePrices(b, digits, func(i int) int64 { return int64(math.Round(num.Log(b.Close[i]) * unit)) }))
	if err != nil { // the bars break a rule, for which an import refuses them
		none := Bars{Timeframe: b.Timeframe}
		return &Prices{Timeframe: b.Timeframe, digits: digits, text: encodePrices(&none, digits, nil)}
	}
	return p
}

// Len is the number of closes.
func (p *Prices) Len() int { return p.n }

// Size is how many bytes the prices have in memory.
func (p *Prices) Size() int { return len(p.text) + len(p.marks)*markBytes }

// first is the opening instant of the first close.
func (p *Prices) first() int64 { return p.marks[0].time }

// digitsFor is the number of binary digits that gives a usual move 2^10 units.
func digitsFor(move float64) uint8 {
	if move <= 0 {
		return maxDigits / 2 // prices that never move are like no others
	}
	_, exponent := math.Frexp(move)
	return uint8(max(0, min(maxDigits, moveDigits-exponent)))
}

// sampledMoves says how many moves decide what is usual.
const sampledMoves = 5000

// usualMove is the median size of the differences between the logarithms of
// neighbouring closes, among those that are not 0. It looks at no more than
// sampledMoves of them, evenly spread. It is 0 where prices do not move.
func (b *Bars) usualMove() float64 {
	step := max(1, b.Len()/sampledMoves)
	var moves []float64
	for i := range b.Places(step, b.Len(), step) {
		if m := math.Abs(num.Log(b.Close[i]) - num.Log(b.Close[i-1])); m > 0 {
			moves = append(moves, m)
		}
	}
	return middle(moves)
}

// middle is the median of x, the greater of two; 0 if x is empty.
func middle(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[len(x)/2]
}
