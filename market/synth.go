package market

import (
	"cmp"
	"math"
	"time"

	"github.com/ktrdr/ktrdr/num"
)

// SynthConfig describes a market that never was.
type SynthConfig struct {
	Symbol    string    // "" means SYNTH
	Timeframe Timeframe // "" means 1h
	Bars      int       // how many
	Seed      uint64    // the same seed gives the same bars
	Edge      float64   // strength of the planted edge; 0 means no edge
	Start     time.Time // the first bar opens there or at the next opening; zero means 5 January 2015
}

// The planted edge. A close is stretched when it lies more than SynthStretch
// standard deviations from the mean of the last SynthWindow closes, itself included.
const (
	SynthWindow  = 48
	SynthStretch = 1.5
)

// Synth makes a market with the habits of a currency: volatility comes in
// clusters and in spells of calm and turmoil, has its hours, and has fat
// tails; the market closes on weekends and opens with a jump; now and then it
// jumps in between, and a few bars are missing. Prices have five decimals.
//
// Without an edge the close is a fair game: what is known at one close says
// nothing about the direction of the next, and any rule loses its costs. With an
// edge, the bar after a stretched close drifts back towards the mean by Edge
// times the volatility of that bar. Who trades just that, from the open after a
// stretched close to the close, therefore earns a Sharpe ratio of Edge per bar
// held, in units of each bar's volatility; over a year, Edge times the square
// root of the bars held in it. No rule can expect more of a bar.
func Synth(cfg SynthConfig) *Bars {
	b, _ := synth(cfg)
	return b
}

// synth also gives the volatility of each bar, as a share of the price.
func synth(cfg SynthConfig) (*Bars, []float64) {
	cfg.Symbol = cmp.Or(cfg.Symbol, "SYNTH")
	cfg.Timeframe = cmp.Or(cfg.Timeframe, H1)
	if cfg.Start.IsZero() {
		cfg.Start = time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC)
	}
	s := synthesis{
		cfg: cfg, rand: num.NewRand(num.Mix(cfg.Seed, 0x73796e7468)), price: 1.1, cluster: 1, spell: 1,
		unit: perBar(cfg.Timeframe),
		bars: &Bars{Symbol: cfg.Symbol, Timeframe: cfg.Timeframe},
	}
	t := cfg.Timeframe.Start(cfg.Start.Unix())
	if t < cfg.Start.Unix() {
		t = cfg.Timeframe.End(t)
	}
	t = s.openFrom(t)
	for range cfg.Bars {
		next := s.openFrom(cfg.Timeframe.End(t))
		s.bar(t)
		t = s.skip(next)
	}
	return s.bars, s.sigma
}

type synthesis struct {
	cfg     SynthConfig
	rand    *num.Rand
	bars    *Bars
	sigma   []float64 // volatility of each bar
	price   float64   // last close
	unit    float64   // long-run volatility of a bar
	cluster float64   // variance relative to the long run, as the recent bars left it
	spell   float64   // volatility relative to the long run, as the present spell has it
}

// perBar is the volatility of a bar where a year's is 8 %.
func perBar(tf Timeframe) float64 {
	const yearly, tradingDays = 0.08, 260
	switch tf {
	case Mo1:
		return yearly / math.Sqrt(12)
	case W1:
		return yearly / math.Sqrt(52)
	}
	return yearly * math.Sqrt(float64(tf.seconds())/(day*tradingDays))
}

// openFrom is the first opening from t on: intraday and daily bars have none on weekends.
func (s *synthesis) openFrom(t int64) int64 {
	if n := s.cfg.Timeframe.seconds(); n == 0 || n > day {
		return t
	}
	if at := mod(t-firstMonday, week); at >= 5*day {
		return t + week - at
	}
	return t
}

// skip leaves a few bars out, once in a while.
func (s *synthesis) skip(t int64) int64 {
	const rare = 1.0 / 2500
	if n := s.cfg.Timeframe.seconds(); n == 0 || n >= day || s.rand.Float64() >= rare {
		return t
	}
	for range 1 + s.rand.Uint64n(3) {
		t = s.openFrom(s.cfg.Timeframe.End(t))
	}
	return t
}

