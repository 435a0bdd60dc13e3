package evidence

import "math"

// Crosses is the e-value at which a null hypothesis is rejected: under the null an
// e-process ever reaches it with a probability of at most 1/Crosses (Ville 1939).
const Crosses = 20.0

// Bet is one of the bettors of an EProcess. It always bets the same fraction of the
// largest bet that the worst loss allows.
type Bet struct {
	Fraction float64 `json:"fraction"`
	Weight   float64 `json:"weight"` // its share of the money at the beginning
	Wealth   float64 `json:"wealth"` // what one unit has become
}

// EProcess is the wealth of a bettor against a null hypothesis. It begins with 1.
//
//	wealth = Σ weight × ∏ (1 + fraction × payoff)
//
// A payoff is at least -1, and its conditional mean is at most 0 under the null. So
// the wealth is never negative, and does not grow in the mean: by Ville's inequality
// it reaches Crosses with a probability of at most 1/Crosses, however often it is
// looked at. A gain has no bound. A loss below -1 breaks what was assumed: it takes
// all of the money for good.
type EProcess struct {
	Bets    []Bet   `json:"bets"`
	Bars    int     `json:"bars"`               // that had something at stake
	Max     float64 `json:"max"`                // largest value so far
	Crossed int64   `json:"crossed,omitempty"`  // bar at which it first reached Crosses, Unix seconds; 0: never
	BrokeAt int64   `json:"broke_at,omitempty"` // bar whose loss was below -1; 0: none
}

// grid are the fractions that half of the money is spread over. The other half is bet as
// the claim says. The mixture is within a factor of 2 of the one, and of 10 of each other.
var grid = []float64{0.03, 0.1, 0.3, 0.6, most}

// least and most bound a fraction. At 1 one worst loss would end a bettor for good.
const (
	least = 0.03
	most  = 0.95
)

// NewEProcess makes the process before its first bar. informed is the fraction that
// would be best if the claim were true; bounds are applied to it.
func NewEProcess(informed float64) EProcess {
	if math.IsNaN(informed) {
		informed = least
	}
	p := EProcess{Max: 1, Bets: []Bet{{Fraction: min(max(informed, least), most), Weight: 0.5, Wealth: 1}}}
	for _, f := range grid {
		p.Bets = append(p.Bets, Bet{Fraction: f, Weight: 0.5 / float64(len(grid)), Wealth: 1})
	}
	return p
}

// richest keeps a value a finite float64.
const richest = 1e300

// Value is the wealth now: the e-value.
func (p *EProcess) Value() float64 {
	if p.BrokeAt != 0 {
		return 0
	}
	sum := 0.0
	for _, b := range p.Bets {
		sum += float64(b.Weight * b.Wealth)
	}
	return sum
}

// step takes the next bar. payoff is what one unit at stake has come to.
func (p *EProcess) step(at int64, payoff float64) {
	p.Bars++
	if p.BrokeAt != 0 {
		return
	}
	if !(payoff >= -1) {
		p.BrokeAt = at
		return
	}
	for i := range p.Bets {
		b := &p.Bets[i]
		b.Wealth = min(float64(b.Wealth*(1+float64(b.Fraction*payoff))), richest)
	}
	value := p.Value()
	p.Max = max(p.Max, value)
	if p.Crossed == 0 && value >= Crosses {
		p.Crossed = at
	}
}

// kelly is the fraction of the fastest growth for payoffs like these, to second order.
func kelly(payoffs []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range payoffs {
		sum += x
		squares += float64(x * x)
	}
	if squares == 0 {
		return least
	}
	return sum / squares
}
