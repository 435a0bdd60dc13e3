package examine

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// UnitResult is what one unit of the work came to. It can be stored as JSON without losing a bit.
type UnitResult struct {
	Unit  int            `json:"unit"`
	Parts []GroupReturns `json:"parts,omitempty"`
	// Undefined says why a changed strategy could not be traded; else empty.
	Undefined string `json:"undefined,omitempty"`
}

// GroupReturns is the trading of one group.
type GroupReturns struct {
	Group   int     `json:"group"`
	Change  int     `json:"change,omitempty"` // index in changes; 0: no change
	Returns Returns `json:"returns,omitempty"`
	Trades  int     `json:"trades,omitempty"`
	Seeds   []Sums  `json:"seeds,omitempty"` // of each network alone
}

// Sums are a number of returns, their mean, and the sum of squares of their deviations.
type Sums struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	M2   float64 `json:"m2"`
}

func sumsOf(returns []float64) Sums {
	m := num.Moments{Mean: num.Sum(returns) / float64(max(len(returns), 1))}
	for _, r := range returns {
		m.Add(r)
	}
	return Sums{N: m.N, Mean: m.Mean, M2: m.M2}
}

// add joins the sums of two series.
func (s Sums) add(o Sums) Sums {
	n := s.N + o.N
	if n == 0 {
		return s
	}
	d, all := o.Mean-s.Mean, float64(n)
	return Sums{
		N:    n,
		Mean: s.Mean + float64(d*float64(o.N))/all,
		M2:   s.M2 + o.M2 + float64(float64(d*d)*float64(s.N))*float64(o.N)/all,
	}
}

// sharpe is the Sharpe ratio per year, or per bar where a year is unknown; nil if the returns do not vary.
func (s Sums) sharpe(barsPerYear float64) *float64 {
	if s.N < 3 || !(s.M2 > 0) {
		return nil
	}
	ratio := s.Mean / math.Sqrt(s.M2/float64(s.N-1))
	if barsPerYear > 0 {
		ratio *= math.Sqrt(barsPerYear)
	}
	return num.Finite(ratio)
}

// Returns are written as base64 of their bits.
type Returns []float64

// MarshalText writes the bits, little-endian.
func (r Returns) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 8*len(r))
	for _, x := range r {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText reads what MarshalText wrote.
func (r *Returns) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(b)%8 != 0 {
		return fmt.Errorf("returns: %d bytes are not numbers: %w", len(text), err)
	}
	*r = make(Returns, len(b)/8)
	for i := range *r {
		(*r)[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return nil
}