func (s *synthesis) bar(t int64) {
	s.turn()
	sigma := float64(s.unit * s.spell * math.Sqrt(s.cluster) * s.hour(t))
	drift := float64(-s.stretched() * s.cfg.Edge * sigma)
	shock := s.shock()
	open := s.opening(t, sigma)
	move := float64(sigma*shock) + drift
	end := open * (1 + move)

	// The extremes of a random walk that is known to go from 0 to move.
	reach := func() float64 {
		return math.Sqrt(float64(move*move) - float64(2*sigma*sigma*num.Log(1-s.rand.Float64())))
	}
	up, down := float64((move+reach())/2), float64((move-reach())/2)

	b := Bar{Time: t, Open: cents(open), Close: cents(end)}
	b.High = max(b.Open, b.Close, cents(open*(1+up)))
	b.Low = min(b.Open, b.Close, cents(open*(1+down)))
	b.Volume = 1 + math.Floor(2000*(sigma/s.unit)*(0.5+s.rand.Float64())*(1+math.Abs(shock)))
	s.bars.Append(b)
	s.sigma = append(s.sigma, sigma)
	s.price = b.Close

	// What moved much today moves much tomorrow: GARCH(1,1) with a mean of 1.
	const fresh, stay = 0.06, 0.92
	s.cluster = (1 - fresh - stay) + float64(fresh*s.cluster*shock*shock) + float64(stay*s.cluster)
}

// turn ends a spell of calm or turmoil now and then.
func (s *synthesis) turn() {
	const mean = 500 // bars
	if s.rand.Float64() < 1.0/mean {
		s.spell = [...]float64{0.6, 1, 1.7}[s.rand.Uint64n(3)]
	}
}

// hour is the share of volatility that the time of day has: the most at 14:00.
func (s *synthesis) hour(t int64) float64 {
	if n := s.cfg.Timeframe.seconds(); n == 0 || n >= day {
		return 1
	}
	return 1 + float64(0.35*num.Cos(2*math.Pi*float64(mod(t, day)-14*3600)/day))
}

// shock is a random number of mean 0 and variance 1 with fat tails: now and
// then drawn from a distribution three times as wide.
func (s *synthesis) shock() float64 {
	const often, wide = 0.04, 3.0
	z := s.rand.Norm()
	if s.rand.Float64() < often {
		z *= wide
	}
	return max(-8, min(8, z/math.Sqrt(1+often*(wide*wide-1))))
}

// opening is the price at which the bar at t opens: the last close, but for a
// jump over a weekend or out of the blue.
func (s *synthesis) opening(t int64, sigma float64) float64 {
	const blue, width = 1.0 / 1000, 3.0
	n := s.bars.Len()
	weekend := n > 0 && s.cfg.Timeframe.seconds() != 0 && t-s.bars.Time[n-1] > max(day, 2*s.cfg.Timeframe.seconds())
	jump := s.rand.Float64() < blue
	z := s.rand.Norm()
	if !weekend && !jump {
		return s.price
	}
	return s.price * (1 + float64(width*sigma*max(-4, min(4, z))))
}

// stretched is 1 where the last close is stretched upwards, -1 downwards, else 0.
func (s *synthesis) stretched() float64 {
	n := s.bars.Len()
	if n < SynthWindow {
		return 0
	}
	z := stretch(s.bars.Close[n-SynthWindow:])
	switch {
	case z > SynthStretch:
		return 1
	case z < -SynthStretch:
		return -1
	}
	return 0
}

// stretch is how many standard deviations the last of x lies from their mean.
func stretch(x []float64) float64 {
	var sum, squares float64
	first := x[0] // close to all of them, so that the squares keep their digits
	for _, v := range x {
		sum += v - first
		squares += float64((v - first) * (v - first))
	}
	n := float64(len(x))
	mean := sum / n
	variance := squares/n - float64(mean*mean)
	if variance <= 0 {
		return 0
	}
	return (x[len(x)-1] - first - mean) / math.Sqrt(variance)
}

// cents rounds a price to five decimals, and keeps it one.
func cents(p float64) float64 { return max(math.Round(p*1e5), 1) / 1e5 }
