package worlds

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// Kind is a kind of edge that is planted into a market.
//
//	closes so far, time of the next bar ──lean──▶ -1, 0 or 1
//	move of the next bar = its volatility × (noise + strength × lean)
//
// The lean is a function of past bars. A rule that computes it knows the
// effect, and no rule can expect more of a bar.
type Kind struct {
	Name      string
	About     string // the effect in one sentence
	Strengths []float64
	Leader    bool // a second symbol goes ahead of the one that is traded
	lean      func(s seen) int
}

// seen is what is known when a bar closes.
type seen struct {
	bars *market.Bars // of the symbol with the edge, or of its leader
	last int          // the index of the bar that has closed
}

// Kinds are the kinds of edges. At the strengths of each, its rule has a net Sharpe
// ratio of about 1.5, 2.5, 3.5, 5 and 8 a year, at costs of 1.5 basis points per side.
var Kinds = []Kind{
	{
		Name: "reversal", About: "a close more than 1.5 deviations from the mean of 48 closes drifts back",
		Strengths: []float64{0.08, 0.13, 0.18, 0.25, 0.36}, lean: reversal,
	},
	{
		Name: "momentum", About: "a move over 12 bars of more than 1 deviation continues",
		Strengths: []float64{0.085, 0.115, 0.14, 0.17, 0.23}, lean: momentum,
	},
	{
		Name: "trend", About: "a close far from the mean of 96 closes drifts away from it",
		Strengths: []float64{0.055, 0.075, 0.09, 0.115, 0.155}, lean: trend,
	},
	{
		Name: "reversal when volatile", About: "like reversal, where the last 24 bars moved more than is usual",
		Strengths: []float64{0.13, 0.19, 0.27, 0.4, 0.7}, lean: volatileReversal,
	},
	{
		Name: "hour of day", About: "prices drift up from 08:00 to 12:00 UTC and down from 14:00 to 18:00",
		Strengths: []float64{0.115, 0.14, 0.165, 0.2, 0.275}, lean: hourOfDay,
	},
	{
		Name: "lead-lag", About: "a move of another symbol over 6 bars of more than 1 deviation is followed",
		Strengths: []float64{0.12, 0.17, 0.2, 0.24, 0.32}, lean: leadLag, Leader: true,
	},
}

// Make makes the bars of the symbol with the edge and, if the kind has one, those of
// its leader behind them. The same arguments give the same bars.
func (k Kind) Make(symbol string, bars int, seed uint64, strength float64) []*market.Bars {
	var all []*market.Bars
	if k.Leader {
		none := func(seen) int { return 0 }
		all = append(all, plant(symbol+leaderSuffix, bars, num.Mix(seed, 0x6c656164), 0, nil, none))
	}
	var leader *market.Bars
	if k.Leader {
		leader = all[0]
	}
	return append([]*market.Bars{plant(symbol, bars, seed, strength, leader, k.lean)}, all...)
}

// leaderSuffix is what the symbol of a leader has behind that of its follower.
const leaderSuffix = "L"

// plant makes the bars of one symbol. Volatility comes in clusters, with fat tails.
func plant(symbol string, bars int, seed uint64, strength float64, leader *market.Bars, lean func(seen) int) *market.Bars {
	r := num.NewRand(num.Mix(seed, 0x706c616e74))
	b := &market.Bars{Symbol: symbol, Timeframe: market.H1}
	look := b
	if leader != nil {
		look = leader
	}
	price, variance, c := 1.0, 1.0, newCalendar()
	for i := range bars {
		way := 0
		if i >= lookBack {
			way = lean(seen{look, i - 1})
		}
		sigma, shock := math.Sqrt(variance), fatTailed(r)
		move := float64(sigma * (shock + float64(strength*float64(way))))
		open := price
		price = open * moved(move)
		reach := float64(volatility * sigma * math.Abs(r.Norm()) / 2)
		b.Append(market.Bar{
			Time: c.at, Open: open, Close: price, High: max(open, price) * (1 + reach), Low: min(open, price) * (1 - reach),
			Volume: 100 + math.Floor(100*sigma*math.Abs(shock)),
		})
		const fresh, stay = 0.08, 0.90
		variance = (1 - fresh - stay) + float64(fresh*variance*shock*shock) + float64(stay*variance)
		c.next()
	}
	return b
}

// fatTailed is a random number of mean 0 and variance 1, of which one in 25 is three times as wide.
func fatTailed(r *num.Rand) float64 {
	const often, wide = 0.04, 3.0
	z := r.Norm()
	if r.Float64() < often {
		z *= wide
	}
	return max(-8, min(8, z/math.Sqrt(1+often*(wide*wide-1))))
}

// lookBack is how many bars must be known before an edge begins.
const lookBack = 481

func reversal(s seen) int { return -beyond(s.stretch(48), 1.5) }

func momentum(s seen) int { return beyond(s.moved(12), 1) }

func trend(s seen) int {
	mean := num.Sum(s.closes(96)) / 96
	return beyond(num.Log(s.bars.Close[s.last]/mean)/float64(s.deviation(96)*math.Sqrt(96)), 0.5)
}

func volatileReversal(s seen) int {
	if s.deviation(24) < float64(1.2*s.deviation(480)) {
		return 0
	}
	return reversal(s)
}

func hourOfDay(s seen) int {
	at, _ := opening(s.bars.Time[s.last])
	switch h := at % day / hour; {
	case h >= 8 && h < 12:
		return 1
	case h >= 14 && h < 18:
		return -1
	}
	return 0
}

func leadLag(s seen) int { return beyond(s.moved(6), 1) }

// beyond is 1 above a limit, -1 below its negative, else 0.
func beyond(x, limit float64) int {
	switch {
	case x > limit:
		return 1
	case x < -limit:
		return -1
	}
	return 0
}

// closes are the last n.
func (s seen) closes(n int) []float64 { return s.bars.Close[s.last+1-n : s.last+1] }

// stretch is how many deviations the last close lies from the mean of the last n.
func (s seen) stretch(n int) float64 {
	mean, deviation := spread(s.closes(n))
	if !(deviation > 0) {
		return 0
	}
	return (s.bars.Close[s.last] - mean) / deviation
}

// moved is the move over the last n bars, in deviations of such moves.
func (s seen) moved(n int) float64 {
	d := float64(s.deviation(96) * math.Sqrt(float64(n)))
	if !(d > 0) {
		return 0
	}
	return num.Log(s.bars.Close[s.last]/s.bars.Close[s.last-n]) / d
}

// deviation is that of the last n moves from close to close.
func (s seen) deviation(n int) float64 {
	squares, c := 0.0, s.closes(n+1)
	for i := 1; i < len(c); i++ {
		x := c[i]/c[i-1] - 1
		squares += float64(x * x)
	}
	return math.Sqrt(squares / float64(n))
}

// spread is the mean and the deviation of some numbers.
func spread(x []float64) (mean, deviation float64) {
	mean = num.Sum(x) / float64(len(x))
	squares := 0.0
	for _, v := range x {
		squares += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(squares / float64(len(x)))
}
